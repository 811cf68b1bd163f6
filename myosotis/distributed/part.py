"""What one rank knows of a divided tree: its own nodes, the top, and how they meet.

Locally nodes are numbered anew: first the rank's own, in the canonical order of the forest that
they form without the rest of the tree, then the top, in the canonical order of the tree in which
each of its nodes hangs on the nearest one above.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh

from myosotis.distributed.collectives import group_of
from myosotis.distributed.division import Plan, plan
from myosotis.errors import ShapeError
from myosotis.tree import Tree

__all__ = ["Part", "Renumbered", "part_of", "part_on"]

Index = NDArray[np.int64]


class Renumbered:
    """A tree over local nodes, whose canonical numbers are others than the local ones.

    Attributes:
        tree: the tree.
        order: int64 (n,), the local number of each of its nodes.
        back: int64 (n,), the canonical number of each local node.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.order = torch.from_numpy(tree.input_index.copy())
        self.back = self.order.argsort()


@dataclass(frozen=True, eq=False)
class Part:
    """The share of one rank.

    Attributes:
        plan: who owns what.
        rank: whose share it is.
        forest: the rank's own nodes and the edges between them.
        top: the nodes that every rank has, each on the nearest one above; None if there are none.
        nodes: int64 (n,), the tree's number of each local node: first own, then top.

    Example:
        >>> part = part_of(Tree.chain(7), ranks=2, rank=1)
        >>> part.nodes, part.forest, part.top.num_nodes
        (tensor([4, 5, 6, 3]), Tree(num_nodes=3, num_leaves=1, num_levels=3, num_roots=1), 1)
        >>> part.holes, part.below_holes  # node 3, the first of the top, hangs on the first own one
        (tensor([0]), tensor([0]))
        >>> part_of(Tree.chain(7), ranks=2, rank=0).roots  # and its own child is there
        tensor([2])
    """

    plan: Plan
    rank: int
    forest: Tree
    top: Tree | None
    nodes: Tensor

    @property
    def num_own(self) -> int:
        """Number of nodes that only this rank has."""
        return self.forest.num_nodes

    @property
    def num_top(self) -> int:
        """Number of nodes that every rank has."""
        return self.num_nodes - self.num_own

    @property
    def num_nodes(self) -> int:
        """Number of nodes that this rank has, the top among them."""
        return len(self.nodes)

    @cached_property
    def local(self) -> Index:
        """int64[L], the local number of each node of the tree; -1 for what others own."""
        local = np.full(self.plan.tree.num_nodes, -1)
        local[self.nodes.numpy()] = np.arange(self.num_nodes)
        return local

    @cached_property
    def parent(self) -> Index:
        """int64[n], the local number of each node's parent; -1 for roots and what others own."""
        parent = self.plan.tree.parent[self.nodes.numpy()]
        return np.where(parent >= 0, self.local[parent], -1)

    @cached_property
    def whole(self) -> "Renumbered":
        """All nodes of this rank and the tree's edges between them.

        A node of the top that hangs on another rank's is a root here.
        """
        return Renumbered(Tree(self.parent))

    @cached_property
    def top_alone(self) -> "Renumbered":
        """The top and the tree's edges inside it."""
        return Renumbered(Tree(np.maximum(self.parent[self.num_own :] - self.num_own, -1)))

    @cached_property
    def roots(self) -> Tensor:
        """int64 (k,), own nodes that hang on a node of the top."""
        return torch.from_numpy(np.flatnonzero(self.parent[: self.num_own] >= self.num_own))

    @cached_property
    def above_roots(self) -> Tensor:
        """int64 (k,), the nodes of the top that they hang on, counted in the top."""
        return torch.from_numpy(self.parent[self.roots.numpy()] - self.num_own)

    @cached_property
    def below_holes(self) -> Tensor:
        """int64 (h,), the nodes of the top that hang on an own node, counted in the top."""
        parent = self.parent[self.num_own :]
        return torch.from_numpy(np.flatnonzero((parent >= 0) & (parent < self.num_own)))

    @cached_property
    def holes(self) -> Tensor:
        """int64 (h,), the own nodes that they hang on. A piece has at most one."""
        return torch.from_numpy(self.parent[self.num_own :][self.below_holes.numpy()])

    @cached_property
    def spans(self) -> tuple[Tensor, Tensor]:
        """int64 (s,) twice: holes whose piece hangs on the top, and where in `roots` it does."""
        member = self.forest.member
        of_root, of_hole = member[self.roots.numpy()], member[self.holes.numpy()]
        found = np.flatnonzero(np.isin(of_hole, of_root))
        order = np.argsort(of_root)
        place = order[np.searchsorted(of_root, of_hole[found], sorter=order)]
        return torch.from_numpy(found), torch.from_numpy(place)

    @cached_property
    def joined_in_top(self) -> Tensor:
        """bool (top,), whether a node of the top hangs on another in the tree itself."""
        return torch.from_numpy(self.parent[self.num_own :] >= self.num_own)

    @cached_property
    def slots(self) -> tuple[Tensor, Tensor]:
        """int64 (k,) and (h,), where this rank writes about `above_roots` and `below_holes`."""
        touched = self.local[self.plan.touched[self.rank]] - self.num_own
        order = np.argsort(touched)
        above, below = (
            order[np.searchsorted(touched, nodes.numpy(), sorter=order)]
            for nodes in (self.above_roots, self.below_holes)
        )
        return torch.from_numpy(above), torch.from_numpy(below)

    @cached_property
    def slot_nodes(self) -> Tensor:
        """int64 (ranks · slots,), the node of the top that each slot of each rank is about.

        An empty slot is about one node more than there are.
        """
        table = np.full((self.plan.ranks, self.plan.num_slots), self.num_top)
        for row, touched in zip(table, self.plan.touched, strict=True):
            row[: len(touched)] = self.local[touched] - self.num_own
        return torch.from_numpy(table.reshape(-1))

    def take(self, name: str, t: Tensor) -> Tensor:
        """The local rows (…, n, h) of a tensor over all nodes, local ones, or one row for all.

        Raises:
            ShapeError: it is none of these.
        """
        t = t.reshape((1,) * (2 - t.ndim) + t.shape) if t.ndim < 2 else t
        rows, num_nodes = t.shape[-2], self.plan.tree.num_nodes
        if rows == self.num_nodes:
            return t
        if rows == 1:
            return t.expand(*t.shape[:-2], self.num_nodes, t.shape[-1])
        if rows == num_nodes:
            return t.index_select(-2, self.nodes.to(t.device))
        raise ShapeError(
            f"{name} has shape {tuple(t.shape)}: {rows} nodes on the last axis but one; expected "
            f"the {self.num_nodes} of rank {self.rank}, the {num_nodes} of the tree, or 1"
        )


