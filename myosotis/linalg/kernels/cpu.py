"""The CPU backend: a compiled sequential sweep over the nodes.

It needs no schedule and no index tensors and treats every tree alike; the work is vectorised over
channels and dealt out over systems.
"""

from torch import Tensor

from myosotis.linalg.apply import Blocks
from myosotis.linalg.kernels import dense
from myosotis.linalg.kernels import diagonal as scalar
from myosotis.linalg.plan import Plan

__all__ = ["empty_factor", "factorize", "gradients", "slogdet", "solve", "substitute"]


def factorize(plan: Plan, blocks: Blocks, diagonal: bool) -> list[Tensor]:
    """Eliminate from leaf to root."""
    return scalar.factorize(plan.tree, blocks) if diagonal else dense.factorize(plan.tree, blocks)


def empty_factor(blocks: Blocks, num_fill: int, diagonal: bool) -> list[Tensor]:
    """Uninitialised tensors of the shapes that `factorize` returns."""
    return scalar.empty_factor(blocks) if diagonal else dense.empty_factor(blocks)


def substitute(
    plan: Plan, blocks: Blocks, factor: list[Tensor], u: Tensor, diagonal: bool, adjoint: bool
) -> Tensor:
    """Solve T x = u, or T^H x = u, for x."""
    if diagonal:
        return scalar.substitute(plan.tree, blocks, factor, u, adjoint)
    return dense.substitute(plan.tree, blocks, factor, u, adjoint)


def solve(
    plan: Plan, blocks: Blocks, u: Tensor, diagonal: bool, keep: bool
) -> tuple[Tensor, list[Tensor]]:
    """Solve T x = u; the blocks may lack some of the first batch axes of u."""
    tree = plan.tree
    return scalar.solve(tree, blocks, u, keep) if diagonal else dense.solve(tree, blocks, u, keep)


def gradients(plan: Plan, left: Tensor, right: Tensor, blocks: Blocks, diagonal: bool) -> Blocks:
    """−left right^H where T has its blocks, summed to their shapes."""
    if diagonal:
        return scalar.gradients(plan.tree, left, right, blocks)
    return dense.gradients(plan.tree, left, right, blocks)


def slogdet(factor: list[Tensor], diagonal: bool) -> tuple[Tensor, Tensor]:
    """(Sign, log|det T|), (*batch, h) for diagonal blocks and (*batch) for dense ones."""
    return scalar.slogdet(factor) if diagonal else dense.slogdet(factor)
