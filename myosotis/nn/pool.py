"""From the features of all nodes to one vector per tree."""

import torch
from torch import Tensor

from myosotis.nn.index import members, num_top_nodes
from myosotis.tree import Tree

__all__ = ["pool_nodes", "pool_sequence"]


def pool_nodes(x: Tensor, tree: Tree, levels: int | None, alive: Tensor | None = None) -> Tensor:
    """Mean over the nodes of the top levels, for each tree of the forest.

    Args:
        x: (batch, L, dim), or those of the last nodes only, if all that count are among them.
        tree: tree or forest.
        levels: number of levels, 1 for the root alone; None for all.
        alive: bool (batch, L), the nodes that count; all if None.

    Returns:
        (batch, roots, dim).

    Example:
        >>> x = torch.tensor([1.0, 2.0, 6.0]).view(1, 3, 1)
        >>> pool_nodes(x, Tree.star(2), levels=1), pool_nodes(x, Tree.star(2), levels=None)
        (tensor([[[6.]]]), tensor([[[3.]]]))
    """
    count = num_top_nodes(tree, levels)
    x = x[:, -count:]
    alive = None if alive is None else alive[:, -count:]
    if tree.num_roots == 1:
        return pool_sequence(x, alive).unsqueeze(1)
    member = members(tree)[-count:].to(x.device)
    weight = x.new_ones(x.shape[:2]) if alive is None else alive.to(x.dtype)
    total = x.new_zeros(x.shape[0], tree.num_roots, x.shape[-1])
    total = total.index_add(1, member, x * weight.unsqueeze(-1))
    number = x.new_zeros(x.shape[0], tree.num_roots).index_add(1, member, weight)
    return total / number.clamp(min=1).unsqueeze(-1)


def pool_sequence(x: Tensor, mask: Tensor | None = None) -> Tensor:
    """Mean over positions: (batch, n, dim) -> (batch, dim); mask bool (batch, n) says which count.

    Example:
        >>> pool_sequence(torch.tensor([[[1.0], [3.0]]]), torch.tensor([[True, False]]))
        tensor([[1.]])
    """
    if mask is None:
        return x.mean(1)
    weight = mask.to(x.dtype)
    total = torch.einsum("bnd,bn->bd", x, weight)
    return total / weight.sum(1, keepdim=True).clamp(min=1)
