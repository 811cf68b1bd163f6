"""Who attends to whom: four sparsity patterns, as masks and as graphs."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from myosotis.nn.mixers import (
    DilatedAttention,
    TreeAttention,
    WindowAttention,
    WindowGlobalAttention,
)
from myosotis.plot.theme import COLOURS, SMALL, Theme
from myosotis.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Pattern", "patterns", "show_patterns"]

_TOKENS = 7
_CLEARANCE = 0.25  # between a line and a node, where tokens stand on a circle of radius one


class Pattern(NamedTuple):
    """A sparsity pattern and where to draw its nodes.

    Attributes:
        name: of the pattern.
        mask: bool (n, n), which token (row) sees which (column).
        places: float64 (n, 2), of the nodes of the graph.

    Example:
        >>> patterns()[0].mask.sum(axis=1)
        array([3, 4, 5, 5, 5, 4, 3])
    """

    name: str
    mask: NDArray[np.bool_]
    places: NDArray[np.float64]


def patterns() -> list[Pattern]:
    """Return the patterns of our sparse mixers on seven tokens, or on a tree of seven nodes.

    The nodes of the tree stand in depth-first post-order.

    Example:
        >>> [pattern.name for pattern in patterns()]
        ['window', 'window and global', 'dilated', 'binary tree']
    """
    tree = Tree.perfect(2, 2)
    nodes = np.argsort(tree.post_order)
    arc, centred = _arc(_TOKENS), np.concatenate([[[0.0, 0.0]], _arc(_TOKENS - 1)])
    across = (tree.leaf_spans.sum(axis=1) - 1) / 2
    hanging = np.stack([across * 2 / 3 - 1, 1 - tree.depth * 0.5], axis=1)
    tree_mask = TreeAttention(4, tree).pattern().numpy()
    return [
        Pattern("window", WindowAttention(4, radius=2).pattern(_TOKENS).numpy(), arc),
        Pattern(
            "window and global",
            WindowGlobalAttention(4, radius=2).pattern(_TOKENS).numpy(),
            centred,
        ),
        Pattern("dilated", DilatedAttention(4, stride=3, width=1).pattern(_TOKENS).numpy(), arc),
        Pattern("binary tree", tree_mask[np.ix_(nodes, nodes)], hanging[nodes]),
    ]


def show_patterns(*, theme: str = "light") -> "Figure":
    """Draw the four sparsity patterns as graphs (tokens do see themselves), their masks above.

    Args:
        theme: `light` or `dark`.

    Raises:
        ConfigError: there is no such theme, or Matplotlib is not installed.

    Example:
        >>> len(show_patterns(theme="dark").axes)
        8
    """
    look = Theme.named(theme)
    figure = look.figure("Who sees whom: masks and graphs", height=3.9)
    all_axes = figure.subplots(2, 4, height_ratios=(1, 0.7))
    for pattern, colour, (top, bottom) in zip(patterns(), COLOURS, all_axes.T, strict=False):
        look.caption(top, pattern.name)
        _draw_mask(top, pattern.mask, colour, look)
        _draw_graph(bottom, pattern, colour, look)
    return figure


def _arc(number: int) -> NDArray[np.float64]:
    """float64 (number, 2): places from left to right on the upper half of a circle."""
    angle = np.linspace(np.pi, 0, number)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _draw_mask(axes: "Axes", mask: NDArray[np.bool_], colour: str, look: Theme) -> None:
    from matplotlib.colors import ListedColormap

    size = len(mask)
    axes.pcolormesh(
        np.arange(size + 1) + 0.5,
        np.arange(size + 1) + 0.5,
        mask,
        cmap=ListedColormap([look.background, colour]),
        edgecolors=look.muted,
        linewidth=0.5,
    )
    axes.set_aspect("equal")
    axes.invert_yaxis()
    look.frame(axes)
    axes.set_yticks(range(1, size + 1))
    axes.tick_params(length=0, labelsize=SMALL, labelcolor=look.ink)


def _draw_graph(axes: "Axes", pattern: Pattern, colour: str, look: Theme) -> None:
    from matplotlib.patches import FancyArrowPatch

    for row, column in np.argwhere(np.triu(pattern.mask, 1)):
        others = np.delete(pattern.places, [row, column], axis=0)
        start, end = pattern.places[[row, column]]
        axes.add_patch(
            FancyArrowPatch(
                start,
                end,
                arrowstyle="-",
                connectionstyle=f"arc3,rad={_bend(start, end, others)}",
                shrinkA=0,
                shrinkB=0,
                color=colour,
                linewidth=1.4,
            )
        )
    for number, place in enumerate(pattern.places, start=1):
        box = {"boxstyle": "circle,pad=0.25", "facecolor": look.background, "edgecolor": colour}
        look.label(axes, place, str(number), box=box)
    axes.set(xlim=(-1.2, 1.2), ylim=(-0.25, 1.25), aspect="equal")
    axes.set_axis_off()


def _bend(
    start: NDArray[np.float64], end: NDArray[np.float64], others: NDArray[np.float64]
) -> float:
    """Return how far, and to which side, a line must bend to pass nodes (number, 2) in its way."""
    step = end - start
    length = np.hypot(*step)
    along, across = ((others - start) @ np.array([step, step[::-1] * (-1, 1)]).T / length).T
    near = (np.abs(across) < _CLEARANCE) & (along > 0) & (along < length)
    return float(0.3 * np.sign(across[near].sum()))
