"""How much each token of a text weighs in one node."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from myosotis.errors import ShapeError
from myosotis.plot.groups import text_colour
from myosotis.plot.theme import COLOURS, NORMAL, WIDTH, Theme, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["show_influence_text"]

_MOST_TOKENS = 2000
_FONT = "DejaVu Sans Mono"  # comes with Matplotlib; all of its letters are equally wide

# In inches.
_LETTER, _LINE = 0.602 * NORMAL / 72, 0.25
_MARGIN, _TITLE, _SCALE = 0.2, 0.5, 0.6
_TEXT_WIDTH = WIDTH - 2 * _MARGIN


def show_influence_text(
    tokens: Sequence[str],
    weights: ArrayLike,
    *,
    token: int | None = None,
    title: str = "",
    theme: str = "light",
) -> "Figure":
    """Write tokens on coloured boxes: the more a box stands out, the more its token weighs.

    Args:
        tokens: in reading order. Those after the first 2,000 are left out.
        weights: float[number of tokens], from 0 on.
        token: place of the token that listens, to be framed; None for another node.
        title: of the picture.
        theme: `light` or `dark`.

    Raises:
        ShapeError: there are no tokens, or there is not one weight for each.
        ConfigError: there is no such theme, or Matplotlib is not installed.

    Example:
        >>> figure = show_influence_text(["not", "bad"], [0.9, 0.6], token=1)
        >>> [text.get_text() for text in figure.axes[0].texts]
        ['not', 'bad']
    """
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (len(tokens),) or not len(tokens):
        raise ShapeError(f"weights of shape {values.shape} do not fit {len(tokens)} tokens")
    look = Theme.named(theme)
    require_matplotlib()
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    shown = _printable(tokens[:_MOST_TOKENS])
    if len(shown) < len(tokens):
        shown[-1] = f"… {len(tokens) - len(shown) + 1:,} more"
    boxes = _boxes(shown)
    text_height = boxes[-1].line * _LINE + _LINE
    height = _TITLE + text_height + _SCALE
    figure = look.figure(title, height)
    figure.set_layout_engine("none")  # boxes are as wide as words, so nothing may be stretched
    axes = figure.add_axes(
        (_MARGIN / WIDTH, _SCALE / height, _TEXT_WIDTH / WIDTH, text_height / height)
    )
    axes.set(xlim=(0, _TEXT_WIDTH), ylim=(text_height, 0))
    axes.set_axis_off()
    shares = values / max(values.max(), np.finfo(np.float64).tiny)
    shades = ScalarMappable(Normalize(0, 1), look.colour_map())
    _draw(axes, shown, boxes, shades.to_rgba(shares[: len(shown)]), token)
    scale_axes = figure.add_axes((0.3, 0.4 / height, 0.4, 0.1 / height))
    look.style_bar(
        figure.colorbar(shades, cax=scale_axes, orientation="horizontal"), "share of the largest"
    )
    return figure


class _Box(NamedTuple):
    """Where a token stands: its line, and its left end and width in inches."""

    line: int
    left: float
    width: float


def _boxes(words: Sequence[str]) -> list[_Box]:
    """Set words in lines, each in a box of its own; single letters stand side by side."""
    letters = all(len(word) == 1 for word in words)
    gap, padding = (0.0, 0.0) if letters else (0.5 * _LETTER, 0.6 * _LETTER)
    boxes: list[_Box] = []
    line, left = 0, 0.0
    for word in words:
        width = len(word) * _LETTER + padding
        if left > 0 and left + width > _TEXT_WIDTH:
            line, left = line + 1, 0.0
        boxes.append(_Box(line, left, width))
        left += width + gap
    return boxes


def _printable(words: Sequence[str]) -> list[str]:
    """Replace letters that cannot be drawn, and cut words that are longer than a line."""
    from matplotlib.font_manager import findfont, get_font

    font = get_font(findfont(_FONT))
    longest = int(_TEXT_WIDTH / _LETTER) - 2
    drawn = {
        letter: letter if letter.isprintable() and font.get_char_index(ord(letter)) else "□"
        for letter in set().union(*words)
    }
    whole = ("".join(drawn[letter] for letter in word) or "□" for word in words)
    return [word if len(word) <= longest else word[: longest - 1] + "…" for word in whole]


def _draw(
    axes: "Axes",
    words: Sequence[str],
    boxes: Sequence[_Box],
    colours: NDArray[np.float64],
    framed: int | None,
) -> None:
    from matplotlib.patches import Rectangle

    for number, (word, box, colour) in enumerate(zip(words, boxes, colours, strict=True)):
        top = box.line * _LINE
        edge, width = (COLOURS[3], 2.5) if number == framed else ("none", 0)
        size = (box.width, 0.84 * _LINE)
        axes.add_patch(
            Rectangle((box.left, top), *size, facecolor=colour, edgecolor=edge, linewidth=width)
        )
        axes.text(
            box.left + box.width / 2,
            top + 0.42 * _LINE,
            word,
            color=text_colour(colour),
            fontsize=NORMAL,
            fontfamily=_FONT,
            ha="center",
            va="center_baseline",
            parse_math=False,
        )
