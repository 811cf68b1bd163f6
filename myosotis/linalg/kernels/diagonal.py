"""Diagonal blocks: from tensors to the compiled sweeps and back."""

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from myosotis.linalg.apply import Blocks
from myosotis.linalg.kernels import diagonal_sweeps, scalar_sweeps
from myosotis.linalg.kernels.arguments import (
    address,
    empty,
    in_memory,
    own_rows,
    systems_of,
    tree_arrays,
    unit_of,
    unsigned,
    width_of,
)
from myosotis.linalg.kernels.threads import run_on_threads, spans
from myosotis.linalg.singular import raise_if_singular
from myosotis.tree import Tree

__all__ = [
    "CHUNK",
    "empty_factor",
    "factorize",
    "gradients",
    "slogdet",
    "solve_sweep",
    "substitute",
]

_LARGE = 1 << 24  # bytes of a solution that will not stay in the caches anyway
_GROUP = 8  # systems that go through the tree together; flat between 4 and 12 when measured
CHUNK = 64  # nodes whose gradients are summed together
_CHANNELS = 32  # channels are split between threads at multiples of this


def factorize(tree: Tree, blocks: Blocks) -> list[Tensor]:
    """[1/â, −b/â, −c/â], each in the shape of its block."""
    a, b, c = (in_memory(t) for t in blocks)
    inverse, down, up = empty(a).copy_(a), empty(b), empty(c)
    (L, H), E = a.shape[-2:], b.shape[-2]

    def eliminate(low: int, high: int, first: int, last: int) -> bool:
        if H == 1:
            flat = [t.view(-1).numpy() for t in (b, c, inverse, down, up)]
            singular = scalar_sweeps.eliminate(tree_arrays(tree), *flat, *unsigned(first, last))
        else:
            tables = tuple(address(t, low) for t in (inverse, b, c, down, up))
            sizes = unsigned(E, width_of(a), H, low, high, first, last)
            arguments = tree_arrays(tree), unit_of(a.dtype), tables, inverse.view(-1).numpy()
            singular = diagonal_sweeps.eliminate(*arguments, *sizes)
        return bool(singular)

    if any(_over_systems_or_channels(eliminate, prod(a.shape[:-2]), L, H)):
        singular = ~inverse.isfinite()
        raise_if_singular(tree, singular.movedim(-2, 0), diagonal=True, ordered=True)
    return [inverse, down, up]


def empty_factor(blocks: Blocks) -> list[Tensor]:
    """Uninitialised tensors of the shapes that `factorize` returns."""
    return [t.new_empty(t.shape) for t in blocks]


def substitute(tree: Tree, factor: list[Tensor], u: Tensor, adjoint: bool) -> Tensor:
    """Solve T x = u, or T^H x = u, for x. u (*batch, L, h)."""
    inverse, down, up = factor
    if adjoint:
        down, up = up, down
    if u.shape[-1] == 1:
        return _scalar_sweep(tree, (inverse, down, up), adjoint, u)
    sign = -1 if adjoint else 1
    return solve_sweep(tree, (inverse, down, up), (sign, sign, sign), own_rows(tree), u)


def solve_sweep(
    tree: Tree, tables: Blocks, signs: tuple[int, int, int], rows: NDArray[np.uint64], u: Tensor
) -> Tensor:
    """x_v = inverse_v ũ_v + down_v x_p with ũ_p = u_p + Σ_c up_c ũ_c.

    tables: inverse, down, up (*batch, rows, h or 1), node v reading row rows[v]; each conjugated
    where its sign is −1. u (*batch, L, h).
    """
    u = in_memory(u)
    L, H = u.shape[-2:]
    inverse, down, up = (in_memory(t) for t in tables)
    x = empty(u)
    system = systems_of(inverse.shape[:-2], u.shape[:-2])
    sizes = unsigned(inverse.shape[-2], down.shape[-2], width_of(inverse))
    one = None if inverse.shape[-1] == H else True
    aligned = width_of(u) % 64 == 0 and x.data_ptr() % 64 == 0
    away = aligned and x.numel() * x.element_size() >= _LARGE
    unit = unit_of(u.dtype)
    unit_signs = tuple(unit.real.dtype.type(sign) for sign in signs)

    def sweep(low: int, high: int, first: int, last: int) -> None:
        tables = tuple(address(t, 0 if one else low) for t in (inverse, down, up))
        sharing, ends = (system, rows, *sizes, one), (address(u, low), address(x, low))
        numbers = unsigned(width_of(u), high - low, first, last, _GROUP)
        arguments = tree_arrays(tree), unit, tables, sharing, unit_signs
        diagonal_sweeps.sweep(*arguments, *ends, *numbers, away)

    _over_systems_or_channels(sweep, prod(u.shape[:-2]), L, H)
    return x


def _scalar_sweep(tree: Tree, tables: Blocks, adjoint: bool, u: Tensor) -> Tensor:
    """The same for one channel and one row of coefficients per node."""
    x = in_memory(u).clone()
    system = systems_of(tables[0].shape[:-2], u.shape[:-2])
    inverse, down, up, solution = (in_memory(t).view(-1).numpy() for t in (*tables, x))

    def sweep(first: int, last: int) -> None:
        arguments = tree_arrays(tree), system, inverse, down, up, adjoint, solution
        scalar_sweeps.sweep(*arguments, *unsigned(first, last))

    run_on_threads(sweep, spans(len(system), u.numel()))
    return x


def gradients(tree: Tree, left: Tensor, right: Tensor, blocks: Blocks) -> Blocks:
    """−left right^H where T has its blocks, summed to their shapes."""
    left, right = in_memory(left), in_memory(right)
    (L, H), E = left.shape[-2:], blocks[1].shape[-2]
    products = [t.new_zeros(*t.shape[:-1], H) for t in blocks]
    addresses = tuple(address(t) for t in products)
    system = systems_of(blocks[0].shape[:-2], left.shape[:-2])
    ends = address(left), address(right)

    def outer(first: int, last: int) -> None:
        sizes = unsigned(E, width_of(left), H, first, last, CHUNK)
        diagonal_sweeps.outer(
            tree_arrays(tree)[0], unit_of(left.dtype), system, *ends, addresses, *sizes
        )

    run_on_threads(outer, spans(L, left.numel(), CHUNK))
    A, B, C = (t.sum_to_size(block.shape) for t, block in zip(products, blocks, strict=True))
    return A, B, C


def slogdet(factor: list[Tensor]) -> tuple[Tensor, Tensor]:
    """(Sign, log|det T|), each (*batch, h)."""
    inverse = factor[0]
    return inverse.conj().sgn().prod(-2), -inverse.abs().log().sum(-2)


def _over_systems_or_channels(task: Any, systems: int, L: int, H: int) -> list[Any]:
    """Run task(low channel, high channel, first system, last system) on all threads.

    Whole systems are dealt out if there are enough of them, blocks of channels otherwise.
    """
    pieces = spans(systems, systems * L * H)
    if len(pieces) > 1 or systems > 1:
        return run_on_threads(lambda first, last: task(0, H, first, last), pieces)
    pieces = spans(H, systems * L * H, _CHANNELS)
    return run_on_threads(lambda low, high: task(low, high, 0, systems), pieces)
