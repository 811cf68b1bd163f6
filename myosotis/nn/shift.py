"""Images moved on their quad-tree: the same leaves, other neighbours within a cell."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from myosotis.linalg.kept import kept_tensor
from myosotis.tree import Tree, morton_order

__all__ = ["is_square_quadtree", "move", "moved_nodes"]


def is_square_quadtree(tree: Tree | None) -> bool:
    """Whether this is the quad-tree of a square image whose side is a power of two.

    Example:
        >>> is_square_quadtree(Tree.quadtree(4)), is_square_quadtree(Tree.quadtree(6))
        (True, False)
    """
    if tree is None:
        return False
    sizes = tuple(4**level for level in reversed(range(tree.num_levels)))
    return tree.level_sizes == sizes and bool((tree.num_children[sizes[0] :] == 4).all())


def move(x: Tensor, tree: Tree, before: int, after: int, height: int = 0) -> Tensor:
    """Moves features x (batch, L, c) from one shift to another; see `moved_nodes`."""
    if before == after:
        return x
    nodes = moved_nodes(tree, before, after, height)
    return x.index_select(1, nodes.to(x.device))


def moved_nodes(tree: Tree, before: int, after: int, height: int = 0) -> Tensor:
    """int64 (L,), which node's features each node gets when the shift changes.

    Inner nodes move by whole cells, so they stay within half a cell of their pixels.

    Args:
        tree: the quad-tree of a square image.
        before: diagonal shift until now, in pixels.
        after: shift from now on.
        height: of the tree's lowest level above the pixels, 0 if it is theirs.

    Example:
        >>> moved_nodes(Tree.quadtree(2), 0, 1)  # a cell of four around the corner, and the root
        tensor([3, 2, 1, 0, 4])
    """
    name = f"moved_{before}_{after}_{height}"
    return kept_tensor(tree, name, _moved_nodes, before, after, height)


def _moved_nodes(tree: Tree, before: int, after: int, lowest: int) -> Tensor:
    first, found = 0, []
    for height, size in enumerate(tree.level_sizes, lowest):
        cells = _cells(after, height) - _cells(before, height)
        found.append(first + _moved_grid(int(size**0.5), cells))
        first += size
    return torch.from_numpy(np.concatenate(found))


def _cells(shift: int, height: int) -> int:
    """A shift in pixels as a number of cells at a height above them, halves rounded up."""
    return (2 * shift + (1 << height)) >> (height + 1)


def _moved_grid(side: int, cells: int) -> NDArray[np.int64]:
    """int64[side²]: place in Morton order -> place of what is `cells` below and right of it."""
    pixel = morton_order(side)
    row, column = np.divmod(pixel, side)
    place = np.argsort(pixel)
    moved: NDArray[np.int64] = place[(row + cells) % side * side + (column + cells) % side]
    return moved
