"""How much each place of a neuron weighs in one of them."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from myosotis.errors import ShapeError, TreeError
from myosotis.plot.morphology import Morphology
from myosotis.plot.theme import COLOURS, SMALL, WIDTH, Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["show_influence_neuron"]

_DECADES = 3  # weaker influence all looks the same
_THINNEST, _THICKEST = 0.8, 4.0  # points
_TALLEST = 8.0  # inches


def show_influence_neuron(
    neuron: Morphology,
    weights: ArrayLike,
    *,
    node: int | None = None,
    title: str = "",
    theme: str = "light",
) -> "Figure":
    """Draw a neuron, each segment in the colour of its influence, on a logarithmic scale.

    It is seen from the side on which it is widest: along its third principal axis.

    Args:
        neuron: its shape.
        weights: float[L], from 0 on, of each sample in canonical numbering: such as the influence
            of its passive system, or of a layer on its tree.
        node: the sample that listens, to be marked.
        title: of the picture.
        theme: `light` or `dark`.

    Raises:
        ShapeError: there is not one weight for each sample.
        TreeError: there is no such node.
        ConfigError: there is no such theme, or Matplotlib is not installed.

    Example:
        >>> from myosotis import Tree
        >>> line = np.arange(4)[:, None] * [100.0, 0.0, 0.0]
        >>> neuron = Morphology(Tree.chain(4), line, np.ones(4))
        >>> influence = neuron.passive_system().influence(3).squeeze().numpy()
        >>> figure = show_influence_neuron(neuron, influence, node=3)
        >>> len(figure.axes[0].collections[0].get_segments())
        3
    """
    tree, values = neuron.tree, np.asarray(weights, dtype=np.float64)
    if values.shape != (tree.num_nodes,):
        raise ShapeError(f"weights of shape {values.shape} do not fit {tree.num_nodes} samples")
    if node is not None and not 0 <= node < tree.num_nodes:
        raise TreeError(f"node {node} does not exist: nodes are 0..{tree.num_nodes - 1}")
    look = Theme.named(theme)
    flat = _flattened(neuron.positions)
    extent = np.ptp(flat, axis=0)
    shape = extent[1] / max(extent[0], 1e-9)
    figure = look.figure(title, height=0.8 + min(max(shape * (WIDTH - 1.2), 1.5), _TALLEST))
    axes = figure.subplots()
    _draw_segments(axes, neuron, flat, values, look)
    if node is not None:
        axes.plot(*flat[node], "o", markersize=9, color=COLOURS[3], fillstyle="none", mew=2)
    axes.set_aspect("equal")
    axes.margins(0.04)
    axes.set_axis_off()
    _draw_ruler(axes, flat, look)
    return figure


def _flattened(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64 (L, 2): the two principal axes along which points (L, 3) spread most."""
    centred = positions - positions.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)  # in the order of their spread
    flat: NDArray[np.float64] = centred @ axes[:, [2, 1]]
    return flat


def _draw_segments(
    axes: "Axes",
    neuron: Morphology,
    flat: NDArray[np.float64],
    values: NDArray[np.float64],
    look: Theme,
) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.colors import LogNorm

    tree = neuron.tree
    ends = np.stack([np.arange(tree.num_edges), tree.parent[: tree.num_edges]], axis=1)
    largest = max(values.max(), np.finfo(np.float64).tiny)
    floor = max(values.min() / largest, 10.0**-_DECADES)
    shares = (values / largest)[ends].mean(axis=1).clip(floor)
    # A soma is so thick that it must not set the scale.
    thickness = neuron.radii[ends].mean(axis=1) / max(np.quantile(neuron.radii, 0.95), 1e-9)
    segments = LineCollection(
        list(flat[ends]),
        array=shares,
        cmap=look.colour_map(),
        norm=LogNorm(min(floor, 0.5), 1),
        linewidths=np.clip(_THICKEST / 2 * thickness, _THINNEST, _THICKEST),
        capstyle="round",
    )
    axes.add_collection(segments)
    figure = axes.get_figure()
    assert figure is not None
    bar = figure.colorbar(segments, ax=axes, aspect=30, fraction=0.05)
    look.style_bar(bar, "share of the largest")


def _draw_ruler(axes: "Axes", flat: NDArray[np.float64], look: Theme) -> None:
    """Draw a line of a round number of micrometres below the neuron."""
    extent = np.ptp(flat[:, 0])
    if extent == 0:
        return  # all of it is in one place
    power = 10 ** np.floor(np.log10(extent / 4))
    length = power * max(n for n in (1, 2, 5) if n * power <= extent / 4)
    left, bottom = flat.min(axis=0)
    height = bottom - 0.05 * extent
    axes.plot([left, left + length], [height, height], color=look.ink, linewidth=2)
    text = f"{length:g} µm"
    axes.text(left + 1.1 * length, height, text, color=look.ink, fontsize=SMALL, va="center")
