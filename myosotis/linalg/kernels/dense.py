"""Small dense blocks: from tensors to the compiled sweeps and back."""

from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from myosotis.linalg.algebra import DENSE
from myosotis.linalg.apply import Blocks
from myosotis.linalg.kernels import dense_sweeps
from myosotis.linalg.kernels.arguments import in_memory, systems_of, tree_arrays, unsigned
from myosotis.linalg.kernels.threads import run_on_threads, spans
from myosotis.linalg.singular import raise_if_singular
from myosotis.tree import Tree

__all__ = ["empty_factor", "factorize", "gradients", "slogdet", "substitute"]


def factorize(tree: Tree, blocks: Blocks) -> list[Tensor]:
    """[LU of Â, its row exchanges counted from 0, −Â⁻¹ B]."""
    A, B, C = blocks
    batch = A.shape[:-3]
    lu, down = _copy(A), B.new_empty(B.shape)
    swaps = torch.empty(A.shape[:-1], dtype=torch.int32)
    singular = torch.zeros(A.shape[:-2], dtype=torch.bool)
    arrays = [_array(t) for t in (lu, B, C, down)]
    marks = _rows(swaps), singular.view(prod(batch), A.shape[-3]).numpy()

    def eliminate(first: int, last: int) -> None:
        dense_sweeps.eliminate(tree_arrays(tree), *arrays, *marks, *unsigned(first, last))

    run_on_threads(eliminate, spans(prod(batch), A.numel()))
    raise_if_singular(tree, singular.movedim(-1, 0), diagonal=False, ordered=True)
    return [lu, swaps, down]


def empty_factor(blocks: Blocks) -> list[Tensor]:
    """Uninitialised tensors of the shapes that `factorize` returns."""
    A, B, _ = blocks
    swaps = A.new_empty(A.shape[:-1], dtype=torch.int32)
    return [A.new_empty(A.shape), swaps, B.new_empty(B.shape)]


def substitute(
    tree: Tree, blocks: Blocks, factor: list[Tensor], u: Tensor, adjoint: bool
) -> Tensor:
    """Solve T x = u, or T^H x = u, for x. u (*batch, L, d, r)."""
    lu, swaps, down = factor
    x = _copy(u)
    system = systems_of(lu.shape[:-3], u.shape[:-3])
    arrays = _array(lu), _rows(swaps), _array(blocks[2]), _array(down), _array(x)
    sweep = dense_sweeps.substitute_adjoint if adjoint else dense_sweeps.substitute

    def solve(first: int, last: int) -> None:
        sweep(tree_arrays(tree), system, *arrays, *unsigned(first, last))

    run_on_threads(solve, spans(len(system), x.numel()))
    return x


def gradients(tree: Tree, left: Tensor, right: Tensor, blocks: Blocks) -> Blocks:
    """−left right^H where T has its blocks, summed to their shapes."""
    A, B, C = (t.new_zeros(t.shape) for t in blocks)
    system = systems_of(A.shape[:-3], left.shape[:-3])
    arrays = [_array(t) for t in (left, right, A, B, C)]

    def outer(first: int, last: int) -> None:
        dense_sweeps.outer(tree_arrays(tree)[0], system, *arrays, *unsigned(first, last))

    run_on_threads(outer, spans(tree.num_nodes, left.numel()))
    return A, B, C


def slogdet(factor: list[Tensor]) -> tuple[Tensor, Tensor]:
    """(Sign, log|det T|), each (*batch)."""
    lu, swaps, _ = factor
    sign, logabs = DENSE.slogdet([lu, swaps + 1])  # LAPACK counts exchanges from 1
    return sign.prod(-1), logabs.sum(-1)


def _copy(t: Tensor) -> Tensor:
    return t.resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)


def _rows(swaps: Tensor) -> np.ndarray[Any, Any]:
    """(systems, nodes, d)."""
    array: np.ndarray[Any, Any] = swaps.contiguous().view(-1, *swaps.shape[-2:]).numpy()
    return array


def _array(t: Tensor) -> np.ndarray[Any, Any]:
    """(systems, nodes, rows, columns)."""
    array: np.ndarray[Any, Any] = in_memory(t).view(prod(t.shape[:-3]), *t.shape[-3:]).numpy()
    return array
