"""T_G beside its inverse: sparse on one side, dense on the other."""

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from myosotis.errors import ConfigError
from myosotis.linalg import TreeMatrix
from myosotis.plot.groups import text_colour
from myosotis.plot.theme import COLOURS, SMALL, Theme
from myosotis.plot.tree import node_label
from myosotis.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

__all__ = ["example_matrix", "show_matrix"]

_LARGEST = 600  # rows; more are thinner than a pixel
_MOST_NAMED, _MOST_LABELLED = 16, 22  # nodes of which there is room for letters, and for labels
_DECADES = 3  # smaller entries of the inverse all look the same
_KINDS = "ABC"  # of blocks; 1, 2 and 3 in a pattern, where 0 is no block


def example_matrix(tree: Tree) -> TreeMatrix:
    """Return a positive definite matrix of scalars on a tree, to show what such matrices do.

    It is T = (I − U)(I − Uᵀ), where U couples each node with its parent by 0.9/√(number of
    siblings): that much of the variance below reaches a node.

    Example:
        >>> example_matrix(Tree.chain(2)).to_dense()[0]
        tensor([[ 1.0000, -0.9000],
                [-0.9000,  1.8100]], dtype=torch.float64)
    """
    coupling = np.zeros(tree.num_nodes)
    parent = tree.parent[: tree.num_edges]
    coupling[: tree.num_edges] = 0.9 / np.sqrt(tree.num_children[parent])
    diagonal = np.ones(tree.num_nodes)
    np.add.at(diagonal, parent, coupling[: tree.num_edges] ** 2)
    a, c = (torch.from_numpy(values).unsqueeze(-1) for values in (diagonal, -coupling))
    return TreeMatrix.diag(tree, a, c, c)


def show_matrix(matrix: TreeMatrix, *, title: str = "", theme: str = "light") -> "Figure":
    """Draw a tree matrix and its inverse, rows and columns in depth-first post-order.

    On the left, the blocks A of the nodes and B and C of the edges, which are all there is; B_v
    stands in row v and the column of its parent, C_v in row and column exchanged. On the right,
    how large the entries of the inverse are, on a logarithmic scale.

    Args:
        matrix: one system, with blocks of any size. Of several channels the first is drawn.
        title: of the picture; the share of entries if empty.
        theme: `light` or `dark`.

    Raises:
        ConfigError: the matrix is singular, has leading axes or more than 600 rows, or there is no
            such theme.

    Example:
        >>> figure = show_matrix(example_matrix(Tree.perfect(2, 2)))
        >>> figure.axes[0].get_yticklabels()[2].get_text()
        '[1;2]'
    """
    look = Theme.named(theme)
    dense, pattern = _dense(matrix)
    try:
        inverse = np.linalg.inv(dense)
    except np.linalg.LinAlgError:
        raise ConfigError("the matrix is singular: it has no inverse to draw") from None
    heading = (
        f"{len(dense):,} rows; not zero: {_share(pattern)} of T, {_share(inverse)} of its inverse"
    )
    figure = look.figure(title or heading, height=4.6)
    left, right = figure.subplots(1, 2)
    _draw_pattern(left, pattern, look)
    shades = _draw_moduli(right, np.abs(inverse), look)
    for axes, caption in ((left, "T"), (right, "T⁻¹, moduli of the entries")):
        look.caption(axes, caption)
        look.frame(axes)
        _label_rows(axes, matrix.tree, len(dense), look)
    look.style_bar(figure.colorbar(shades, ax=right, aspect=30, fraction=0.05), "")
    _draw_legend(figure, look)
    return figure


def _share(values: NDArray[np.generic]) -> str:
    return f"{100 * np.count_nonzero(values) / values.size:.3g}%"


def _dense(matrix: TreeMatrix) -> tuple[NDArray[np.inexact], NDArray[np.int64]]:
    """Return the matrix (n, n), and which kind of block each entry is of, int64 (n, n)."""
    _check_size(matrix.tree.num_nodes)  # before anything of that size squared is made
    dense = matrix.to_dense(order="post").detach().cpu().numpy()
    if dense.ndim == 3:
        dense = dense[0]  # of the channels
    if dense.ndim != 2:
        raise ConfigError(f"several systems of shape {dense.shape}: choose one of them to draw")
    _check_size(len(dense))
    block = len(dense) // matrix.tree.num_nodes
    pattern = np.kron(_tree_pattern(matrix.tree), np.ones((block, block), dtype=np.int64))
    if pattern.shape != dense.shape or (dense[pattern == 0] != 0).any():
        raise ConfigError("blocks of different sizes cannot be drawn: make them all of one size")
    return dense, pattern


def _check_size(rows: int) -> None:
    if rows > _LARGEST:
        raise ConfigError(
            f"a matrix of {rows:,} rows cannot be seen: choose a tree that makes no more than "
            f"{_LARGEST}"
        )


def _tree_pattern(tree: Tree) -> NDArray[np.int64]:
    """int64 (L, L), in post-order: 1 where A, 2 where B and 3 where C stands, else 0."""
    pattern = np.diag(np.ones(tree.num_nodes, dtype=np.int64))
    child, parent = (
        tree.post_order[: tree.num_edges],
        tree.post_order[tree.parent[: tree.num_edges]],
    )
    pattern[child, parent] = 2
    pattern[parent, child] = 3
    return pattern


def _draw_pattern(axes: "Axes", pattern: NDArray[np.int64], look: Theme) -> None:
    from matplotlib.colors import ListedColormap

    colours = ListedColormap([look.background, *COLOURS[: len(_KINDS)]])
    axes.imshow(pattern, cmap=colours, vmin=0, vmax=len(_KINDS), interpolation="nearest")
    if len(pattern) > _MOST_NAMED:
        return
    for row, column in np.argwhere(pattern):
        kind = int(pattern[row, column])
        look.label(axes, (column, row), _KINDS[kind - 1], colour=text_colour(colours(kind)))


def _draw_moduli(axes: "Axes", moduli: NDArray[np.floating], look: Theme) -> "AxesImage":
    from matplotlib.colors import LogNorm

    shown = np.ma.masked_equal(moduli, 0)  # between the trees of a forest
    norm = LogNorm(max(shown.min(), shown.max() / 10**_DECADES), shown.max(), clip=True)
    return axes.imshow(shown, cmap=look.colour_map(), norm=norm, interpolation="nearest")


def _label_rows(axes: "Axes", tree: Tree, size: int, look: Theme) -> None:
    if tree.num_nodes > _MOST_LABELLED:
        return
    block = size // tree.num_nodes
    places = (np.arange(tree.num_nodes) + 0.5) * block - 0.5
    labels = [node_label(tree, int(node)) for node in np.argsort(tree.post_order)]
    axes.set_yticks(places, labels)
    axes.set_xticks(places, labels, rotation=90)
    axes.tick_params(colors=look.muted, labelcolor=look.ink, labelsize=SMALL, length=2)


def _draw_legend(figure: "Figure", look: Theme) -> None:
    from matplotlib.patches import Patch

    meanings = ("A: a node on itself", "B: the parent on a node", "C: a child on its parent")
    handles = [Patch(color=c, label=m) for c, m in zip(COLOURS, meanings, strict=False)]
    look.legend_below(figure, handles, columns=len(handles))
