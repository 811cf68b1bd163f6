"""Loops over the nodes of a tree that is to be cut into pieces, compiled.

Nodes come in canonical numbering: every child has a smaller number than its parent.
"""

import numpy as np
from numpy.typing import NDArray

from myosotis.compiled import kernel

__all__ = ["cut_nodes", "nearest_above", "piece_roots"]


@kernel
def cut_nodes(parent: NDArray[np.int64], limit: int) -> NDArray[np.bool_]:
    """Choose nodes without which the tree falls into pieces of at most `limit` nodes.

    A node is chosen as soon as more than `limit` nodes hang together below it and with it. One
    with chosen nodes below two of its children is chosen too, so that no piece has two of them
    below it. The first kind are fewer than L / limit, and the second fewer than the first.

    Args:
        parent: int64[L], canonical parents.
        limit: number of nodes, at least 1.

    Returns:
        bool[L].

    Example:
        >>> cut_nodes(np.array([1, 2, 3, 4, -1]), 2)  # a chain
        array([False, False,  True, False, False])
    """
    num_nodes = len(parent)
    chosen = np.zeros(num_nodes, dtype=np.bool_)
    together = np.ones(num_nodes, dtype=np.int64)  # nodes of the piece that v would be the root of
    branches = np.zeros(num_nodes, dtype=np.int64)  # children of v at or below which one is chosen
    for v in range(num_nodes):
        chosen[v] = together[v] > limit or branches[v] > 1
        p = parent[v]
        if p >= 0:
            branches[p] += chosen[v] or branches[v] > 0
            together[p] += 0 if chosen[v] else together[v]
    return chosen


@kernel
def piece_roots(parent: NDArray[np.int64], chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Find the root of each node's piece; -1 for the chosen nodes, which are in none.

    Args:
        parent: int64[L], canonical parents.
        chosen: bool[L], by `cut_nodes`.

    Returns:
        int64[L].

    Example:
        >>> parent = np.array([1, 2, 3, 4, -1])
        >>> piece_roots(parent, cut_nodes(parent, 2))
        array([ 1,  1, -1,  4,  4])
    """
    root = np.full(len(parent), -1)
    for v in range(len(parent) - 1, -1, -1):
        if not chosen[v]:
            p = parent[v]
            root[v] = v if p < 0 or chosen[p] else root[p]
    return root


@kernel
def nearest_above(parent: NDArray[np.int64], chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Find the nearest chosen node above each node; -1 if there is none.

    Args:
        parent: int64[L], canonical parents.
        chosen: bool[L], by `cut_nodes`.

    Returns:
        int64[L].

    Example:
        >>> parent = np.array([1, 2, 3, 4, -1])
        >>> nearest_above(parent, cut_nodes(parent, 2))
        array([ 2,  2, -1, -1, -1])
    """
    above = np.full(len(parent), -1)
    for v in range(len(parent) - 1, -1, -1):
        p = parent[v]
        if p >= 0:
            above[v] = p if chosen[p] else above[p]
    return above
