"""The two steps of a solve as registered operators.

Compiled and exported graphs see these as single nodes: nothing inside is traced, the tree travels
as its tensor of parents, and shapes are known without running anything. Eager code does not come
here.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from myosotis.linalg import backends
from myosotis.linalg.plan import plan_for

__all__ = [
    "batched_together",
    "factorize",
    "gradients",
    "lazy_conjugation",
    "legacy_batched",
    "num_fill",
    "solve",
    "traced",
]


def traced(*tensors: Tensor) -> bool:
    """Whether values of `tensors` are out of reach, so that the registered operator is due."""
    if torch.compiler.is_compiling():
        return True
    # Neither a tensor nor a parameter: a fake or functional tensor.
    return any(t.is_meta or type(t) not in (Tensor, torch.nn.Parameter) for t in tensors)


def legacy_batched(*tensors: Tensor) -> bool:
    """Whether some of `tensors` are inside `autograd.grad(is_grads_batched=True)` or its like.

    That older vmap knows neither the rules of Functions nor those of registered operators with
    lists, but every plain torch operation.
    """
    if torch.compiler.is_compiling():
        return False
    return any(map(torch._C._functorch.is_legacy_batchedtensor, tensors))


@contextmanager
def lazy_conjugation() -> Iterator[None]:
    """Let `conj` mean what it means everywhere else.

    A compiled graph calls its operators with torch's handling of lazily conjugated and negated
    tensors switched off; operations inside them would take such tensors for what they are not.
    """
    key, keys = torch._C.DispatchKey, torch._C.DispatchKeySet
    off = torch._C._dispatch_tls_local_exclude_set()
    off = off - keys(key.Conjugate) - keys(key.Negative)
    with torch._C._ForceDispatchKeyGuard(torch._C._dispatch_tls_local_include_set(), off):
        yield


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def num_fill(parent: Tensor) -> int:
    """`Plan.num_fill` as a constant of the graph."""
    return plan_for(parent).num_fill


@torch.library.custom_op("myosotis::factorize", mutates_args=())
def factorize(
    parent: Tensor,
    A: Tensor,
    B: Tensor,
    C: Tensor,
    diagonal: bool,
    backend: str,
    num_fill: int,
) -> list[Tensor]:
    """The factor of T as a list of tensors."""
    with lazy_conjugation():
        # Contiguous, because graphs are built on the strides that the fake below promises.
        factor = backends.get(backend).factorize(plan_for(parent), (A, B.contiguous(), C), diagonal)
        return [t.contiguous() for t in factor]


@factorize.register_fake
def _(
    parent: Tensor,
    A: Tensor,
    B: Tensor,
    C: Tensor,
    diagonal: bool,
    backend: str,
    num_fill: int,
) -> list[Tensor]:
    return backends.get(backend).empty_factor((A, B, C), num_fill, diagonal)


@torch.library.custom_op("myosotis::solve", mutates_args=())
def solve(
    parent: Tensor,
    A: Tensor,
    B: Tensor,
    C: Tensor,
    factor: Sequence[Tensor],
    u: Tensor,
    diagonal: bool,
    adjoint: bool,
    backend: str,
) -> Tensor:
    """T⁻¹ u, or T^-H u."""
    with lazy_conjugation():
        return backends.get(backend).substitute(
            plan_for(parent), (A, B, C), list(factor), u, diagonal, adjoint
        )


@solve.register_fake
def _(
    parent: Tensor,
    A: Tensor,
    B: Tensor,
    C: Tensor,
    factor: Sequence[Tensor],
    u: Tensor,
    diagonal: bool,
    adjoint: bool,
    backend: str,
) -> Tensor:
    return u.new_empty(u.shape)


@torch.library.custom_op("myosotis::gradients", mutates_args=())
def gradients(
    parent: Tensor,
    left: Tensor,
    right: Tensor,
    A: Tensor,
    B: Tensor,
    C: Tensor,
    diagonal: bool,
    backend: str,
) -> tuple[Tensor, Tensor, Tensor]:
    """−left right^H where T has its blocks, summed to their shapes."""
    with lazy_conjugation():
        return backends.get(backend).gradients(plan_for(parent), left, right, (A, B, C), diagonal)


@gradients.register_fake
def _(
    parent: Tensor,
    left: Tensor,
    right: Tensor,
    A: Tensor,
    B: Tensor,
    C: Tensor,
    diagonal: bool,
    backend: str,
) -> tuple[Tensor, Tensor, Tensor]:
    return A.new_empty(A.shape), B.new_empty(B.shape), C.new_empty(C.shape)


def batched_together(
    size: int, dims: Sequence[int | None], tensors: Sequence[Tensor], *, expand: bool = False
) -> list[Tensor]:
    """Move a vmapped axis to the front; where none of the tensors has one, add one of size 1.

    Tensors that belong together (a matrix and its factor) must agree in their batch axes, so as
    soon as one of them has the axis, or with `expand`, all of them get it in full.
    """
    full = expand or any(dim is not None for dim in dims)
    fronts = [
        t.unsqueeze(0) if dim is None else t.movedim(dim, 0)
        for t, dim in zip(tensors, dims, strict=True)
    ]
    return [t.expand(size, *t.shape[1:]) for t in fronts] if full else fronts


@factorize.register_vmap
def _(info: Any, in_dims: tuple[Any, ...], parent: Tensor, *args: Any) -> Any:
    blocks = batched_together(info.batch_size, in_dims[1:4], args[:3])
    factor = factorize(parent, *blocks, *args[3:])
    return factor, [0] * len(factor)


@solve.register_vmap
def _(info: Any, in_dims: tuple[Any, ...], parent: Tensor, *args: Any) -> Any:
    A, B, C, factor, u, *spec = args
    dims = (*in_dims[1:4], *in_dims[4])
    A, B, C, *factor = batched_together(info.batch_size, dims, [A, B, C, *factor])
    (u,) = batched_together(info.batch_size, in_dims[5:6], [u], expand=True)
    return solve(parent, A, B, C, factor, u, *spec), 0
