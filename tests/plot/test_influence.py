import itertools

import numpy as np
import pytest

from myosotis.errors import ShapeError
from myosotis.plot import influence_text, show_influence_image, show_influence_text

pytest.importorskip("matplotlib")
from matplotlib.colors import LogNorm

IMAGE = np.arange(12, dtype=np.uint8).reshape(3, 4, 1)


def test_maps_are_shares_of_their_largest_value_beside_the_image():
    one, two = np.linspace(1, 2, 12).reshape(3, 4), np.linspace(8, 4, 12).reshape(3, 4)
    figure = show_influence_image(IMAGE, {"one": one, "two": two}, pixel=(2, 1))
    picture, first, second = (axes.images[0] for axes in figure.axes[:3])
    assert np.array_equal(picture.get_array(), IMAGE[..., 0])
    assert np.allclose(first.get_array(), one / 2)
    assert np.allclose(second.get_array(), two / 8)
    assert first.get_clim() == second.get_clim() == (0.5, 1)
    for axes in figure.axes[:3]:
        (mark,) = axes.lines
        assert (*mark.get_xdata(), *mark.get_ydata()) == (1, 2)


@pytest.mark.parametrize("smallest", [0.0, 1e-6, 0.01, 0.5])
def test_the_scale_is_logarithmic_where_values_differ_much(smallest):
    values = np.full((3, 4), smallest)
    values[1, 1] = 1
    image = show_influence_image(IMAGE, {"map": values}).axes[1].images[0]
    assert isinstance(image.norm, LogNorm) == (smallest < 0.1)
    assert image.norm.vmin == max(smallest, 1e-3)


def test_a_map_of_another_size_is_named():
    with pytest.raises(ShapeError, match=r"shape \(4, 3\) does not fit"):
        show_influence_image(IMAGE, {"map": np.ones((4, 3))})


def test_no_map_at_all_is_named():
    with pytest.raises(ShapeError, match="at least one"):
        show_influence_image(IMAGE, {})


def boxes(figure):
    return [patch.get_bbox() for patch in figure.axes[0].patches]


def test_tokens_stand_in_lines_without_overlap_and_inside_their_boxes():
    words = ("some words of different lengths and $signs$ and " * 4).split()
    figure = show_influence_text(words, np.linspace(0, 1, len(words)), token=2)
    figure.canvas.draw()
    texts = figure.axes[0].texts
    assert [text.get_text() for text in texts] == words
    places = [(box.y0, box.x0) for box in boxes(figure)]
    assert places == sorted(places)
    assert len({top for top, _ in places}) > 1
    for one, other in itertools.combinations(boxes(figure), 2):
        overlap = min(one.x1, other.x1) - max(one.x0, other.x0)
        assert one.y0 != other.y0 or overlap < 0
    for text, patch in zip(texts, figure.axes[0].patches, strict=True):
        inner, outer = text.get_window_extent(), patch.get_window_extent()
        assert outer.x0 - 1 <= inner.x0
        assert inner.x1 <= outer.x1 + 1
    framed = [patch.get_linewidth() > 0 for patch in figure.axes[0].patches]
    assert framed.index(True) == 2
    assert sum(framed) == 1


def test_a_heavier_token_stands_out_more_from_the_background():
    figure = show_influence_text(["a", "b", "c"], [1.0, 3.0, 2.0], theme="dark")
    brightness = [sum(patch.get_facecolor()[:3]) for patch in figure.axes[0].patches]
    assert np.argsort(brightness).tolist() == [0, 2, 1]


def test_letters_stand_side_by_side_and_what_cannot_be_drawn_is_replaced():
    figure = show_influence_text(list("a\n\ufffd字"), np.ones(4))
    figure.canvas.draw()  # a letter that the font lacks would be a warning
    assert [text.get_text() for text in figure.axes[0].texts] == ["a", "□", "\ufffd", "□"]
    gaps = [b.x0 - a.x1 for a, b in itertools.pairwise(boxes(figure))]
    assert np.allclose(gaps, 0)


def test_long_texts_are_cut_and_say_so(monkeypatch):
    monkeypatch.setattr(influence_text, "_MOST_TOKENS", 20)
    figure = show_influence_text(["w" * 500] + ["x"] * 2500, np.ones(2501))
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert len(texts) == 20
    assert texts[-1] == "… 2,482 more"
    assert texts[0].endswith("w…")
    assert boxes(figure)[0].x1 <= figure.axes[0].get_xlim()[1]


@pytest.mark.parametrize(("words", "weights"), [([], []), (["a"], [1.0, 2.0])])
def test_weights_that_do_not_fit_are_named(words, weights):
    with pytest.raises(ShapeError, match="do not fit"):
        show_influence_text(words, weights)
