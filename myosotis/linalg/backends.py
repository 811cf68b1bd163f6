"""The implementations of factor-and-substitute, and the choice between them."""

from typing import Protocol

from torch import Tensor

from myosotis.errors import ConfigError
from myosotis.linalg import rounds
from myosotis.linalg.apply import Blocks
from myosotis.linalg.plan import Plan

__all__ = ["Backend", "available", "choose", "get"]


class Backend(Protocol):
    """A module that solves tree systems. All tensors have their batch axes first.

    Blocks are A (*batch, L, block), B and C (*batch, E, block) with one batch shape, of as many
    axes as that of u and equal to it or 1 in each. The factor is a list of tensors that only the
    backend itself reads, each with the same leading batch axes.
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

    def slogdet(self, factor: list[Tensor], diagonal: bool) -> tuple[Tensor, Tensor]:
        """(Sign, log|det T|), (*batch) for dense blocks and (*batch, h) for diagonal ones."""
        ...


_BACKENDS: dict[str, Backend] = {"torch": rounds}


def available() -> dict[str, str]:
    """Names of the backends and what each of them is."""
    return {"torch": "vectorised rounds in plain torch operations, any device"}


def get(name: str) -> Backend:
    """The backend called `name`."""
    return _BACKENDS[name]


def choose(requested: str | None, A: Tensor, diagonal: bool) -> str:
    """The backend for these tensors: `requested`, or else the fastest that takes them."""
    if requested is None:
        return "torch"
    if requested not in _BACKENDS:
        names = ", ".join(sorted(_BACKENDS))
        raise ConfigError(f"backend={requested!r} does not exist; choose one of {names}")
    return requested
