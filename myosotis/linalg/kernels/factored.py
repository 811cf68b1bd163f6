"""The positive-definite family on the CPU: its coefficients are the factor, read in place."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from myosotis.linalg.kernels import diagonal_sweeps
from myosotis.linalg.kernels.arguments import (
    addresses,
    in_memory,
    systems_of,
    tree_arrays,
    unit_of,
    unsigned,
    width_of,
)
from myosotis.linalg.kernels.diagonal import CHUNK, solve_sweep
from myosotis.linalg.kernels.threads import run_on_threads, spans
from myosotis.linalg.singular import raise_if_singular
from myosotis.tree import Tree

__all__ = ["gradients", "solve"]


def solve(tree: Tree, rows: Tensor, a: Tensor, d: Tensor, u: Tensor) -> Tensor:
    """x_v = y_v / d_v + ā_v x_p with y_p = u_p + Σ_c a_c y_c."""
    if (d == 0).any():
        zero = (d == 0).index_select(-2, rows)
        raise_if_singular(tree, zero.movedim(-2, 0), diagonal=True, ordered=True)
    inverse = d.reciprocal().to(a.dtype)
    return solve_sweep(tree, (inverse, a, a), (1, -1, 1), _unsigned_rows(rows), u)


def gradients(
    tree: Tree, rows: Tensor, a: Tensor, d: Tensor, lam: Tensor, x: Tensor
) -> tuple[Tensor, Tensor]:
    """∂a and ∂d, in their shapes, from λ and x (*full, L, h)."""
    lam, x = in_memory(lam), in_memory(x)
    L, H = x.shape[-2:]
    table = in_memory(a.expand(*a.shape[:-1], H))
    a_sum, d_sum = (x.new_zeros(*a.shape[:-2], L, H) for _ in range(2))
    system = systems_of(a.shape[:-2], x.shape[:-2])
    pieces = spans(L, x.numel(), least=CHUNK)
    run_on_threads(
        diagonal_sweeps.factored_outer,
        pieces,
        tree_arrays(tree)[0],
        unit_of(x.dtype),
        (system, _unsigned_rows(rows), *unsigned(a.shape[-2])),
        addresses(table, lam, x),
        addresses(a_sum, d_sum),
        *unsigned(width_of(x), x.element_size(), CHUNK),
    )
    if not torch.equal(rows, torch.arange(a.shape[-2])):  # else a row for each node
        a_sum, d_sum = (_collect(t, rows, table) for t in (a_sum, d_sum))
    if d_sum.is_complex():
        d_sum = torch.view_as_real(d_sum).sum(-1)
    return (a_sum * d).sum_to_size(a.shape), d_sum.sum_to_size(d.shape)


def _collect(values: Tensor, rows: Tensor, table: Tensor) -> Tensor:
    """Sum the nodes of each row of the table: (*batch, L, h) -> (*batch, R, h)."""
    return table.new_zeros(table.shape).index_add_(-2, rows, values)


def _unsigned_rows(rows: Tensor) -> NDArray[np.uint64]:
    array: NDArray[Any] = rows.numpy()
    return array.view(np.uint64)
