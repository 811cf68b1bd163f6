"""T x without a solve, and the outer products of which the gradient of T consists."""

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn.functional import pad

from myosotis.linalg.algebra import algebra_of

__all__ = [
    "Blocks",
    "block_gradients",
    "multiply",
    "summed_to",
    "with_axes_of",
    "with_roots",
    "without_roots",
]

Blocks = tuple[Tensor, Tensor, Tensor]  # A (*batch, L, block), B and C (*batch, E, block)


def with_axes_of(u: Tensor, A: Tensor, tensors: Iterable[Tensor]) -> Iterable[Tensor]:
    """`tensors`, batched like A, with axes of size 1 in front for those that only u has."""
    extra = (1,) * (u.ndim - A.ndim)
    return (t.reshape(extra + t.shape) for t in tensors) if extra else tensors


def without_roots(blocks: Blocks, num_edges: int, diagonal: bool) -> Blocks:
    """The blocks without the rows of roots, which users may have given B and C."""
    nodes = -1 - algebra_of(diagonal).trailing
    A, B, C = blocks
    B, C = (t if t.shape[nodes] == num_edges else t.narrow(nodes, 0, num_edges) for t in (B, C))
    return A, B, C


def with_roots(gradients: Blocks, blocks: Blocks, diagonal: bool) -> Blocks:
    """Gradients with a row of zeros for each root that has one in B or C."""
    trailing = algebra_of(diagonal).trailing
    nodes = -1 - trailing
    rows = (
        (t, block.shape[nodes] - t.shape[nodes]) for t, block in zip(gradients, blocks, strict=True)
    )
    A, B, C = (pad(t, (0, 0) * trailing + (0, n)) if n else t for t, n in rows)
    return A, B, C


def multiply(parent: Tensor, blocks: Blocks, x: Tensor, diagonal: bool, adjoint: bool) -> Tensor:
    """T x, or T^H x. x (*batch, L, h) or (*batch, L, d, r)."""
    algebra = algebra_of(diagonal)
    A, B, C = blocks
    if adjoint:  # row v of T^H holds C_v^H at column p, row p holds B_v^H at column v
        B, C = C, B
    nodes = -1 - algebra.trailing
    edges = torch.arange(B.shape[nodes], device=x.device)
    p = parent[: len(edges)].to(x.device)
    from_parents = algebra.multiply(B, x.index_select(nodes, p), adjoint)
    from_children = algebra.multiply(C, x.index_select(nodes, edges), adjoint)
    y = algebra.multiply(A, x, adjoint)
    return y.index_add(nodes, edges, from_parents).index_add(nodes, p, from_children)


def block_gradients(
    parent: Tensor, left: Tensor, right: Tensor, blocks: Blocks, diagonal: bool
) -> Blocks:
    """−left right^H where T has its blocks: the gradient of T if left is λ and right is x.

    left, right (*full, L, h) or (*full, L, d, r); each result has the shape of its block and is
    summed over the batch axes that the block does not have.
    """
    algebra = algebra_of(diagonal)
    nodes = -1 - algebra.trailing
    num_edges = blocks[1].shape[nodes]
    p = parent[:num_edges].to(left.device)
    A_shape, B_shape, C_shape = (block.shape for block in blocks)
    left_v, right_v = (t.narrow(nodes, 0, num_edges) for t in (left, right))
    # What needs a gathered tensor comes first, one after the other: that keeps the peak low.
    B = algebra.outer(left_v, right.index_select(nodes, p), B_shape).neg_()
    C = algebra.outer(left.index_select(nodes, p), right_v, C_shape).neg_()
    A = algebra.outer(left, right, A_shape).neg_()
    return A, B, C


def summed_to(blocks: Blocks, products: Iterable[Tensor]) -> Blocks:
    """Sums over channels where there is one coefficient for all."""
    pairs = zip(products, blocks, strict=True)
    A, B, C = (t if t.shape == block.shape else t.sum_to_size(block.shape) for t, block in pairs)
    return A, B, C
