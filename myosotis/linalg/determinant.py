"""log|det T| from the pivots, differentiable through the blocks of the inverse.

d log|det T| = Re tr(T⁻¹ dT),   so   ∂T = g·T^-H where T has its blocks.
"""

from typing import Any

import torch
from torch import Tensor

from myosotis.linalg import backends, rounds
from myosotis.linalg.apply import Blocks
from myosotis.linalg.autograd import Spec
from myosotis.linalg.ops import batched_together
from myosotis.linalg.plan import plan_for

__all__ = ["log_abs_det"]


def log_abs_det(parent: Tensor, blocks: Blocks, factor: list[Tensor], spec: Spec) -> Tensor:
    """log|det T|: (*batch) for dense blocks, (*batch, h) for diagonal ones."""
    value: Tensor = _LogAbsDet.apply(spec, parent, *blocks, *factor)
    return value


class _LogAbsDet(torch.autograd.Function):
    @staticmethod
    def forward(spec: Spec, parent: Tensor, *tensors: Tensor) -> Tensor:
        factor = list(tensors[3:])
        return backends.get(spec.backend).slogdet(factor, spec.diagonal)[1]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.spec, parent, A, B, C, *factor = inputs
        ctx.num_factors = len(factor)
        ctx.save_for_backward(parent, A, B, C)
        ctx.save_for_forward(parent, A, B, C)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        Z = _adjoint_inverse_blocks(ctx)
        g = grad.unsqueeze(-2) if ctx.spec.diagonal else grad[..., None, None, None]
        return None, None, *(g * block for block in Z), *(None,) * ctx.num_factors

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        axes = (-2,) if ctx.spec.diagonal else (-3, -2, -1)
        pairs = zip(_adjoint_inverse_blocks(ctx), tangents[2:5], strict=True)
        terms = [(Z.conj() * dot).real.sum(axes) for Z, dot in pairs if dot is not None]
        return torch.stack(terms).sum(0)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], spec: Spec, *tensors: Tensor) -> Any:
        parent, *matrix = tensors
        matrix = batched_together(info.batch_size, in_dims[2:], matrix)
        return _LogAbsDet.apply(spec, parent, *matrix), 0


def _adjoint_inverse_blocks(ctx: Any) -> Blocks:
    """Blocks of T^-H: where row v, column p of T stands B, T^-H has (T⁻¹)_pv^H."""
    parent, A, B, C = ctx.saved_tensors
    Z, Z_down, Z_up = rounds.inverse_blocks(plan_for(parent), (A, B, C), ctx.spec.diagonal)
    if ctx.spec.diagonal:
        return Z.conj(), Z_up.conj(), Z_down.conj()
    return Z.mH, Z_up.mH, Z_down.mH
