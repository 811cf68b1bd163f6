"""A tree as families, each a node with its children, in the order in which they can be known."""

import numpy as np
import torch
from torch import Tensor

from myosotis.linalg.kept import outside_transforms
from myosotis.tree import Tree

__all__ = ["families"]


def families(tree: Tree) -> list[tuple[Tree, Tensor]]:
    """For each height from one on, all nodes of that height with their children.

    Made once and kept with the tree.

    Returns:
        Forests of stars, and int64 (nodes of the forest,), which nodes of the tree theirs are.
        The roots come last, as in every forest.

    Example:
        >>> tree = Tree([-1, 0, 0, 1, 1])  # nodes 0 and 1 below 2; 2 and 3 below 4
        >>> [(stars.parent.tolist(), nodes.tolist()) for stars, nodes in families(tree)]
        [([2, 2, -1], [0, 1, 2]), ([2, 2, -1], [2, 3, 4])]
    """
    _keep_families(tree)
    kept: list[tuple[Tree, Tensor]] = tree.__dict__["_kept_families"]
    return kept


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _keep_families(tree: Tree) -> None:
    if "_kept_families" not in tree.__dict__:
        with outside_transforms():
            heights = range(1, int(tree.height.max()) + 1)
            tree.__dict__["_kept_families"] = [_at_height(tree, height) for height in heights]


def _at_height(tree: Tree, height: int) -> tuple[Tree, Tensor]:
    heads = np.flatnonzero(tree.height == height)
    children = np.flatnonzero(tree.height[tree.parent[: tree.num_edges]] == height)
    parent = len(children) + np.searchsorted(heads, tree.parent[children])
    stars = Tree(np.concatenate([parent, np.full(len(heads), -1)]))
    nodes = np.concatenate([children, heads])[stars.input_index]
    return stars, torch.from_numpy(nodes)
