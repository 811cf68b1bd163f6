"""From real tokens to the nodes that are alive."""

import torch
from torch import Tensor

from myosotis.errors import ShapeError
from myosotis.linalg.plan import parent_tensor
from myosotis.nn.index import leaf_nodes, leaf_spans, members, num_leaves
from myosotis.tree import Tree

__all__ = ["as_sequences", "joined_edges", "leaves_below", "silence"]


def leaves_below(tree: Tree, mask: Tensor) -> Tensor:
    """How many real leaves are below each node; a node without any is not there.

    Args:
        tree: which node hangs on which.
        mask: bool (batch, leaves), True for a real leaf, left to right.

    Returns:
        int64 (batch, L).

    Example:
        >>> mask = torch.tensor([[True, True, True, False]])
        >>> leaves_below(Tree.perfect(branching=2, depth=2), mask)
        tensor([[1, 1, 1, 0, 2, 1, 3]])
    """
    if mask.dtype != torch.bool or mask.ndim != 2 or mask.shape[1] != num_leaves(tree):
        raise ShapeError(
            f"mask has shape {tuple(mask.shape)} and dtype {mask.dtype}; expected bool "
            f"(batch, {tree.num_leaves}): True for each real leaf of the tree"
        )
    first, end = leaf_spans(tree).to(mask.device).unbind(1)
    before = torch.nn.functional.pad(mask.cumsum(1), (1, 0))  # (batch, leaves + 1)
    return before.index_select(1, end) - before.index_select(1, first)


def joined_edges(tree: Tree, alive: Tensor) -> Tensor:
    """bool (batch, L): whether a node and its parent are both in `alive`, bool (batch, L)."""
    parent = parent_tensor(tree).to(alive.device).clamp(min=0)
    return alive & alive.index_select(1, parent)


def silence(x: Tensor, mask: Tensor | None) -> Tensor:
    """Set x (batch, n, dim) to zero where mask (batch, n) is False, whatever stands there.

    Example:
        >>> silence(torch.tensor([[[1.0], [float("nan")]]]), torch.tensor([[True, False]]))
        tensor([[[1.],
                 [0.]]])
    """
    return x if mask is None else x.masked_fill(~mask.unsqueeze(-1), 0)


def as_sequences(x: Tensor, forest: Tree) -> tuple[Tensor, Tensor]:
    """The leaves of each tree of a forest as a sequence of their own, padded with zeros.

    Args:
        x: (1, leaves) or (1, leaves, channels) of the forest.
        forest: one tree per example.

    Returns:
        (roots, longest) or (roots, longest, channels), and the mask, bool (roots, longest).

    Example:
        >>> forest = Tree.forest([Tree.star(2), Tree.chain(1)])
        >>> x, mask = as_sequences(torch.tensor([[5, 6, 7]]), forest)
        >>> x.tolist(), mask.tolist()
        ([[5, 6], [7, 0]], [[True, True], [True, False]])
    """
    if x.ndim < 2 or x.shape[:2] != (1, num_leaves(forest)):
        raise ShapeError(
            f"inputs have shape {tuple(x.shape)}; expected (1, {num_leaves(forest)}, …): one value "
            "or token for each leaf of the forest"
        )
    member = members(forest).index_select(0, leaf_nodes(forest)).to(x.device)
    lengths = torch.bincount(member, minlength=forest.num_roots)
    mask = torch.arange(int(lengths.max()), device=x.device) < lengths.unsqueeze(1)
    padded = x.new_zeros(*mask.shape, *x.shape[2:])
    padded[mask] = x[0]
    return padded, mask
