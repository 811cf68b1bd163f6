"""Learning curves: of one run, and of several side by side."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from myosotis.plot.theme import COLOURS, Theme
from myosotis.train.history import Epoch

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Contender", "show_compare", "show_run"]


class Contender(NamedTuple):
    """What one mixer did in a comparison.

    Attributes:
        histories: the epochs of each seed.
        test_accuracies: of each seed, 0 to 1.

    Example:
        >>> Contender([[]], [0.5]).test_accuracies
        [0.5]
    """

    histories: Sequence[Sequence[Epoch]]
    test_accuracies: Sequence[float]


def show_run(title: str, history: Sequence[Epoch], *, theme: str = "light") -> "Figure":
    """Draw loss and accuracy of a run against its epochs.

    Args:
        title: of the picture.
        history: at least one epoch.
        theme: `light` or `dark`.

    Raises:
        ConfigError: there is no such theme, or Matplotlib is not installed.

    Example:
        >>> rows = [Epoch(n, n, 1 / n, 1 - 1 / n, 1 / n, 1 - 1 / n, 0, 0, 0) for n in (1, 2)]
        >>> [axes.get_title() for axes in show_run("a run", rows).axes]
        ['loss', 'accuracy']
    """
    look = Theme.named(theme)
    figure = look.figure(title, height=3.4)
    loss_axes, accuracy_axes = figure.subplots(1, 2)
    epochs = [row.epoch for row in history]
    marker = "o" if len(history) == 1 else None  # a line needs two points
    for axes, quantity in ((loss_axes, "loss"), (accuracy_axes, "accuracy")):
        for split, colour in zip(("train", "validation"), COLOURS, strict=False):
            values = [getattr(row, f"{split}_{quantity}") for row in history]
            axes.plot(epochs, values, label=split, color=colour, linewidth=2, marker=marker)
        look.style(axes, quantity, "epoch")
        axes.xaxis.get_major_locator().set_params(integer=True)
    look.legend(accuracy_axes)
    return figure


def show_compare(
    title: str, contenders: Mapping[str, Contender], *, theme: str = "light"
) -> "Figure":
    """Draw validation accuracy against time, and the test accuracies, of several mixers.

    Args:
        title: of the picture.
        contenders: by name, each with at least one run.
        theme: `light` or `dark`.

    Raises:
        ConfigError: there is no such theme, or Matplotlib is not installed.

    Example:
        >>> rows = [Epoch(n, n, 0, 0, 0, 1 - 1 / n, 0, n, 0) for n in (1, 2)]
        >>> figure = show_compare("one", {"myo": Contender([rows], [0.5])})
        >>> figure.axes[1].get_yticklabels()
        [Text(0, 0, 'myo')]
    """
    look = Theme.named(theme)
    figure = look.figure(title, height=3.2 + 0.12 * len(contenders))
    curve_axes, test_axes = figure.subplots(1, 2, width_ratios=(3, 2))
    for place, (name, contender) in enumerate(contenders.items()):
        colour = COLOURS[place % len(COLOURS)]
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
        test_axes.plot([mean], [place], "|", color=colour, markersize=20, markeredgewidth=2)
    look.style(curve_axes, "validation accuracy", "seconds")
    look.style(test_axes, "test accuracy, each seed and the mean")
    test_axes.set_yticks(range(len(contenders)), list(contenders))
    test_axes.margins(x=0.15, y=0.2)
    test_axes.invert_yaxis()
    look.legend(curve_axes)
    return figure
