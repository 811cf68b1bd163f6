"""The positive-definite family on the CPU: its coefficients are the factor, read in place."""

from math import prod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from myosotis.linalg.kernels import gradient_sweeps, table_sweeps
from myosotis.linalg.kernels.arguments import (
    addresses,
    in_memory,
    own_rows,
    systems_of,
    tree_arrays,
    unit_of,
    unsigned,
    width_of,
)
from myosotis.linalg.kernels.diagonal import Sums, solve_sweep
from myosotis.linalg.kernels.pieces import by_node, by_sum, crowd, fixed_systems
from myosotis.linalg.kernels.threads import run_on_threads, spans
from myosotis.linalg.singular import raise_if_singular
from myosotis.tree import Tree

__all__ = ["adjoint", "gradients", "solve"]

_SHARED = 8  # nodes to a row, on average


def solve(tree: Tree, rows: Tensor, a: Tensor, d: Tensor, u: Tensor) -> Tensor:
    """x_v = y_v / d_v + ā_v x_p with y_p = u_p + Σ_c a_c y_c."""
    return _solve(tree, rows, a, d, u, None)


def _solve(tree: Tree, rows: Tensor, a: Tensor, d: Tensor, u: Tensor, sums: Sums | None) -> Tensor:
    inverse = _inverse(tree, rows, a, d)
    return solve_sweep(tree, (inverse, a, a), (None, -1, 1), _unsigned_rows(rows), u, sums)


def _inverse(tree: Tree, rows: Tensor, a: Tensor, d: Tensor) -> Tensor:
    """1/d, in place of both parts where a is complex."""
    inverse, zero = torch.empty(d.shape, dtype=a.dtype).copy_(d), np.zeros(1, dtype=np.uint8)
    parts, pieces = 2 if a.is_complex() else 1, spans(d.numel(), d.numel())
    flat = _real(inverse).reshape(-1)
    run_on_threads(table_sweeps.invert, pieces, flat, np.uint64(parts), zero)
    if zero[0]:
        flags = (d == 0).index_select(-2, rows)
        raise_if_singular(tree, flags.movedim(-2, 0), diagonal=True, ordered=True)
    return inverse


def adjoint(
    tree: Tree, rows: Tensor, a: Tensor, d: Tensor, g: Tensor, x: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """∂a, ∂d and λ = T⁻¹ g from g and x (*full, L, h), in one go where nodes share coefficients."""
    systems, H = prod(x.shape[:-2]), x.shape[-1]
    one_matrix = prod(a.shape[:-2]) == 1 and a.shape[-1] == H
    if systems == 1 or not one_matrix or not _rows_shared(tree, a):
        lam = solve(tree, rows, a, d, g)
        return *gradients(tree, rows, a, d, lam, x), lam
    pieces = fixed_systems(systems, H)
    totals = x.new_zeros(len(pieces), a.shape[-2], gradient_sweeps.SUMS, H)
    lam = _solve(tree, rows, a, d, g, Sums(in_memory(x), totals, pieces))
    a_sum, d_sum = (t.view(a.shape) for t in _finished(totals))
    return a_sum * d, d_sum, lam


def gradients(
    tree: Tree, rows: Tensor, a: Tensor, d: Tensor, lam: Tensor, x: Tensor
) -> tuple[Tensor, Tensor]:
    """∂a and ∂d, in their shapes, from λ and x (*full, L, h)."""
    lam, x = in_memory(lam), in_memory(x)
    (*full, L, H), (*batch, R, _) = x.shape, a.shape
    table = in_memory(a.expand(*batch, R, H))
    row = _unsigned_rows(rows)
    if _rows_shared(tree, a):
        pieces, target, targets = by_sum(prod(full), L), row, R
        totals = x.new_zeros(len(pieces), *batch, R, gradient_sweeps.SUMS, H)
    else:
        pieces, target, targets = by_node(x), own_rows(tree), L
        totals = x.new_zeros(1, *batch, L, gradient_sweeps.SUMS, H)
    run_on_threads(
        gradient_sweeps.factored_outer,
        pieces,
        tree_arrays(tree)[0],
        unit_of(x.dtype),
        (systems_of(a.shape[:-2], x.shape[:-2]), row, *unsigned(R)),
        (target, *unsigned(targets)),
        addresses(table, lam, x),
        *addresses(totals),
        *unsigned(totals[0].numel() * totals.element_size(), width_of(x), x.element_size()),
        np.uint64(crowd(width_of(x)) if targets == L else L),
    )
    a_sum, d_sum = _finished(totals)
    if targets == L and not torch.equal(rows, torch.arange(R)):
        a_sum, d_sum = (_collect(t, rows, R) for t in (a_sum, d_sum))
    return (a_sum * d).sum_to_size(a.shape), d_sum.sum_to_size(d.shape)


def _rows_shared(tree: Tree, a: Tensor) -> bool:
    """Whether so many nodes share a row that sums are kept by row, and not by node."""
    return tree.num_nodes >= _SHARED * a.shape[-2]


def _finished(totals: Tensor) -> tuple[Tensor, Tensor]:
    """Σ η̄ x_p + λ_p ξ̄ and −Σ Re η ξ̄ from sums (tables, …, 3, h) of their parts."""
    tables, *shape, sums, h = totals.shape
    rows, parts = prod(shape), 2 if totals.is_complex() else 1
    a_sum = totals.new_empty(*shape, h)
    d_sum = torch.empty(a_sum.shape, dtype=totals.dtype.to_real())
    run_on_threads(
        table_sweeps.add_up,
        spans(rows, totals.numel()),
        _real(totals).reshape(tables, rows, sums, h * parts),
        np.uint64(parts),
        _real(a_sum).reshape(rows, h * parts),
        _real(d_sum).reshape(rows, h),
    )
    return a_sum, d_sum


def _real(t: Tensor) -> NDArray[Any]:
    """The real numbers that a tensor consists of, which is in memory."""
    array: NDArray[Any] = t.numpy()
    return array.view(array.real.dtype)


def _collect(values: Tensor, rows: Tensor, size: int) -> Tensor:
    """Sum the nodes of each row of the table: (*batch, L, h) -> (*batch, R, h)."""
    table = values.new_zeros(*values.shape[:-2], size, values.shape[-1])
    return table.index_add_(-2, rows, values)


def _unsigned_rows(rows: Tensor) -> NDArray[np.uint64]:
    array: NDArray[Any] = rows.numpy()
    return array.view(np.uint64)
