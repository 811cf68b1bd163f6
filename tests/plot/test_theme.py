"""What every picture promises: its width, letters that can be read, colours that can be told."""

import itertools

import numpy as np
import pytest

from myosotis.errors import ConfigError
from myosotis.plot import show_tree, theme
from myosotis.plot.groups import text_colour
from myosotis.plot.theme import COLOURS, THEMES, WIDTH
from myosotis.tree import Tree
from tests.plot.pictures import PICTURES

pytest.importorskip("matplotlib")
from matplotlib.colors import to_rgb
from matplotlib.text import Text

# Cones from linear RGB, and what is left without one kind of them: Viénot, Brettel, Mollon 1999.
LMS = np.array(
    [[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]]
)
WITHOUT_L = np.array([[0, 2.02344, -2.52581], [0, 1, 0], [0, 0, 1]])
WITHOUT_M = np.array([[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]])


def linear(colour):
    rgb = np.array(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def luminance(colour):
    return float(linear(colour) @ [0.2126, 0.7152, 0.0722])


def contrast(one, other):
    """As the Web Content Accessibility Guidelines define it: 1 to 21."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def seen(colour, missing):
    """Coordinates L*a*b* of what is seen by somebody without one kind of cone."""
    rgb = (np.linalg.inv(LMS) @ missing @ LMS @ linear(colour)).clip(0, 1)
    xyz = (
        np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
        @ rgb
        / [0.9505, 1, 1.089]
    )
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("name", THEMES)
def test_colours_stand_out_from_the_background(name):
    look = THEMES[name]
    assert contrast(look.ink, look.background) > 12
    assert contrast(look.muted, look.background) > 4.5
    assert all(contrast(colour, look.background) > 2.1 for colour in COLOURS)
    steps = [contrast(shade, look.background) for shade in look.shades]
    assert steps == sorted(steps)
    assert steps[0] > 1.2
    assert steps[-1] > 10


@pytest.mark.parametrize("missing", [np.eye(3), WITHOUT_L, WITHOUT_M], ids=["none", "L", "M"])
def test_colours_are_told_apart_without_a_kind_of_cone(missing):
    assert np.allclose(seen("white", missing), [100, 0, 0], atol=0.5)
    for one, other in itertools.combinations(COLOURS, 2):
        assert np.linalg.norm(seen(one, missing) - seen(other, missing)) > 16, (one, other)


@pytest.mark.parametrize("colour", [*COLOURS, *THEMES["light"].shades, *THEMES["dark"].shades])
def test_text_is_read_on_any_colour(colour):
    assert contrast(text_colour(to_rgb(colour)), colour) > 4.5


@pytest.fixture
def drawn_texts(monkeypatch):
    """Draws a figure and returns the texts in it; ticks beyond an axis, say, are none."""

    def draw(figure):
        found = []
        original = Text.draw

        def record(text, renderer, *arguments, **options):
            if text.get_visible() and text.get_text().strip():
                found.append(text)
            original(text, renderer, *arguments, **options)

        with monkeypatch.context() as patch:
            patch.setattr(Text, "draw", record)
            figure.canvas.draw()
        return found

    return draw


@pytest.mark.parametrize("picture", PICTURES)
def test_all_text_can_be_read(picture, drawn_texts):
    """In the dark, where whatever is left as Matplotlib has it would be black on black."""
    figure, look = PICTURES[picture]("dark"), THEMES["dark"]
    assert figure.get_figwidth() == WIDTH
    assert figure.get_facecolor()[:3] == to_rgb(look.background)
    right, top = figure.bbox.max
    texts = drawn_texts(figure)
    assert texts
    for text in texts:
        assert text.get_fontsize() >= 8, text
        box = text.get_window_extent()
        assert min(box.x0, box.y0) >= -1, text
        assert box.x1 <= right + 1, text
        assert box.y1 <= top + 1, text
        on_colours = text.axes is not None and text in text.axes.texts
        if not on_colours:
            assert contrast(text.get_color(), look.background) > 4.5, text


def test_mistakes_are_named(monkeypatch):
    with pytest.raises(ConfigError, match="light, dark"):
        show_tree(Tree.star(2), theme="dim")
    monkeypatch.setattr(theme, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="myosotis\\[plot\\]"):
        show_tree(Tree.star(2))
