"""Index arithmetic of the regular trees: each function returns an int64[L] parent array.

All but `disjoint_union` number the nodes canonically (see `myosotis.tree.structure`): deepest
level first, left to right, the root last.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from myosotis.errors import TreeError
from myosotis.tree.order import morton_codes
from myosotis.tree.sizes import checked_size

__all__ = [
    "chain_parent",
    "disjoint_union",
    "grid_parent",
    "over_parent",
    "perfect_parent",
    "star_parent",
]


def chain_parent(length: int) -> NDArray[np.int64]:
    """Return the parents of a path on which node k hangs below node k+1.

    Example:
        >>> chain_parent(4)
        array([ 1,  2,  3, -1])
    """
    parent = np.arange(1, checked_size("length", length) + 1, dtype=np.int64)
    parent[-1] = -1
    return parent


def star_parent(num_leaves: int) -> NDArray[np.int64]:
    """Return the parents of a root with `num_leaves` children.

    Example:
        >>> star_parent(3)
        array([ 3,  3,  3, -1])
    """
    num_leaves = checked_size("num_leaves", num_leaves)
    parent = np.full(num_leaves + 1, num_leaves, dtype=np.int64)
    parent[-1] = -1
    return parent


def perfect_parent(branching: int, depth: int) -> NDArray[np.int64]:
    """Return the parents of the tree with `branching` children everywhere above depth `depth`.

    Example:
        >>> perfect_parent(branching=2, depth=2)
        array([ 4,  4,  5,  5,  6,  6, -1])
    """
    branching = checked_size("branching", branching)
    depth = checked_size("depth", depth, minimum=0)
    if branching == 1:
        return chain_parent(depth + 1)
    return over_parent(branching**depth, branching)


def over_parent(num_leaves: int, branching: int) -> NDArray[np.int64]:
    """Return the parents when neighbours are grouped by `branching`, level by level, up to one.

    Example:
        >>> over_parent(num_leaves=5, branching=2)
        array([ 5,  5,  6,  6,  7,  8,  8,  9, 10, 10, -1])
    """
    size = checked_size("num_leaves", num_leaves)
    branching = checked_size("branching", branching)
    if branching == 1 and size > 1:
        raise TreeError(f"branching 1 never joins {size} leaves into one root: use 2 or more")
    parent_places = []
    while size > 1:
        parent_places.append(np.arange(size, dtype=np.int64) // branching)
        size = -(-size // branching)
    return _stack_levels(parent_places)


def grid_parent(shape: Sequence[int]) -> NDArray[np.int64]:
    """Return the parents of the tree that halves every axis of a grid, empty cells left out.

    Leaves are the grid's cells in Morton order, all of them on the deepest level.

    Example:
        >>> grid_parent((2, 3))  # one cell of 2 by 2 and one of 2 by 1
        array([ 6,  6,  6,  6,  7,  7,  8,  8, -1])
    """
    codes = np.sort(morton_codes(shape))
    parent_places = []
    for _ in range((max(shape) - 1).bit_length()):
        codes >>= len(shape)
        is_first_child = np.diff(codes, prepend=-1) != 0
        parent_places.append(np.cumsum(is_first_child) - 1)
        codes = codes[is_first_child]
    return _stack_levels(parent_places)


def disjoint_union(parents: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Concatenate parent arrays into that of a forest (numbered tree by tree, not canonically).

    Example:
        >>> disjoint_union([np.array([1, -1]), np.array([2, 2, -1])])
        array([ 1, -1,  4,  4, -1])
    """
    sizes = [len(parent) for parent in parents]
    offset = np.repeat(np.cumsum(sizes) - sizes, sizes)
    joined = np.concatenate(parents)
    return np.where(joined < 0, -1, joined + offset)


def _stack_levels(parent_places: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Join levels, deepest first, each given as its parents' places within the next level.

    The level of the root is not among them: it is added here.
    """
    starts = np.cumsum([len(places) for places in parent_places], dtype=np.int64)
    levels = [places + start for places, start in zip(parent_places, starts, strict=True)]
    return np.concatenate([*levels, np.array([-1], dtype=np.int64)])
