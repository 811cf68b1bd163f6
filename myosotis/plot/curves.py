"""Learning curves: of one run, and of several side by side."""

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from myosotis.plot.scaling import require_matplotlib
from myosotis.train.history import Epoch

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Contender", "draw_comparison", "draw_training"]

_COLOURS = ("#2c6fbb", "#c8553d", "#d9a441", "#4f8a5b", "#8a5a9e", "#8c9bb0", "#5b5b5b")


class Contender(NamedTuple):
    """What one mixer did in a comparison: the history and the test accuracy of each seed."""

    histories: Sequence[Sequence[Epoch]]
    test_accuracies: Sequence[float]


def draw_training(title: str, history: Sequence[Epoch]) -> bytes:
    """Draw loss and accuracy of a run against its epochs.

    Args:
        title: of the picture.
        history: at least one epoch.

    Returns:
        A PNG.

    Raises:
        ConfigError: if Matplotlib is not installed.

    Example:
        >>> rows = [Epoch(n, n, 1 / n, 1 - 1 / n, 1 / n, 1 - 1 / n, 0, 0, 0) for n in (1, 2)]
        >>> draw_training("a run", rows)[1:4]
        b'PNG'
    """
    figure = _figure(title)
    loss_axes, accuracy_axes = figure.subplots(1, 2)
    epochs = [row.epoch for row in history]
    marker = "o" if len(history) == 1 else None  # a line needs two points
    for axes, quantity in ((loss_axes, "loss"), (accuracy_axes, "accuracy")):
        for split, colour in zip(("train", "validation"), _COLOURS, strict=False):
            values = [getattr(row, f"{split}_{quantity}") for row in history]
            axes.plot(epochs, values, label=split, color=colour, linewidth=2, marker=marker)
        _finish(axes, quantity, "epoch")
        axes.xaxis.get_major_locator().set_params(integer=True)
    accuracy_axes.legend(frameon=False)
    return _png(figure)


def draw_comparison(title: str, contenders: Mapping[str, Contender]) -> bytes:
    """Draw validation accuracy against time, and the test accuracies, of several mixers.

    Args:
        title: of the picture.
        contenders: by name, each with at least one run.

    Returns:
        A PNG.

    Raises:
        ConfigError: if Matplotlib is not installed.

    Example:
        >>> rows = [Epoch(n, n, 0, 0, 0, 1 - 1 / n, 0, n, 0) for n in (1, 2)]
        >>> draw_comparison("two", {"myo": Contender([rows], [0.5])})[1:4]
        b'PNG'
    """
    figure = _figure(title)
    curve_axes, test_axes = figure.subplots(1, 2, width_ratios=(3, 2))
    names = list(contenders)
    for place, (name, contender) in enumerate(contenders.items()):
        colour = _COLOURS[place % len(_COLOURS)]
        for number, history in enumerate(contender.histories):
            curve_axes.plot(
                [row.seconds for row in history],
                [row.validation_accuracy for row in history],
                color=colour,
                label=None if number else name,
                marker="o" if len(history) == 1 else None,
            )
        accuracies = contender.test_accuracies
        test_axes.plot(accuracies, [place] * len(accuracies), "o", color=colour, alpha=0.6)
        mean = sum(accuracies) / len(accuracies)
        test_axes.plot([mean], [place], "|", color=colour, markersize=24, markeredgewidth=2)
    _finish(curve_axes, "validation accuracy", "seconds")
    _finish(test_axes, "test accuracy, each seed and the mean", "")
    test_axes.set_yticks(range(len(names)), names)
    test_axes.margins(y=0.2)
    test_axes.invert_yaxis()
    curve_axes.legend(frameon=False)
    return _png(figure)


def _figure(title: str) -> "Figure":
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=13)
    return figure


def _finish(axes: "Axes", title: str, horizontal: str) -> None:
    axes.set_title(title, fontsize=11)
    axes.set_xlabel(horizontal)
    axes.grid(color="#e4e4e4", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _png(figure: "Figure") -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    return buffer.getvalue()
