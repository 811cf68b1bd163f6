"""`reference` behind the interface of the other backends, able to stand in for any of them."""

import torch
from torch import Tensor

from myosotis.linalg import reference
from myosotis.linalg.apply import Blocks, block_gradients, with_axes_of
from myosotis.linalg.plan import Plan
from myosotis.linalg.singular import raise_if_singular

__all__ = ["empty_factor", "factorize", "gradients", "slogdet", "solve", "substitute"]


def factorize(plan: Plan, blocks: Blocks, diagonal: bool) -> list[Tensor]:
    """[Â], (*batch, L, d, d) or, for diagonal blocks, (*batch, L, h)."""
    A, B, C = (_as_dense(block, diagonal) for block in blocks)
    A_hat = torch.stack(reference.eliminate(plan.tree, A, B, C)[0], dim=-3)
    singular = torch.linalg.lu_factor_ex(A_hat).info > 0  # (*batch, L) or (*batch, h, L)
    raise_if_singular(plan.tree, singular.movedim(-1, 0), diagonal, ordered=True)
    return [_as_given(A_hat, diagonal).contiguous()]


def empty_factor(blocks: Blocks, num_fill: int, diagonal: bool) -> list[Tensor]:
    """Uninitialised tensors of the shapes that `factorize` returns."""
    return [blocks[0].new_empty(blocks[0].shape)]


def substitute(
    plan: Plan, blocks: Blocks, factor: list[Tensor], u: Tensor, diagonal: bool, adjoint: bool
) -> Tensor:
    """Solve T x = u, or T^H x = u, from the very beginning."""
    A, B, C, right = (_as_dense(t, diagonal) for t in (*blocks, u))
    if adjoint:
        A, B, C = A.mH, C.mH, B.mH
    return _as_given(reference.solve(plan.tree, A, B, C, right), diagonal).contiguous()


def solve(
    plan: Plan, blocks: Blocks, u: Tensor, diagonal: bool, keep: bool
) -> tuple[Tensor, list[Tensor]]:
    """Solve T x = u; the blocks may lack some of the first batch axes of u."""
    A, B, C = with_axes_of(u, blocks[0], blocks)
    factor = factorize(plan, (A, B, C), diagonal)
    return substitute(plan, (A, B, C), factor, u, diagonal, adjoint=False), factor


def gradients(plan: Plan, left: Tensor, right: Tensor, blocks: Blocks, diagonal: bool) -> Blocks:
    """−left right^H where T has its blocks, summed to their shapes."""
    return block_gradients(plan.parent, left, right, blocks, diagonal)


def slogdet(factor: list[Tensor], diagonal: bool) -> tuple[Tensor, Tensor]:
    """(Sign, log|det T|), (*batch) for dense blocks and (*batch, h) for diagonal ones."""
    sign, logabs = torch.linalg.slogdet(_as_dense(factor[0], diagonal))
    return sign.prod(-1), logabs.sum(-1)


def _as_dense(t: Tensor, diagonal: bool) -> Tensor:
    """Diagonal (*batch, n, h) as 1×1 blocks (*batch, h, n, 1, 1); dense ones as they are."""
    return t.movedim(-1, -2)[..., None, None] if diagonal else t


def _as_given(t: Tensor, diagonal: bool) -> Tensor:
    return t[..., 0, 0].movedim(-1, -2) if diagonal else t
