"""Small dense blocks: from tensors to the compiled sweeps and back."""

from math import prod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from myosotis.linalg.algebra import DENSE
from myosotis.linalg.apply import Blocks
from myosotis.linalg.kernels import dense_sweeps, interleaved_sweeps
from myosotis.linalg.kernels.arguments import (
    addresses,
    in_memory,
    rows_in_memory,
    systems_of,
    tree_arrays,
    unit_of,
    unsigned,
    width_of,
)
from myosotis.linalg.kernels.threads import run_on_threads, spans
from myosotis.linalg.kernels.vectors import LANES
from myosotis.linalg.singular import raise_if_singular
from myosotis.tree import Tree

__all__ = ["empty_factor", "factorize", "gradients", "slogdet", "solve", "substitute"]

_LEAST_INTERLEAVED = 8  # systems: with fewer, most of the vectors would be idle


def factorize(tree: Tree, blocks: Blocks) -> list[Tensor]:
    """[LU of Â with inverted diagonal, its row exchanges counted from 0, Â⁻¹ B]."""
    A, B, C = blocks
    lu, down, C = _copy(A), _copy(B), in_memory(C)
    d, E = A.shape[-1], B.shape[-3]
    swaps = torch.empty(A.shape[:-1], dtype=torch.int64)
    singular = torch.zeros(A.shape[:-2], dtype=torch.bool)
    run_on_threads(
        dense_sweeps.eliminate,
        spans(prod(A.shape[:-3]), A.numel() * d),
        tree_arrays(tree),
        unit_of(A.dtype),
        _flat(lu),
        _flat(down),
        addresses(lu, down, C),
        unsigned(E, d, A.element_size()),
        _flat(swaps).view(np.uint64),
        _flat(singular),
    )
    raise_if_singular(tree, singular.movedim(-1, 0), diagonal=False, ordered=True)
    return [lu, swaps, down]


def empty_factor(blocks: Blocks) -> list[Tensor]:
    """Uninitialised tensors of the shapes that `factorize` returns."""
    A, B, _ = blocks
    swaps = A.new_empty(A.shape[:-1], dtype=torch.int64)
    return [A.new_empty(A.shape), swaps, B.new_empty(B.shape)]


def substitute(
    tree: Tree, blocks: Blocks, factor: list[Tensor], u: Tensor, adjoint: bool
) -> Tensor:
    """Solve T x = u, or T^H x = u, for x. u (*batch, L, d, r)."""
    lu, swaps, down = (in_memory(t) for t in factor)
    u, C = in_memory(u), in_memory(blocks[2])
    x = torch.empty_like(u)
    d, r = u.shape[-2:]
    sides = prod(u.shape[:-3]) * r
    n = LANES if prod(lu.shape[:-3]) == 1 and sides > 1 else 1
    run_on_threads(
        dense_sweeps.substitute_adjoint if adjoint else dense_sweeps.substitute,
        spans(sides, x.numel() * d, multiple=n),
        tree_arrays(tree),
        unit_of(u.dtype),
        systems_of(lu.shape[:-3], u.shape[:-3]),
        addresses(lu, C, down),
        unsigned(C.shape[-3], d, r, n, u.element_size()),
        _flat(swaps).view(np.uint64),
        _flat(u),
        _flat(x),
    )
    return x


def solve(tree: Tree, blocks: Blocks, u: Tensor, keep: bool) -> tuple[Tensor, list[Tensor]]:
    """Solve T x = u. u (*batch, L, d, r); the blocks may lack some of its first axes.

    Returns x and, if the caller wants to keep it, the factor.
    """
    if prod(blocks[0].shape[:-3]) == prod(u.shape[:-3]) >= _LEAST_INTERLEAVED and not keep:
        x = _solve_interleaved(tree, blocks, u)
        if x is not None:
            return x, []
    factor = factorize(tree, blocks)
    return substitute(tree, blocks, factor, u, adjoint=False), factor


def _solve_interleaved(tree: Tree, blocks: Blocks, u: Tensor) -> Tensor | None:
    """Many systems side by side; None if a pivot is zero, which is for `factorize` to report."""
    u = in_memory(u)
    x = torch.empty_like(u)
    matrices = [rows_in_memory(t.flatten(-2)) for t in blocks]
    singular = np.zeros(1, dtype=np.uint8)
    run_on_threads(
        interleaved_sweeps.solve,
        spans(prod(u.shape[:-3]), u.numel() * u.shape[-2], multiple=LANES),
        tree_arrays(tree),
        unit_of(u.dtype),
        addresses(*(t for t, _ in matrices)),
        unsigned(*(rows * width_of(t) for t, rows in matrices)),
        addresses(u, x),
        unsigned(tree.num_edges, *u.shape[-2:], u.element_size()),
        np.uint64(singular.ctypes.data),
    )
    return None if singular[0] else x


def gradients(tree: Tree, left: Tensor, right: Tensor, blocks: Blocks) -> Blocks:
    """−left right^H where T has its blocks, summed to their shapes."""
    A, B, C = (t.new_zeros(t.shape) for t in blocks)
    system = systems_of(A.shape[:-3], left.shape[:-3])
    arrays = [_flat(t) for t in (left, right, A, B, C)]
    sizes = unsigned(*left.shape[-2:])
    pieces = spans(tree.num_nodes, left.numel() * A.shape[-1])
    run_on_threads(dense_sweeps.outer, pieces, tree_arrays(tree)[0], sizes, system, *arrays)
    return A, B, C


def slogdet(factor: list[Tensor]) -> tuple[Tensor, Tensor]:
    """(Sign, log|det T|), each (*batch)."""
    lu, swaps, _ = factor
    as_lapack = lu.clone()  # which has the diagonal itself, and counts exchanges from 1
    as_lapack.diagonal(dim1=-2, dim2=-1).reciprocal_()
    sign, logabs = DENSE.slogdet([as_lapack, swaps + 1])
    return sign.prod(-1), logabs.sum(-1)


def _copy(t: Tensor) -> Tensor:
    return t.resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)


def _flat(t: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = in_memory(t).view(-1).numpy()
    return array
