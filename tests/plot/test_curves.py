import pytest

from myosotis.plot import Contender, Point, show_compare, show_run, show_scaling
from myosotis.train.history import Epoch

pytest.importorskip("matplotlib")


def row(epoch, accuracy):
    return Epoch(epoch, epoch, 1.0 / epoch, 0.5, 2.0 / epoch, accuracy, 1e-3, 3.0 * epoch, 100.0)


@pytest.mark.parametrize("epochs", [1, 5])
def test_a_run_has_a_line_for_each_split(epochs):
    loss, accuracy = show_run("a run", [row(n, n / 10) for n in range(1, epochs + 1)]).axes
    for axes in (loss, accuracy):
        train, validation = axes.lines
        assert [line.get_label() for line in axes.lines] == ["train", "validation"]
        assert list(train.get_xdata()) == list(range(1, epochs + 1))
        assert train.get_color() != validation.get_color()
        assert (train.get_marker() == "o") == (epochs == 1)  # one point makes no line
    assert list(loss.lines[1].get_ydata()) == [2 / n for n in range(1, epochs + 1)]
    assert list(accuracy.lines[1].get_ydata()) == [n / 10 for n in range(1, epochs + 1)]


def test_a_comparison_has_a_colour_for_each_mixer_and_a_line_for_each_seed():
    contenders = {
        "myo": Contender([[row(1, 0.5), row(2, 0.6)]], [0.6]),
        "s5": Contender([[row(1, 0.4)], [row(1, 0.3), row(2, 0.4)]], [0.4, 0.5]),
    }
    curves, tests = show_compare("two", contenders).axes
    myo, *s5 = curves.lines
    assert list(myo.get_xdata()) == [3, 6]
    assert list(myo.get_ydata()) == [0.5, 0.6]
    assert len({line.get_color() for line in s5}) == 1
    assert s5[0].get_color() != myo.get_color()
    assert [text.get_text() for text in curves.get_legend().get_texts()] == ["myo", "s5"]
    means = [line.get_xdata()[0] for line in tests.lines if line.get_marker() == "|"]
    assert means == [0.6, 0.45]


@pytest.mark.parametrize(("peak_bytes", "shown"), [(2**10, 0), (2**24, 2)])
def test_costs_are_drawn_and_those_who_are_absent_named(peak_bytes, shown):
    curves = {
        name: [Point(2**k, slope * 2**k, peak_bytes) for k in range(8, 12)]
        for name, slope in (("ours", 1e-9), ("peer", 1e-3))
    }
    figure = show_scaling("A title", curves, ["other: not installed"])
    time, memory = figure.axes
    figure.canvas.draw()
    assert list(time.lines[1].get_ydata()) == [1e-3 * 2**k for k in range(8, 12)]
    assert len(memory.lines) == shown
    assert [text.get_text() for text in memory.texts] == ["too small to be seen"] * (shown == 0)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["ours", "peer"]
    assert legend.get_title().get_text() == "Not shown: other: not installed"
    assert "10 ms" not in [label.get_text() for label in memory.get_yticklabels()]
    assert "100 ms" in [label.get_text() for label in time.get_yticklabels()]
