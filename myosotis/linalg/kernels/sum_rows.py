"""Rows for the sums of nodes over their children, each used again as soon as it is free.

A node is done with its sums before it adds to those of its parent, strip by strip. So the parent of
a first child gets the row that was freed last, often that of the child itself: it is in the first
cache.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import uintp
from numpy.typing import NDArray

from myosotis.compiled import kernel
from myosotis.linalg.kernels.arguments import tree_arrays, unsigned
from myosotis.linalg.kernels.pieces import subtrees
from myosotis.linalg.kernels.threads import Team
from myosotis.tree import Tree

__all__ = ["SumRows", "sum_rows"]

Index = NDArray[np.uint64]


class SumRows(NamedTuple):
    """Where the two sums of inner nodes are, while one piece goes up after the other.

    Attributes:
        row: of each inner node, among those of its thread or, above all pieces, among those of all.
        own: how many a thread needs.
        common: how many there are for the nodes above all pieces.
        top: the first node that is in no piece.
    """

    row: Index
    own: int
    common: int
    top: int

    def count(self, team: Team) -> int:
        """How many rows of memory hold all sums."""
        return 2 * (self.own * int(team[2]) + self.common)

    def arguments(self, team: Team, address: int, width: int) -> tuple[Any, ...]:
        """As `fused_sweeps.sums_of` takes them."""
        of_all = self.own * int(team[2])
        return team, *unsigned(address, width), self.row, *unsigned(self.own, of_all, self.top)


@lru_cache(maxsize=64)
def sum_rows(tree: Tree, width: int) -> SumRows:
    """Rows for the pieces of `subtrees` without roots."""
    parts = subtrees(tree, width, roots=False)
    assert parts is not None, "asked for trees that are cut"
    row = np.zeros(tree.num_nodes, dtype=np.uint64)
    spare, nodes = np.empty_like(row), tree_arrays(tree)
    above = parts.segments[slice(*parts.top[0])]
    top, lowest = above[0].tolist()
    none, *ends = unsigned(0, top, lowest, tree.num_nodes)
    own = [
        hand_out(parts.segments[first:last], nodes, (none, ends[0]), none, row, spare)
        for first, last in parts.pieces
    ]
    # Nodes of the lowest level above pieces get theirs first: pieces add to them all.
    waiting = np.arange(top, lowest)[tree.num_children[top:lowest] > 0]
    row[waiting] = np.arange(len(waiting))
    common = hand_out(above, nodes, (ends[1], ends[2]), np.uint64(len(waiting)), row, spare)
    return SumRows(row, max(map(int, own)), int(common), top)


@kernel
def hand_out(
    segments: Index,
    tree: tuple[Index, ...],
    ends: tuple[np.uint64, np.uint64],
    taken: np.uint64,
    row: Index,
    spare: Index,
) -> np.uint64:
    """Give rows to the inner nodes between two `ends`; return how many rows there are then.

    Nodes of the segments go up in this order. `taken`: rows that are in use already. `spare`:
    memory for as many rows as nodes.
    """
    parent, first_child, num_children, _ = tree
    free = uintp(0)
    for k in range(segments.shape[0]):
        for v in range(segments[k, 0], segments[k, 1]):
            if num_children[v] != uintp(0):
                spare[free] = row[v]
                free += uintp(1)
            p = parent[v]
            if p < ends[0] or p >= ends[1] or v != first_child[p]:
                continue
            if free != uintp(0):
                free -= uintp(1)
                row[p] = spare[free]
            else:
                row[p] = taken
                taken += uintp(1)
    return taken
