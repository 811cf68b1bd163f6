"""What the page shows of a drawn digit, as figures."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from myosotis.demo.sweeps import Sweeps, as_image
from myosotis.errors import ConfigError
from myosotis.plot.theme import COLOURS, SMALL, THEMES
from myosotis.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

__all__ = ["describe_step", "num_steps", "show_decision", "show_levels"]

_LOOK = THEMES["light"]


def show_decision(
    image: NDArray[np.uint8],
    contributions: NDArray[np.float64],
    weights: NDArray[np.float64],
    digit: int,
) -> "Figure":
    """Draw what the model sees, what spoke for and against its answer, and how it listens.

    Args:
        image: uint8 (28, 28).
        contributions: (28, 28), what each pixel adds to the score of the answer.
        weights: (28, 28), from 0 on, the influence of each pixel on the root.
        digit: the answer.

    Raises:
        ConfigError: Matplotlib is not installed.

    Example:
        >>> image = np.zeros((28, 28), dtype=np.uint8)
        >>> figure = show_decision(image, np.zeros((28, 28)), np.ones((28, 28)), digit=3)
        >>> figure.axes[1].get_title()
        'ink for and against a 3'
    """
    figure = _LOOK.figure("", height=3.5)
    from matplotlib.ticker import MaxNLocator  # after the figure: without Matplotlib it says so

    seen, reasons, reach = figure.subplots(1, 3)
    ink = seen.imshow(image / 255, cmap="gray_r", vmin=0, vmax=1)
    signed = _draw_signed(reasons, contributions)
    heard = reach.imshow(weights / weights.max(), cmap=_LOOK.colour_map())
    for axes, drawn, caption, label in (
        (seen, ink, "as the model sees it", "ink"),
        (reasons, signed, f"ink for and against a {digit}", "added to the score"),
        (reach, heard, "weight of each pixel at the root", "share of the largest"),
    ):
        _LOOK.frame(axes)
        _LOOK.caption(axes, caption)
        bar = figure.colorbar(drawn, ax=axes, location="bottom", aspect=30, fraction=0.05)
        _LOOK.style_bar(bar, label)
        bar.locator = MaxNLocator(3)
    return figure


def _draw_signed(axes: "Axes", values: NDArray[np.float64]) -> "AxesImage":
    """Blue for what is above zero, orange for what is below."""
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list(
        "for and against", [COLOURS[1], _LOOK.background, COLOURS[0]]
    )
    largest = max(float(np.abs(values).max()), np.finfo(np.float64).tiny)
    return axes.imshow(values, cmap=colours, vmin=-largest, vmax=largest)


def num_steps(tree: Tree) -> int:
    """How many steps the two sweeps take: one per level and direction.

    Example:
        >>> num_steps(Tree.quadtree(4))
        6
    """
    return 2 * tree.num_levels


def describe_step(sweeps: Sweeps, step: int) -> str:
    """Say what happens in a step, counted from 1.

    Raises:
        ConfigError: there is no such step.

    Example:
        >>> describe_step(Sweeps(Tree.quadtree(2), np.ones(5), np.ones(5)), 2)
        'Step 2 of 4: messages go up and have reached level 2, 1×1 nodes.'
    """
    steps = num_steps(sweeps.tree)
    if not 1 <= step <= steps:
        raise ConfigError(f"there is no step {step}: choose one from 1 to {steps}")
    levels = sweeps.tree.num_levels
    goes_up = step <= levels
    level = step if goes_up else steps + 1 - step
    what = "messages go up" if goes_up else "solutions come down"
    side = _side(sweeps.tree.level_sizes[level - 1])
    return f"Step {step} of {steps}: {what} and have reached level {level}, {side}×{side} nodes."


def show_levels(sweeps: Sweeps, step: int) -> "Figure":
    """Draw the levels of a quad-tree as far as the sweeps have come.

    The upper row has the moduli of the messages y, from the leaves on the left to the root; the
    lower row those of the solutions x, from the root on the right to the leaves.

    Args:
        sweeps: on a quad-tree over a square.
        step: counted from 1: first up, level by level, then down.

    Raises:
        ConfigError: there is no such step, or Matplotlib is not installed.

    Example:
        >>> figure = show_levels(Sweeps(Tree.quadtree(4), np.ones(21), np.ones(21)), step=4)
        >>> [len(axes.images) for axes in figure.axes]
        [1, 1, 1, 0, 0, 1]
    """
    figure = _LOOK.figure(describe_step(sweeps, step), height=3.6)
    levels = sweeps.tree.num_levels
    rows = figure.subplots(2, levels)
    for row, which, reached_at in (
        (rows[0], "messages", range(1, levels + 1)),
        (rows[1], "solutions", range(2 * levels, levels, -1)),
    ):
        for axes, values, reached in zip(row, sweeps.levels(which), reached_at, strict=True):
            _draw_level(axes, values, is_reached=reached <= step, is_newest=reached == step)
    for axes, size in zip(rows[0], sweeps.tree.level_sizes, strict=True):
        _LOOK.caption(axes, f"{_side(size)}×{_side(size)}")
    for row, label in ((rows[0], "up: |y|  →"), (rows[1], "down: |x|  ←")):
        row[0].set_ylabel(label, fontsize=SMALL, color=_LOOK.ink)
    return figure


def _draw_level(
    axes: "Axes", values: NDArray[np.float64], *, is_reached: bool, is_newest: bool
) -> None:
    """The nodes of a level, from white for zero to dark for the largest of them."""
    _LOOK.frame(axes)
    axes.set_box_aspect(1)
    axes.set_xlabel(" ", fontsize=SMALL)  # so that axes stay in place when they are reached
    if not is_reached:
        axes.set_facecolor(_LOOK.grid)
        return
    largest = max(float(values.max()), np.finfo(np.float64).tiny)
    axes.imshow(as_image(values), cmap=_LOOK.colour_map(), vmin=0, vmax=largest)
    axes.set_xlabel(f"up to {largest:.2g}", fontsize=SMALL, color=_LOOK.muted)
    if is_newest:
        axes.spines[:].set(color=COLOURS[1], linewidth=3)


def _side(num_nodes: int) -> int:
    return int(np.sqrt(num_nodes))
