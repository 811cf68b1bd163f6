"""The CPU backend: tensors in, addresses to the kernels, tensors out.

A sequential sweep over the nodes, vectorised over channels and parallel over systems, needs no
schedule and no index tensors, and treats every tree alike.
"""

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from myosotis.linalg.apply import Blocks
from myosotis.linalg.kernels import diagonal as kernels
from myosotis.linalg.kernels.threads import run_split, spans
from myosotis.linalg.plan import Plan
from myosotis.linalg.singular import raise_if_singular
from myosotis.tree import Tree

__all__ = ["empty_factor", "factorize", "gradients", "slogdet", "substitute"]

_GROUP = 8  # systems that go through the tree together; flat between 4 and 12 when measured
_CHUNK = 64  # nodes whose gradients are summed together
_CHANNELS = 64  # channels are split between threads at multiples of this
_SMALL = 1 << 14  # elements below which a second thread costs more than it brings

Result = TypeVar("Result")


def factorize(plan: Plan, blocks: Blocks, diagonal: bool) -> list[Tensor]:
    """[1/â, −b/â, −c/â], each in the shape of its block."""
    a, b, c = (t.contiguous() for t in blocks)
    inverse, down, up = a.clone(), torch.empty_like(b), torch.empty_like(c)
    pivots = inverse.view(-1).numpy()
    (L, H), E = a.shape[-2:], b.shape[-2]

    def eliminate(low: int, high: int, first: int, last: int) -> bool:
        tables = tuple(_address(t, low) for t in (inverse, b, c, down, up))
        sizes = _unsigned(E, _width(a), H, low, high, first, last)
        singular = kernels.eliminate(_tree_arrays(plan.tree), _unit(a), tables, pivots, *sizes)
        return bool(singular)

    if any(_parallel(eliminate, prod(a.shape[:-2]), L, H)):
        singular = ~inverse.isfinite()
        raise_if_singular(plan.tree, singular.movedim(-2, 0), diagonal=True, ordered=True)
    return [inverse, down, up]


def empty_factor(blocks: Blocks, num_fill: int, diagonal: bool) -> list[Tensor]:
    """Uninitialised tensors of the shapes that `factorize` returns."""
    return [t.new_empty(t.shape) for t in blocks]


def substitute(
    plan: Plan,
    blocks: Blocks,
    factor: list[Tensor],
    u: Tensor,
    diagonal: bool,
    adjoint: bool,
) -> Tensor:
    """Solve T x = u, or T^H x = u, for x. u (*batch, L, h)."""
    inverse, down, up = factor
    if adjoint:
        down, up = up, down
    sign = -1 if adjoint else 1
    rows = np.arange(plan.tree.num_nodes, dtype=np.uint64)
    return solve_sweep(plan, (inverse, down, up), (sign, sign, sign), rows, u)


def solve_sweep(
    plan: Plan,
    tables: Blocks,
    signs: tuple[int, int, int],
    rows: np.ndarray[Any, np.dtype[np.uint64]],
    u: Tensor,
) -> Tensor:
    """x_v = inverse_v ũ_v + down_v x_p with ũ_p = u_p + Σ_c up_c ũ_c.

    tables: inverse, down, up (*batch, rows, h or 1), node v reading row rows[v]; each conjugated
    where its sign is −1. u (*batch, L, h).
    """
    u = u.contiguous()
    L, H = u.shape[-2:]
    inverse, down, up = (t.expand(*t.shape[:-1], H).contiguous() for t in tables)
    x = torch.empty_like(u)
    sharing = (_systems(inverse, u), rows, *_unsigned(inverse.shape[-2], down.shape[-2]))
    unit = _unit(u)
    unit_signs = tuple(unit.real.dtype.type(sign) for sign in signs)

    def sweep(low: int, high: int, first: int, last: int) -> None:
        addresses = tuple(_address(t, low) for t in (inverse, down, up))
        sizes = _unsigned(_width(u), high - low, first, last, _GROUP)
        arrays = _tree_arrays(plan.tree)
        ends = _address(u, low), _address(x, low)
        kernels.sweep(arrays, unit, addresses, sharing, unit_signs, *ends, *sizes)

    _parallel(sweep, prod(u.shape[:-2]), L, H)
    return x


def gradients(plan: Plan, left: Tensor, right: Tensor, blocks: Blocks, diagonal: bool) -> Blocks:
    """−left right^H where T has its blocks, summed to their shapes."""
    left, right = left.contiguous(), right.contiguous()
    (L, H), E = left.shape[-2:], blocks[1].shape[-2]
    products = [t.new_zeros(*t.shape[:-1], H) for t in blocks]
    addresses = tuple(_address(t) for t in products)
    system, parent = _systems(blocks[0], left), _tree_arrays(plan.tree)[0]
    ends = _address(left), _address(right)

    def outer(first: int, last: int) -> None:
        sizes = _unsigned(E, _width(left), H, len(system), first, last, _CHUNK)
        kernels.outer(parent, _unit(left), system, *ends, addresses, *sizes)

    threads = torch.get_num_threads() if left.numel() > _SMALL else 1
    run_split(outer, spans(L, threads, _CHUNK))
    A, B, C = (t.sum_to_size(block.shape) for t, block in zip(products, blocks, strict=True))
    return A, B, C


def slogdet(factor: list[Tensor], diagonal: bool) -> tuple[Tensor, Tensor]:
    """(Sign, log|det T|), each (*batch, h)."""
    inverse = factor[0]
    return inverse.conj().sgn().prod(-2), -inverse.abs().log().sum(-2)


def _parallel(
    task: Callable[[int, int, int, int], Result], systems: int, L: int, H: int
) -> list[Result]:
    """Run task(low channel, high channel, first system, last system) on all threads.

    Whole systems are dealt out if there are enough of them, blocks of channels otherwise.
    """
    threads = torch.get_num_threads() if systems * L * H > _SMALL else 1
    if systems >= threads:
        return run_split(lambda first, last: task(0, H, first, last), spans(systems, threads))
    return run_split(lambda low, high: task(low, high, 0, systems), spans(H, threads, _CHANNELS))


@lru_cache(maxsize=64)
def _tree_arrays(tree: Tree) -> tuple[np.ndarray[Any, Any], ...]:
    """(parent, first_child, num_children) as the kernels want them: unsigned, roots under L."""
    parent = np.where(tree.parent < 0, tree.num_nodes, tree.parent)
    return tuple(t.astype(np.uint64) for t in (parent, tree.first_child, tree.num_children))


def _systems(table: Tensor, u: Tensor) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """For each system of u (*batch, …) the one of the table that it uses."""
    batch = table.shape[:-2]
    numbers = np.arange(prod(batch), dtype=np.uint64).reshape(batch)
    return np.ascontiguousarray(np.broadcast_to(numbers, u.shape[:-2])).reshape(-1)


def _address(t: Tensor, element: int = 0) -> np.uint64:
    return np.uint64(t.data_ptr() + element * t.element_size())


def _width(t: Tensor) -> int:
    return t.shape[-1] * t.element_size()


def _unit(t: Tensor) -> Any:
    return torch.ones((), dtype=t.dtype).numpy()[()]


def _unsigned(*values: int) -> tuple[np.uint64, ...]:
    return tuple(np.uint64(value) for value in values)