def part_on(tree: Tree, mesh: DeviceMesh) -> Part:
    """The share of this process.

    Raises:
        ConfigError: the mesh is not of one dimension.
        TreeError: the tree does not fall into as many pieces as there are ranks.
    """
    group = group_of(mesh)
    return part_of(tree, group.size(), group.rank())


@lru_cache(maxsize=64)
def part_of(tree: Tree, ranks: int, rank: int) -> Part:
    """The share of a rank.

    Raises:
        TreeError: the tree does not fall into as many pieces as there are ranks.
    """
    division = plan(tree, ranks)
    own, top = np.flatnonzero(division.owner == rank), division.top
    forest = Tree(_places(own, tree.parent[own], tree.num_nodes))
    top_tree = Tree(_places(top, division.above[top], tree.num_nodes)) if len(top) else None
    top_nodes = top if top_tree is None else top[top_tree.input_index]
    nodes = np.concatenate([own[forest.input_index], top_nodes])
    return Part(division, rank, forest, top_tree, torch.from_numpy(nodes))


def _places(nodes: Index, wanted: Index, num_nodes: int) -> Index:
    """Where each of `wanted` stands among `nodes`; -1 if it does not."""
    place = np.full(num_nodes + 1, -1)  # -1, no node, reads the last
    place[nodes] = np.arange(len(nodes))
    found: Index = place[wanted]
    return found
