"""The elimination schedule: in which order, and how many at once, nodes leave the system.

A round is a set of nodes no two of which are neighbours, so that all of them can be eliminated at
the same time. Each round takes

- every node without children left (*rake*), and
- every other node along the runs of one-child nodes (*compress*): such a node has two neighbours
  left, and its elimination joins its child to its parent by a new edge.

Raking halves bushy trees and compressing halves chains, so any tree is gone after O(log L)
rounds. On a perfect tree nothing is ever compressed and the rounds are the breadth-first levels;
on a chain this is cyclic reduction.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from myosotis.tree.topology import Tree

__all__ = ["Round", "elimination", "rounds"]

Index = NDArray[np.int64]


@dataclass(frozen=True)
class Round:
    """Nodes eliminated together, and their neighbours at that moment.

    The compressed nodes come first, then the raked nodes that have a parent, then roots, so that
    `child` belongs to the first `len(child)` nodes and `parent` to the first `len(parent)`.
    """

    nodes: Index  # (n,)
    parent: Index  # (m,), m <= n
    child: Index  # (k,), k <= m


def rounds(tree: Tree) -> list[Index]:
    """Nodes of each round, ascending, in the order in which the rounds are eliminated.

    Example:
        >>> from myosotis import Tree
        >>> from myosotis.tree.schedule import rounds
        >>> [r.tolist() for r in rounds(Tree.perfect(2, 2))]  # the levels
        [[0, 1, 2, 3], [4, 5], [6]]
        >>> [r.tolist() for r in rounds(Tree.chain(7))]  # cyclic reduction
        [[0, 2, 4], [1, 5], [3], [6]]
    """
    return [np.sort(r.nodes) for r in elimination(tree)]


def elimination(tree: Tree) -> Iterator[Round]:
    """Rake and compress `tree` round by round. O(L) work in all."""
    parent = tree.parent.copy()
    num_children = tree.num_children.copy()
    # With one child left, the sum of the remaining children is that child: no lists are needed.
    child_sum = np.zeros_like(parent)
    np.add.at(child_sum, parent[: tree.num_edges], np.arange(tree.num_edges))
    remaining = np.arange(tree.num_nodes)
    while remaining.size:
        leaves = remaining[num_children[remaining] == 0]
        raked, roots = _split(leaves, parent[leaves] >= 0)
        compressed = _alternate(_inner_runs(remaining, parent, num_children, child_sum), child_sum)
        child = child_sum[compressed]
        nodes = np.concatenate([compressed, raked, roots])
        yield Round(nodes, parent[nodes[: nodes.size - roots.size]], child)

        np.subtract.at(num_children, parent[raked], 1)
        np.subtract.at(child_sum, parent[raked], raked)
        np.add.at(child_sum, parent[compressed], child - compressed)
        parent[child] = parent[compressed]
        num_children[nodes] = -1
        remaining = remaining[num_children[remaining] >= 0]


def _split(nodes: Index, condition: NDArray[np.bool_]) -> tuple[Index, Index]:
    return nodes[condition], nodes[~condition]


def _inner_runs(remaining: Index, parent: Index, num_children: Index, child_sum: Index) -> Index:
    """Nodes with a parent and one child that is no leaf: no neighbour of theirs is being raked."""
    single = remaining[(num_children[remaining] == 1) & (parent[remaining] >= 0)]
    inner: Index = single[num_children[child_sum[single]] > 0]
    return inner


def _alternate(candidates: Index, child_sum: Index) -> Index:
    """Every other candidate along each run of candidates, starting with the lowest of the run.

    A candidate's place in its run, counted from below, comes from pointer doubling.
    """
    # Candidates ascend, so a binary search finds where (and whether) the child stands among them.
    child = child_sum[candidates]
    below = np.searchsorted(candidates, child)
    here = np.arange(candidates.size)
    inside = below < candidates.size
    inside[inside] = candidates[below[inside]] == child[inside]
    below = np.where(inside, below, here)
    place = inside.astype(np.int64)
    while (place[below] > 0).any():
        place += place[below]
        below = below[below]
    chosen: Index = candidates[place % 2 == 0]
    return chosen
