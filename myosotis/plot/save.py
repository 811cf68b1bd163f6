"""From figures to files."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

from myosotis.errors import ConfigError
from myosotis.plot.theme import require_matplotlib
from myosotis.train.files import write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["check_picture", "save_figure"]

SUFFIXES = (".png", ".svg")
_DOTS_PER_INCH = 200  # twice what is shown, for fine screens


def check_picture(path: Path) -> None:
    """Find what would keep a picture from being written, before time is spent on it.

    Raises:
        ConfigError: the suffix is neither .png nor .svg, there is no such folder, or Matplotlib is
            not installed.

    Example:
        >>> check_picture(Path("tree.gif"))
        Traceback (most recent call last):
        myosotis.errors.ConfigError: cannot write tree.gif: a picture's name ends in .png or .svg
    """
    require_matplotlib()
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"cannot write {path}: a picture's name ends in {' or '.join(SUFFIXES)}")
    if not path.resolve().parent.is_dir():
        raise ConfigError(f"cannot write {path}: there is no folder {path.parent}")


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a figure as PNG or SVG, as its name says; the same figure gives the same bytes.

    Args:
        figure: made by a function of `myosotis.plot`.
        path: the file.

    Raises:
        ConfigError: as for `check_picture`, or the file cannot be written.

    Example:
        >>> import tempfile
        >>> from myosotis import Tree
        >>> from myosotis.plot import show_tree
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_figure(show_tree(Tree.star(3)), Path(folder, "star.svg"))
        ...     Path(folder, "star.svg").read_text()[:5]
        '<?xml'
    """
    check_picture(path)
    from matplotlib import rc_context

    buffer = io.BytesIO()
    kind = path.suffix.lower()[1:]
    with rc_context({"svg.hashsalt": "myosotis"}):  # or names in the file are drawn at random
        figure.savefig(
            buffer,
            format=kind,
            dpi=_DOTS_PER_INCH,
            metadata={"Date": None} if kind == "svg" else None,
        )
    write_file(path, buffer.getvalue())
