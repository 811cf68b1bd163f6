"""Who owns which nodes when several ranks share a tree.

A few nodes, the *top*, are chosen such that the tree falls into small pieces without them. The top
holds the lowest common ancestor of any two of its nodes, so a piece has at most two neighbours
there: one above its root and one below. Whole subtrees are pieces, and so is a stretch of a chain.
A rank owns a run of neighbouring pieces; the top is on every rank.
"""

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from myosotis.distributed.cut_kernels import cut_nodes, nearest_above, piece_roots
from myosotis.distributed.deal import deal
from myosotis.errors import TreeError
from myosotis.tree import Tree

__all__ = ["Plan", "plan"]

Index = NDArray[np.int64]

GOOD_BALANCE = 1.1  # a larger top is worth its bytes only if shares are more unequal than this
MOST_PIECES = 16  # wanted for each rank, unless the tree falls into fewer pieces than ranks


@dataclass(frozen=True, eq=False)
class Plan:
    """How a tree is divided.

    Attributes:
        tree: the tree.
        ranks: number of ranks.
        owner: int64[L], the rank that owns each node; -1 for the top, which every rank has.

    Example:
        >>> division = plan(Tree.perfect(branching=2, depth=3), ranks=2)
        >>> division.owner
        array([ 0,  0,  0,  0,  1,  1,  1,  1,  0,  0,  1,  1,  0,  1, -1])
        >>> division.sizes, division.balance, division.top
        (array([7, 7]), 1.0, array([14]))
        >>> division.bytes_sent(channels=64, batch=32, itemsize=8)
        17928
    """

    tree: Tree
    ranks: int
    owner: Index

    @cached_property
    def top(self) -> Index:
        """int64[top], the nodes that every rank has, ascending."""
        return np.flatnonzero(self.owner < 0)

    @cached_property
    def sizes(self) -> Index:
        """int64[ranks], how many nodes each rank owns."""
        return np.bincount(self.owner[self.owner >= 0], minlength=self.ranks)

    @property
    def balance(self) -> float:
        """The largest share over the mean one: 1 if all are equal."""
        return float(self.sizes.max() / self.sizes.mean())

    @cached_property
    def above(self) -> Index:
        """int64[L], the nearest node of the top above each node; -1 if there is none."""
        return nearest_above(self.tree.parent, self.owner < 0)

    @cached_property
    def touched(self) -> list[Index]:
        """For each rank the nodes of the top that have a neighbour among its own, ascending."""
        child = np.arange(self.tree.num_edges)
        parent = self.tree.parent[child]
        upper = (self.owner[parent] < 0) & (self.owner[child] >= 0)
        lower = (self.owner[child] < 0) & (self.owner[parent] >= 0)
        rank = np.concatenate([self.owner[child[upper]], self.owner[parent[lower]]])
        node = np.concatenate([parent[upper], child[lower]])
        rank, node = np.divmod(np.unique(rank * self.tree.num_nodes + node), self.tree.num_nodes)
        return np.split(node, np.searchsorted(rank, np.arange(1, self.ranks)))

    @property
    def num_slots(self) -> int:
        """How many nodes of the top each rank writes about; some may be left empty."""
        return max(len(nodes) for nodes in self.touched)

    def bytes_sent(self, channels: int, batch: int = 1, itemsize: int = 4) -> int:
        """Bytes of what a rank writes for the others in a solve, whatever the number of nodes.

        The backward pass sends as many back to it from each.

        Args:
            channels: H.
            batch: right-hand sides that share their coefficients.
            itemsize: bytes of a number: 4 for float32, 8 for complex64.
        """
        if not len(self.top):
            return 0
        return ((3 + batch) * self.num_slots * channels + 1) * itemsize  # and a mark of failure


@lru_cache(maxsize=64)
def plan(tree: Tree, ranks: int) -> Plan:
    """Divide a tree among ranks, the shares nearly equal and the top small.

    The size of the top depends on the number of ranks, not on that of nodes: at most 32 nodes for
    each rank, and as few as one less than ranks for a chain.

    Args:
        tree: any tree or forest.
        ranks: number of ranks.

    Raises:
        TreeError: the tree does not fall into as many pieces as there are ranks.

    Example:
        >>> from myosotis import Tree
        >>> from myosotis.distributed import plan
        >>> plan(Tree.chain(7), ranks=2).owner
        array([ 0,  0,  0, -1,  1,  1,  1])
    """
    ranks = operator.index(ranks)
    if ranks < 1:
        raise TreeError(f"a tree cannot be divided among {ranks} ranks; there is at least one")
    best: Plan | None = None
    most = 0
    for wanted, limit in _limits(tree.num_nodes, ranks):
        if best is not None and wanted > MOST_PIECES * ranks:
            break
        root = piece_roots(tree.parent, cut_nodes(tree.parent, limit))
        roots, sizes = np.unique(root[root >= 0], return_counts=True)
        most = max(most, len(roots))
        if len(roots) < ranks:
            continue
        order = _neighbours_together(tree, roots)
        owner_of_root = np.full(tree.num_nodes, -1)
        owner_of_root[roots[order]] = deal(sizes[order], ranks)
        found = Plan(tree, ranks, np.where(root >= 0, owner_of_root[root], -1))
        if best is None or found.balance < best.balance:
            best = found
        if best.balance <= GOOD_BALANCE:
            break
    if best is None:
        raise TreeError(
            f"a tree of {tree.num_nodes} nodes falls into {most} pieces at most, too few for "
            f"{ranks} ranks; use no more than {most}, or a larger tree"
        )
    return best


def _neighbours_together(tree: Tree, roots: Index) -> Index:
    """The order of pieces, given by their roots, in which those on one node follow each other.

    The nodes that they hang on come in depth-first post-order, so that the few neighbours of a run
    of pieces are what its rank has to write about.
    """
    above = tree.parent[roots]
    hung_on = np.where(above >= 0, above, roots)
    return np.lexsort((tree.post_order[roots], tree.post_order[hung_on]))


def _limits(num_nodes: int, ranks: int) -> Iterator[tuple[int, int]]:
    """Pieces wanted, more and more, and how large each may be, down to a single node."""
    wanted, limit = ranks, num_nodes
    while limit > 1:
        limit = max(1, -(-(num_nodes - wanted + 1) // wanted))  # one node is lost between two
        yield wanted, limit
        wanted *= 2
    if num_nodes == 1:
        yield 1, 1
