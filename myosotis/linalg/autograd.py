"""x = T⁻¹ u as one differentiable operation.

The derivative of a solve is a solve with the same matrix, so the factor is computed once and
serves forward, backward, forward-mode and every higher derivative:

    backward     λ = T^-H g,   ∂u = λ,   ∂T = −λ x^H on the blocks of the tree
    tangent      ẋ = T⁻¹ (u̇ − Ṫ x)

Both are written with the same operation again, hence differentiable any number of times. The
factor enters as a constant: all dependence on T is accounted for by the formulas above.
"""

import inspect
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.autograd.function import FunctionCtx

from myosotis.linalg import backends, ops
from myosotis.linalg.apply import (
    Blocks,
    block_gradients,
    multiply,
    with_axes_of,
    with_roots,
    without_roots,
)
from myosotis.linalg.plan import plan_for

__all__ = [
    "Spec",
    "factorize",
    "full_precision",
    "known_signature",
    "plain_values",
    "solve",
    "solve_once",
    "transformed",
]


class Spec(NamedTuple):
    """What is solved and by whom."""

    diagonal: bool
    adjoint: bool
    backend: str


def factorize(parent: Tensor, blocks: Blocks, spec: Spec) -> list[Tensor]:
    """The factor of T, without gradient."""
    A, B, C = (t.detach() for t in blocks)
    with full_precision(A.device):
        if ops.traced(A):
            num_fill = ops.num_fill(parent) if spec.backend == "torch" else 0
            args = (spec.diagonal, spec.backend, num_fill)
            factor: list[Tensor] = ops.factorize(parent, A, B, C, *args)
            return factor
        if torch._C._are_functorch_transforms_active():
            return list(_Factorize.apply(spec, parent, A, B, C))
        return list(_Factorize.forward(spec, parent, A, B, C))


def solve(parent: Tensor, blocks: Blocks, factor: list[Tensor], u: Tensor, spec: Spec) -> Tensor:
    """T⁻¹ u, or T^-H u with `spec.adjoint`, differentiable in blocks and u."""
    if ops.legacy_batched(u) and spec.backend != "torch":
        spec = spec._replace(backend="torch")
        factor = factorize(parent, blocks, spec)
    with full_precision(u.device):
        x: Tensor
        if ops.traced(u):
            x = ops.solve(parent, *blocks, factor, u, *spec)
        elif plain_values(*blocks, u):
            x = _Solve.forward(spec, parent, *blocks, u, *factor)
        else:
            x = _Solve.apply(spec, parent, *blocks, u, *factor)
        return x


def solve_once(parent: Tensor, blocks: Blocks, u: Tensor, spec: Spec, num_edges: int) -> Tensor:
    """T⁻¹ u, where nobody asks for the factor.

    The blocks may have fewer batch axes than u, and diagonal B and C rows for roots. Who can leave
    them so is spared operations on every tensor, and the same again on every gradient.
    """
    direct = not (ops.traced(*blocks, u) or transformed(*blocks, u))
    as_given = direct and spec.backend == "cpu" and spec.diagonal
    if not as_given:
        blocks = without_roots(blocks, num_edges, spec.diagonal)
    if direct:
        with _digits_of(spec, u.device):
            if not _wanted(*blocks, u):
                backend = backends.get(spec.backend)
                return backend.solve(plan_for(parent), blocks, u, spec.diagonal, keep=False)[0]
            if not as_given:
                A, B, C = with_axes_of(u, blocks[0], blocks)
                blocks = A, B, C
            x: Tensor = _SolveOnce.apply(spec, parent, *blocks, u)
            return x
    factor = factorize(parent, blocks, spec)
    A, B, C, *factor = with_axes_of(u, blocks[0], (*blocks, *factor))
    return solve(parent, (A, B, C), factor, u, spec)


