"""What the layers look up about a tree, as tensors that are made once."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from myosotis.linalg.kept import kept_tensor
from myosotis.nn.sharing import Layout
from myosotis.tree import Tree

__all__ = [
    "depths",
    "leaf_nodes",
    "leaf_spans",
    "members",
    "num_children",
    "num_leaves",
    "num_top_nodes",
    "places",
    "row_index",
    "upper_tree",
]


def row_index(layout: Layout, tree: Tree) -> Tensor:
    """int64 (L,), the row of a table that each node uses."""
    return kept_tensor(tree, layout.key, _rows, layout)


def depths(tree: Tree) -> Tensor:
    """int64 (L,), the distance of each node from its root."""
    return kept_tensor(tree, "depth", _attribute, "depth")


def leaf_nodes(tree: Tree) -> Tensor:
    """int64 (leaves,), the node of each leaf."""
    return kept_tensor(tree, "leaves", _attribute, "leaves")


def leaf_spans(tree: Tree) -> Tensor:
    """int64 (L, 2), the first leaf below each node, and the one after the last."""
    return kept_tensor(tree, "leaf_spans", _attribute, "leaf_spans")


def num_children(tree: Tree) -> Tensor:
    """int64 (L,), how many children each node has."""
    return kept_tensor(tree, "num_children", _attribute, "num_children")


def members(tree: Tree) -> Tensor:
    """int64 (L,), the tree of the forest that each node belongs to."""
    return kept_tensor(tree, "member", _attribute, "member")


def places(tree: Tree) -> Tensor:
    """int64 (L,), the place of each node among those of its tree of the forest."""
    return kept_tensor(tree, "places", _places)


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def num_leaves(tree: Tree) -> int:
    """The number of leaves; a tracer may not compute what the tree keeps when first asked."""
    return tree.num_leaves


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def num_top_nodes(tree: Tree, levels: int | None) -> int:
    """How many nodes the `levels` levels at the roots have; they are the last nodes."""
    return tree.num_nodes if levels is None else sum(tree.level_sizes[-levels:])


def upper_tree(tree: Tree) -> Tree:
    """The tree without its lowest level, made once; it must have more than one."""
    _keep_upper(tree)
    upper: Tree = tree.__dict__["_kept_upper"]
    return upper


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _keep_upper(tree: Tree) -> None:
    if "_kept_upper" not in tree.__dict__:
        tree.__dict__["_kept_upper"] = tree.top(tree.num_levels - 1)


def _rows(tree: Tree, layout: Layout) -> Tensor:
    return torch.from_numpy(layout.rows(tree).copy())


def _places(tree: Tree) -> Tensor:
    by_tree = np.argsort(tree.member, kind="stable")
    first = np.cumsum(np.bincount(tree.member)) - np.bincount(tree.member)
    place = np.empty(tree.num_nodes, dtype=np.int64)
    place[by_tree] = np.arange(tree.num_nodes) - first[tree.member[by_tree]]
    return torch.from_numpy(place)


def _attribute(tree: Tree, name: str) -> Tensor:
    array: NDArray[np.int64] = getattr(tree, name)
    return torch.from_numpy(array.copy())
