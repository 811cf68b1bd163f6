from pathlib import Path

import pytest

from myosotis import Tree
from myosotis.errors import ConfigError
from myosotis.plot import save_figure, show_tree
from myosotis.plot.save import check_picture

image_of = pytest.importorskip("matplotlib.image")


def test_png_has_twice_the_pixels_that_are_shown(tmp_path):
    save_figure(show_tree(Tree.star(3)), tmp_path / "star.png")
    assert image_of.imread(tmp_path / "star.png").shape[1] == 1600


@pytest.mark.parametrize("name", ["star.svg", "star.png", "STAR.SVG"])
def test_the_same_figure_gives_the_same_bytes(tmp_path, name):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        save_figure(show_tree(Tree.star(3)), tmp_path / folder / name)
    one, two = ((tmp_path / folder / name).read_bytes() for folder in ("one", "two"))
    assert one == two
    assert [file.name for file in (tmp_path / "one").iterdir()] == [name]


@pytest.mark.parametrize(
    ("name", "message"),
    [("star.pdf", "ends in .png or .svg"), ("star", ".png or .svg"), ("no/star.png", "no folder")],
)
def test_what_cannot_be_written_is_named_and_not_written(tmp_path, name, message):
    with pytest.raises(ConfigError, match=message):
        check_picture(tmp_path / name)
    with pytest.raises(ConfigError, match=message):
        save_figure(show_tree(Tree.star(3)), tmp_path / name)
    assert not list(Path(tmp_path).iterdir())