def full_precision(device: torch.device) -> AbstractContextManager[object]:
    """No autocast: a solve in half precision would lose the digits it is asked for."""
    if torch.amp.is_autocast_available(device.type) and torch.is_autocast_enabled(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()


def _digits_of(spec: Spec, device: torch.device) -> AbstractContextManager[object]:
    """The same, where there are operations that autocast knows: kernels have none."""
    of_kernels = spec.backend == "cpu" and spec.diagonal
    return nullcontext() if of_kernels else full_precision(device)


F = TypeVar("F", bound=type[torch.autograd.Function])


def known_signature(function: F) -> F:
    """Write down how `forward` is called, which `apply` would find out anew each time."""
    forward: Any = function.forward
    forward.__signature__ = inspect.signature(forward)
    return function


class _Factorize(torch.autograd.Function):
    """Opaque to autograd; a Function only so that `torch.func` transforms see through it."""

    @staticmethod
    def forward(spec: Spec, parent: Tensor, *blocks: Tensor) -> tuple[Tensor, ...]:
        A, B, C = blocks
        backend = backends.get(spec.backend)
        return tuple(backend.factorize(plan_for(parent), (A, B, C), spec.diagonal))

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple[Any, ...], output: tuple[Tensor]) -> None:
        ctx.mark_non_differentiable(*output)

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor) -> tuple[None, ...]:
        return (None,) * 5

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], spec: Spec, *tensors: Tensor) -> Any:
        parent, *blocks = tensors
        blocks = ops.batched_together(info.batch_size, in_dims[2:], blocks)
        factor = _Factorize.apply(spec, parent, *blocks)
        return factor, (0,) * len(factor)


@known_signature
class _Solve(torch.autograd.Function):
    @staticmethod
    def forward(spec: Spec, parent: Tensor, *tensors: Tensor) -> Tensor:
        A, B, C, u, *factor = tensors
        backend = backends.get(spec.backend)
        return backend.substitute(
            plan_for(parent), (A, B, C), factor, u, spec.diagonal, spec.adjoint
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.spec, parent, A, B, C, _, *factor = inputs
        ctx.save_for_backward(parent, A, B, C, output, *factor)
        ctx.save_for_forward(parent, A, B, C, output, *factor)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        parent, A, B, C, x, *factor = ctx.saved_tensors
        needs_blocks = any(ctx.needs_input_grad[2:5])
        gradients = adjoint_rule(parent, (A, B, C), factor, x, grad, ctx.spec, needs_blocks)
        return None, None, *gradients, *(None for _ in factor)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        parent, A, B, C, x, *factor = ctx.saved_tensors
        u_dot = tangents[5]
        A_dot, B_dot, C_dot = (
            torch.zeros_like(block) if dot is None else dot
            for block, dot in zip((A, B, C), tangents[2:5], strict=True)
        )
        with full_precision(x.device):
            T_dot = (A_dot, B_dot, C_dot)
            right = -multiply(parent, T_dot, x, ctx.spec.diagonal, ctx.spec.adjoint)
        right = right if u_dot is None else right + u_dot
        return solve(parent, (A, B, C), factor, right, ctx.spec)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], spec: Spec, *tensors: Tensor) -> Any:
        parent, A, B, C, u, *factor = tensors
        dims = (*in_dims[2:5], *in_dims[6:])
        A, B, C, *factor = ops.batched_together(info.batch_size, dims, [A, B, C, *factor])
        (u,) = ops.batched_together(info.batch_size, in_dims[5:6], [u], expand=True)
        return _Solve.apply(spec, parent, A, B, C, u, *factor), 0


class _SolveOnce(torch.autograd.Function):
    """`_Solve` where no transform looks on: the factor is made on the way."""

    @staticmethod
    def forward(ctx: Any, spec: Spec, parent: Tensor, *tensors: Tensor) -> Tensor:
        A, B, C, u = tensors
        backend = backends.get(spec.backend)
        x, factor = backend.solve(plan_for(parent), (A, B, C), u, spec.diagonal, keep=True)
        ctx.spec = spec
        ctx.save_for_backward(parent, A, B, C, x, *factor)
        return x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        parent, A, B, C, x, *factor = ctx.saved_tensors
        needs_blocks = any(ctx.needs_input_grad[2:5])
        gradients = adjoint_rule(parent, (A, B, C), factor, x, grad, ctx.spec, needs_blocks)
        return None, None, *gradients


