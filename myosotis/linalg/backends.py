"""The implementations of factor-and-substitute, and the choice between them."""

from functools import lru_cache
from typing import Protocol

from torch import Tensor

from myosotis.errors import ConfigError
from myosotis.linalg import reference_backend, rounds
from myosotis.linalg.apply import Blocks
from myosotis.linalg.plan import Plan

__all__ = ["Backend", "adjoint", "available", "choose", "get"]


class Backend(Protocol):
    """A module that solves tree systems. All tensors have their batch axes first.

    Blocks are A (*batch, L, block), B and C (*batch, E, block) with one batch shape, of as many
    axes as that of u and equal to it or 1 in each. The factor is a list of tensors that only the
    backend itself reads, each with the same leading batch axes. If blocks are diagonal, `cpu` lets
    B and C have rows for roots as well, and blocks and factor fewer batch axes than u.
    """

    def factorize(self, plan: Plan, blocks: Blocks, diagonal: bool) -> list[Tensor]:
        """Eliminate; raise `SingularBlockError` if that is impossible."""
        ...

    def empty_factor(self, blocks: Blocks, num_fill: int, diagonal: bool) -> list[Tensor]:
        """Uninitialised tensors of the shapes that `factorize` returns."""
        ...

    def substitute(
        self,
        plan: Plan,
        blocks: Blocks,
        factor: list[Tensor],
        u: Tensor,
        diagonal: bool,
        adjoint: bool,
    ) -> Tensor:
        """Solve T x = u, or T^H x = u, for x."""
        ...

    def solve(
        self, plan: Plan, blocks: Blocks, u: Tensor, diagonal: bool, keep: bool
    ) -> tuple[Tensor, list[Tensor]]:
        """Solve T x = u in one go. The blocks may lack some of the first batch axes of u.

        Returns x and the factor, which may be anything unless the caller wants to keep it.
        """
        ...

    def gradients(
        self, plan: Plan, left: Tensor, right: Tensor, blocks: Blocks, diagonal: bool
    ) -> Blocks:
        """−left right^H where T has its blocks, summed to their shapes."""
        ...

    def slogdet(self, factor: list[Tensor], diagonal: bool) -> tuple[Tensor, Tensor]:
        """(Sign, log|det T|), (*batch) for dense blocks and (*batch, h) for diagonal ones."""
        ...


LARGEST_KERNEL_BLOCK = 16  # above this, batched LAPACK calls are faster

_DESCRIPTIONS = {
    "cpu": "compiled sweeps over nodes (Numba), CPU tensors",
    "reference": "the equations node by node, slow",
    "torch": "vectorised rounds in plain torch operations, any device",
}


def available() -> dict[str, str]:
    """Names of the backends and what each of them is.

    Example:
        >>> from myosotis.linalg import backends
        >>> sorted(backends.available())
        ['cpu', 'reference', 'torch']
    """
    return dict(_DESCRIPTIONS)


@lru_cache(maxsize=4)
def get(name: str) -> Backend:
    """The backend called `name`; kernels are imported, and compiled, only when first asked for."""
    if name == "cpu":
        from myosotis.linalg.kernels import cpu

        return cpu
    return {"torch": rounds, "reference": reference_backend}[name]


def adjoint(
    name: str,
    plan: Plan,
    blocks: Blocks,
    factor: list[Tensor],
    g: Tensor,
    x: Tensor,
    diagonal: bool,
) -> tuple[Blocks, Tensor]:
    """−λ x^H where T has its blocks, summed to their shapes, and λ = T^-H g.

    In one go where the backend called `name` can do that.
    """
    if name == "cpu" and diagonal:
        from myosotis.linalg.kernels import shared

        found = shared.adjoint(plan.tree, blocks, factor, g, x)
        if found is not None:
            return found
    backend = get(name)
    lam = backend.substitute(plan, blocks, factor, g, diagonal, True)
    return backend.gradients(plan, lam, x, blocks, diagonal), lam


def choose(requested: str | None, A: Tensor, diagonal: bool) -> str:
    """The backend for these blocks: `requested`, or else the fastest that takes them."""
    takes_cpu = A.device.type == "cpu" and (diagonal or A.shape[-1] <= LARGEST_KERNEL_BLOCK)
    if requested is None:
        return "cpu" if takes_cpu else "torch"
    if requested not in _DESCRIPTIONS:
        names = ", ".join(map(repr, _DESCRIPTIONS))
        raise ConfigError(f"backend={requested!r} does not exist; choose one of {names}")
    if requested == "cpu" and not takes_cpu:
        raise ConfigError(
            f"backend='cpu' takes CPU tensors with blocks up to {LARGEST_KERNEL_BLOCK}; these are "
            f"of size {A.shape[-1]} on {A.device}. Leave backend out, or use 'torch'"
        )
    return requested
