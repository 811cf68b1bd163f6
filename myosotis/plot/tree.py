"""A tree, level by level."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from myosotis.plot.groups import Groups, text_colour
from myosotis.plot.theme import COLOURS, SMALL, WIDTH, Theme
from myosotis.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["node_label", "show_tree"]

# In inches.
_LETTER, _LABEL_HEIGHT, _LABEL_MARGIN = 0.078, 0.24, 0.16
_DOT, _ROW, _TALLEST = 0.05, 0.55, 8.0
_DRAWING_WIDTH = WIDTH - 1.7  # the rest is for the names of the levels
_MOST_LABELS = 60  # of a level, even if each were a single letter

# More lines than this run together.
_WIDEST_LEVEL, _MOST_LEVELS, _MOST_NODES = 600, 800, 4000


def show_tree(
    tree: Tree,
    *,
    groups: ArrayLike | None = None,
    group_name: str = "group",
    title: str = "",
    theme: str = "light",
) -> "Figure":
    """Draw a tree or forest, the roots on top.

    A leaf is labelled by its number and an inner node by the segment [first;last] of leaves below
    it. What a large tree has no room for is left out: labels first, then dots, then the deepest
    levels, in whose place triangles stand.

    Args:
        tree: any size.
        groups: int[L], a group for each node in canonical numbering, shown by colours; -1 if it
            belongs to all of them.
        group_name: what a group is, for the legend.
        title: of the picture; the size of the tree if empty.
        theme: `light` or `dark`.

    Raises:
        ShapeError: there is not one group for each node.
        ConfigError: there is no such theme, or Matplotlib is not installed.

    Example:
        >>> figure = show_tree(Tree.perfect(2, 2), groups=[0, 0, 1, 1, 0, 1, 0], group_name="rank")
        >>> sorted(text.get_text() for text in figure.axes[0].texts)[4:7]
        ['[1;2]', '[1;4]', '[3;4]']
    """
    look = Theme.named(theme)
    view = _View.of(tree)
    figure = look.figure(title or _summary(tree), height=view.height + 0.7)
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_xlim(-0.5 - view.leaves_per_inch * 0.1, tree.num_leaves - 0.5)
    axes.set_ylim(view.num_levels - 0.5 + (0.6 if view.is_cut else 0), -0.5)
    chosen = None if groups is None else Groups.of(groups, tree.num_nodes, look)
    _draw_edges(axes, view, look, chosen)
    for depth in range(view.num_levels):
        _draw_level(axes, view, depth, look, chosen)
    if view.is_cut:
        _draw_cut(axes, view, look)
    if view.is_cut or chosen is not None:
        handles = [] if chosen is None else chosen.handles(group_name)
        look.legend_below(figure, handles, columns=8, note=_what_is_missing(view))
    return figure


@dataclass(frozen=True, eq=False)
class _View:
    """What of a tree is drawn, and where.

    Attributes:
        tree: the tree.
        num_levels: how many levels, from the roots, are drawn.
        across: float64[L], the middle of the leaves below each node.
    """

    tree: Tree
    num_levels: int
    across: NDArray[np.float64]

    @classmethod
    def of(cls, tree: Tree) -> "_View":
        sizes = np.array(tree.level_sizes[::-1])  # roots first
        fits = (sizes <= _WIDEST_LEVEL) & (np.cumsum(sizes) <= _MOST_NODES)
        num_levels = len(fits) if fits.all() else max(1, int(np.argmin(fits)))
        num_levels = min(num_levels, _MOST_LEVELS)
        return cls(tree, num_levels, (tree.leaf_spans.sum(axis=1) - 1) / 2)

    @property
    def is_cut(self) -> bool:
        return self.num_levels < self.tree.num_levels

    @property
    def row(self) -> float:
        """Height of a level, inches."""
        return min(_ROW, _TALLEST / self.num_levels)

    @property
    def height(self) -> float:
        return self.row * (self.num_levels + (0.6 if self.is_cut else 0))

    @property
    def leaves_per_inch(self) -> float:
        return self.tree.num_leaves / _DRAWING_WIDTH

    def nodes(self, depth: int) -> NDArray[np.int64]:
        level = self.tree.levels[self.tree.num_levels - 1 - depth]
        return np.arange(level.start, level.stop)

    def gaps(self, depth: int) -> NDArray[np.float64]:
        """Distance of each node of a level from its nearest neighbour, inches."""
        between = np.diff(self.across[self.nodes(depth)]) / self.leaves_per_inch
        gaps: NDArray[np.float64] = np.minimum(
            np.append(between, WIDTH), np.insert(between, 0, WIDTH)
        )
        return gaps

    def has_line_of_text(self, depth: int) -> bool:
        """Whether there is room for text at this level, if the same holds above it."""
        return depth % int(np.ceil(_LABEL_HEIGHT / self.row)) == 0

    def has_label(self, depth: int) -> NDArray[np.bool_]:
        """Which nodes of a level have room for a label."""
        nodes = self.nodes(depth)
        if not self.has_line_of_text(depth) or len(nodes) > _MOST_LABELS:
            return np.zeros(len(nodes), dtype=bool)
        longest = max(len(node_label(self.tree, int(node))) for node in nodes)
        return self.gaps(depth) >= longest * _LETTER + _LABEL_MARGIN


def node_label(tree: Tree, node: int) -> str:
    """Return the number of a leaf, or the segment of leaves below an inner node.

    Example:
        >>> node_label(Tree.star(3), 0), node_label(Tree.star(3), 3)
        ('1', '[1;3]')
    """
    first, last = tree.label(node)
    return f"[{first};{last}]" if tree.num_children[node] else str(first)


def _draw_edges(axes: "Axes", view: _View, look: Theme, groups: Groups | None) -> None:
    from matplotlib.collections import LineCollection

    tree = view.tree
    child = np.arange(tree.num_edges)
    child = child[tree.depth[child] < view.num_levels]
    ends = np.stack([child, tree.parent[child]], axis=1)
    lines = np.stack([view.across[ends], tree.depth[ends]], axis=-1)  # (edges, 2 ends, x and y)
    width = 1.0 if len(child) < 300 else 0.5
    colours = look.muted if groups is None else groups.colours[groups.of_node[child]]
    axes.add_collection(LineCollection(list(lines), colors=colours, linewidths=width, zorder=1))


def _draw_level(axes: "Axes", view: _View, depth: int, look: Theme, groups: Groups | None) -> None:
    from matplotlib.colors import to_rgba_array

    nodes, gaps, has_label = view.nodes(depth), view.gaps(depth), view.has_label(depth)
    if groups is None:
        is_leaf = view.tree.num_children[nodes] == 0
        edges = to_rgba_array([look.muted, COLOURS[0]])[is_leaf.astype(int)]
    else:
        edges = groups.colours[groups.of_node[nodes]]
    for node, edge in zip(nodes[has_label], edges[has_label], strict=True):
        fill, ink = (look.background, look.ink) if groups is None else (edge, text_colour(edge))
        box = {"boxstyle": "round,pad=0.3", "facecolor": fill, "edgecolor": edge}
        place = (view.across[node], depth)
        look.label(axes, place, node_label(view.tree, int(node)), colour=ink, box=box)
    if depth == 0 or min(gaps.min(), view.row) >= _DOT:
        size = 20 if gaps.min() > 3 * _DOT else 5
        dots = nodes[~has_label]
        axes.scatter(view.across[dots], [depth] * len(dots), s=size, c=edges[~has_label], zorder=2)
    if view.has_line_of_text(depth):
        text = f"level {view.tree.num_levels - depth:,}: {_count(len(nodes), 'node')}"
        place = (-0.5 - view.leaves_per_inch * 0.2, depth)
        axes.text(*place, text, fontsize=SMALL, color=look.muted, ha="right", va="center")


def _draw_cut(axes: "Axes", view: _View, look: Theme) -> None:
    """Put triangles below the nodes whose children are not drawn."""
    from matplotlib.collections import PolyCollection

    bottom = view.num_levels - 1
    nodes = view.nodes(bottom)
    nodes = nodes[view.tree.num_children[nodes] > 0]
    spans = view.tree.leaf_spans[nodes]
    first, last = spans[:, 0] - 0.4, spans[:, 1] - 0.6
    x = np.stack([view.across[nodes], first, last], axis=1)
    y = np.broadcast_to([bottom, bottom + 0.9, bottom + 0.9], x.shape)
    corners = np.stack([x, y], axis=-1)
    axes.add_collection(PolyCollection(list(corners), facecolors=look.grid, zorder=0))


def _summary(tree: Tree) -> str:
    kind = "tree" if tree.num_roots == 1 else f"forest of {tree.num_roots:,} trees"
    sizes = {"node": tree.num_nodes, "leaf": tree.num_leaves, "level": tree.num_levels}
    return f"{kind}: {', '.join(_count(size, what) for what, size in sizes.items())}"


def _count(number: int, what: str) -> str:
    plural = {"leaf": "leaves"}.get(what, f"{what}s")
    return f"{number:,} {what if number == 1 else plural}"


def _what_is_missing(view: _View) -> str:
    levels = view.tree.num_levels - view.num_levels
    if not levels:
        return ""
    nodes = sum(view.tree.level_sizes[:levels])
    which = "level 1" if levels == 1 else f"levels 1–{levels:,}"
    return f"Not drawn: {which} with {nodes:,} of the {view.tree.num_nodes:,} nodes"
