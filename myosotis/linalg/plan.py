"""From a tree to the index tensors that the sweeps need, made once and kept.

The solver never sees a `Tree`: it sees the tensor of parents, which a compiled or exported graph
can carry as a constant, and finds the plan that belongs to it here.
"""

from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from myosotis.linalg.kept import kept_tensor, outside_transforms
from myosotis.tree import Tree
from myosotis.tree.schedule import elimination

__all__ = ["Plan", "RoundIndex", "level_sizes", "parent_tensor", "plan_for"]


@dataclass(frozen=True)
class RoundIndex:
    """A `myosotis.tree.schedule.Round` as index tensors on one device.

    `fill` is where the round's compressed nodes stand in the list of all compressed nodes.
    """

    nodes: Tensor  # (n,) compressed, then raked with a parent, then roots
    edges: Tensor  # (m,) the nodes among them that have a parent: nodes[:m]
    parent: Tensor  # (m,)
    child: Tensor  # (k,) of nodes[:k]
    fill: slice  # of length k


class Plan:
    """Everything about one tree that a sweep looks up."""

    def __init__(self, tree: Tree) -> None:
        # A twin that shares nothing: the tree keeps the tensor by which its plan is found, and
        # neither could ever be freed if the plan kept the tree.
        self.tree = deepcopy(tree)
        self._rounds: dict[torch.device, list[RoundIndex]] = {}

    @cached_property
    def parent(self) -> Tensor:
        """int64[L], the parents (-1: root), on the CPU."""
        with outside_transforms():
            return torch.from_numpy(self.tree.parent.copy())

    @cached_property
    def num_fill(self) -> int:
        """Number of nodes that are compressed, each of which joins two others by a new edge."""
        return sum(r.child.numel() for r in self.rounds(torch.device("cpu")))

    def rounds(self, device: torch.device) -> list[RoundIndex]:
        """The elimination schedule on `device`."""
        if device not in self._rounds:
            with outside_transforms():
                self._rounds[device] = self._build_rounds(device)
        return self._rounds[device]

    def _build_rounds(self, device: torch.device) -> list[RoundIndex]:
        found, used = [], 0
        for r in elimination(self.tree):
            k, m = len(r.child), len(r.parent)
            nodes, parent, child = (
                torch.from_numpy(i).to(device) for i in (r.nodes, r.parent, r.child)
            )
            found.append(RoundIndex(nodes, nodes[:m], parent, child, slice(used, used + k)))
            used += k
        return found


_plans = WeakTensorKeyDictionary()


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def level_sizes(tree: Tree) -> list[int]:
    """Number of nodes in each level, deepest first."""
    return list(tree.level_sizes)


def parent_tensor(tree: Tree) -> Tensor:
    """int64[L] parents of `tree` (-1: root); the same tensor object each time."""
    return kept_tensor(tree, "parents", _parents)


def _parents(tree: Tree) -> Tensor:
    return _shared_parents(tree)


@lru_cache(maxsize=64)  # equal trees share a plan
def _shared_parents(tree: Tree) -> Tensor:
    parent = torch.from_numpy(tree.parent.copy())
    _plans[parent] = Plan(tree)
    return parent


def plan_for(parent: Tensor) -> Plan:
    """The plan of the tree with these parents (canonical numbering)."""
    plan: Plan | None = _plans.get(parent)
    if plan is None:
        # An exported graph holds its own copy of the tensor.
        plan = _plans[parent_tensor(Tree(np.asarray(parent.cpu())))]
        _plans[parent] = plan
    return plan