def adjoint_rule(
    parent: Tensor,
    blocks: Blocks,
    factor: list[Tensor],
    x: Tensor,
    grad: Tensor,
    spec: Spec,
    needs_blocks: bool,
) -> tuple[Tensor | None, ...]:
    """Gradients of A, B, C and u from that of x; the blocks may be as `solve_once` takes them."""
    plain = not ops.traced(x) and plain_values(grad, x, *blocks)
    if needs_blocks and plain and not spec.adjoint:
        with _digits_of(spec, x.device):
            plan = plan_for(parent)
            products, lam = backends.adjoint(
                spec.backend, plan, blocks, factor, grad, x, spec.diagonal
            )
            return *products, lam
    given, blocks = blocks, _edges_only(parent, blocks, spec.diagonal)
    A, B, C, *factor = with_axes_of(x, blocks[0], (*blocks, *factor))
    blocks = A, B, C
    lam = solve(parent, blocks, factor, grad, spec._replace(adjoint=not spec.adjoint))
    if not needs_blocks:
        return None, None, None, lam
    left, right = (x, lam) if spec.adjoint else (lam, x)
    with full_precision(x.device):
        if ops.traced(x):
            products = ops.gradients(parent, left, right, *blocks, spec.diagonal, spec.backend)
        elif plain_values(left, right, *blocks):
            backend = backends.get(spec.backend)
            products = backend.gradients(plan_for(parent), left, right, blocks, spec.diagonal)
        else:
            products = block_gradients(parent, left, right, blocks, spec.diagonal)
        return *_in_shapes_of(given, products, spec.diagonal), lam


def _in_shapes_of(blocks: Blocks, gradients: Blocks, diagonal: bool) -> Blocks:
    filled = with_roots(gradients, blocks, diagonal)
    A, B, C = (t.reshape(block.shape) for t, block in zip(filled, blocks, strict=True))
    return A, B, C


def _edges_only(parent: Tensor, blocks: Blocks, diagonal: bool) -> Blocks:
    """The blocks without rows of roots, which none has unless there is a plan for `parent`."""
    nodes = blocks[0].ndim - (2 if diagonal else 3)
    if all(t.shape[nodes] < len(parent) for t in blocks[1:]):
        return blocks
    return without_roots(blocks, plan_for(parent).tree.num_edges, diagonal)


def plain_values(*tensors: Tensor) -> bool:
    """Whether nobody differentiates or batches what is done with these tensors.

    Then what would be a `Function` can be called directly, which costs much less.
    """
    return not (_wanted(*tensors) or transformed(*tensors))


def _wanted(*tensors: Tensor) -> bool:
    """Whether somebody may ask for gradients in these tensors."""
    return torch.is_grad_enabled() and any(t.requires_grad for t in tensors)


def transformed(*tensors: Tensor) -> bool:
    """Whether a transform differentiates forwards, or batches, what is done with these tensors."""
    if torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0:
        return True
    return ops.legacy_batched(*tensors)


def _op_setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    parent, A, B, C, factor, _, *spec = inputs
    ctx.spec = Spec(*spec)
    ctx.save_for_backward(parent, A, B, C, output, *factor)


def _op_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    parent, A, B, C, x, *factor = ctx.saved_tensors
    needs_blocks = any(ctx.needs_input_grad[1:4])
    *block_grads, u_grad = adjoint_rule(parent, (A, B, C), factor, x, grad, ctx.spec, needs_blocks)
    return None, *block_grads, [None] * len(factor), u_grad, None, None, None


ops.solve.register_autograd(_op_backward, setup_context=_op_setup_context)
