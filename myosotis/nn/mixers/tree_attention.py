"""Attention along the edges of a tree."""

import torch
from torch import Tensor, nn

from myosotis.errors import ConfigError, ShapeError
from myosotis.linalg.plan import parent_tensor
from myosotis.nn.mask import leaves_below, silence
from myosotis.nn.mixers.multihead import Projections
from myosotis.nn.mixers.registry import register
from myosotis.nn.mixers.settings import checked_count
from myosotis.nn.precision import full_precision
from myosotis.tree import Tree

__all__ = ["TreeAttention"]


@register("tree-attention", over="nodes", positions=True)
class TreeAttention(nn.Module):
    """Softmax attention of each node to itself, its parent and its children.

    Args:
        dim: number of features.
        tree: whose L nodes are mixed; None if each call brings its own.
        heads: as in `Projections`.
        device: of the parameters.
        dtype: of the parameters.

    Example:
        >>> tree = Tree.quadtree(8)
        >>> TreeAttention(8, tree, heads=2)(torch.ones(1, tree.num_nodes, 8)).shape
        torch.Size([1, 85, 8])
    """

    def __init__(
        self,
        dim: int,
        tree: Tree | None,
        heads: int | None = None,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.dim, self.tree = checked_count("dim", dim), tree
        self.projections = Projections(dim, heads, device=device, dtype=dtype)
        self.heads = self.projections.heads

    def forward(self, x: Tensor, mask: Tensor | None = None, tree: Tree | None = None) -> Tensor:
        """Mix the nodes of each example.

        Args:
            x: (batch, L, dim), nodes in canonical numbering.
            mask: bool (batch, leaves), True for real leaves, left to right; None if all are. A
                node is real if a leaf below it is.
            tree: the tree of this call, if not the layer's own.

        Returns:
            (batch, L, dim), zero at nodes that are not real.

        Raises:
            ShapeError: x or mask do not fit the tree.
        """
        tree = self._checked_tree(x, tree)
        alive = None if mask is None else leaves_below(tree, mask) > 0
        q, k, v = self.projections.split(silence(x, alive))
        attended = _along_edges(tree, q, k, v, alive)
        return silence(self.projections.merge(attended), alive)

    def pattern(self, tree: Tree | None = None) -> Tensor:
        """Which node (row) attends to which (column), bool (L, L).

        Example:
            >>> TreeAttention(4, Tree.star(2)).pattern().int()
            tensor([[1, 0, 1],
                    [0, 1, 1],
                    [1, 1, 1]], dtype=torch.int32)
        """
        tree = self._known(tree)
        child, parent = torch.arange(tree.num_edges), parent_tensor(tree)[: tree.num_edges]
        pattern = torch.eye(tree.num_nodes, dtype=torch.bool)
        pattern[child, parent] = pattern[parent, child] = True
        return pattern

    def _known(self, tree: Tree | None) -> Tree:
        tree = self.tree if tree is None else tree
        if tree is None:
            raise ConfigError("the layer has no tree of its own: give one with each call")
        return tree

    def _checked_tree(self, x: Tensor, tree: Tree | None) -> Tree:
        tree = self._known(tree)
        if x.ndim != 3 or x.shape[1:] != (tree.num_nodes, self.dim):
            raise ShapeError(
                f"x has shape {tuple(x.shape)}; expected (batch, {tree.num_nodes}, {self.dim}): "
                f"features of every node of the tree, which has {tree.num_leaves} leaves"
            )
        return tree

    def extra_repr(self) -> str:
        """The settings, for `print`."""
        return f"dim={self.dim}, heads={self.heads}"


def _along_edges(tree: Tree, q: Tensor, k: Tensor, v: Tensor, alive: Tensor | None) -> Tensor:
    """Softmax over the edges of each query; q, k, v and the result (batch, heads, L, size).

    Keys that are not in alive (batch, L) do not count, except for a node's own.
    """
    edges = tree.num_edges
    parent = parent_tensor(tree)[:edges].to(q.device)

    def of_parents(t: Tensor) -> Tensor:
        return t.index_select(0, parent)

    def gathered(own: Tensor, up: Tensor, down: Tensor) -> Tensor:
        """Sum over the edges: own (L, …), and up and down (edges, …) at their lower ends."""
        upward = torch.cat([own[:edges] + up, own[edges:]])
        return upward.index_add(0, parent, down)

    with torch.autocast(q.device.type, enabled=False):
        # Nodes first, (L, batch, heads, size): what is moved along edges is one long row each.
        Q, K, V = (t.permute(2, 0, 1, 3).contiguous() for t in full_precision(q, k, v))
        Q = Q * Q.shape[-1] ** -0.5
        own = (Q * K).sum(-1)  # (L, batch, heads)
        up = (Q[:edges] * of_parents(K)).sum(-1)  # a node's score of its parent
        down = (of_parents(Q) * K[:edges]).sum(-1)  # its parent's score of it
        if alive is not None:
            up = up.masked_fill(~of_parents(alive.mT).unsqueeze(-1), -torch.inf)
            down = down.masked_fill(~alive.mT[:edges].unsqueeze(-1), -torch.inf)
        peak = _largest(parent, own.detach(), up.detach(), down.detach())
        own, up, down = (
            (score - shift).exp().unsqueeze(-1)
            for score, shift in ((own, peak), (up, peak[:edges]), (down, of_parents(peak)))
        )
        summed = gathered(own * V, up * of_parents(V), down * V[:edges])
        return (summed / gathered(own, up, down)).permute(1, 2, 0, 3).to(v.dtype)


def _largest(parent: Tensor, own: Tensor, up: Tensor, down: Tensor) -> Tensor:
    """The largest score (L, batch, heads) of each query, by which exponentials stay finite."""
    upward = torch.cat([torch.maximum(own[: len(up)], up), own[len(up) :]])
    return upward.scatter_reduce(0, parent.view(-1, 1, 1).expand_as(down), down, "amax")
