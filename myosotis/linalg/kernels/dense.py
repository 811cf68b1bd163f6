"""Small dense blocks: from tensors to the compiled sweeps and back."""

from math import prod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from myosotis.linalg.algebra import DENSE
from myosotis.linalg.apply import Blocks
from myosotis.linalg.kernels import dense_sweeps
from myosotis.linalg.kernels.arguments import in_memory, systems_of, tree_arrays, unsigned
from myosotis.linalg.kernels.threads import run_on_threads, spans
from myosotis.linalg.singular import raise_if_singular
from myosotis.tree import Tree

__all__ = ["empty_factor", "factorize", "gradients", "slogdet", "substitute"]

_COLUMNS = 16  # right-hand sides of one matrix that are solved side by side


def factorize(tree: Tree, blocks: Blocks) -> list[Tensor]:
    """[LU of Â with inverted diagonal, its row exchanges counted from 0, −Â⁻¹ B]."""
    A, B, C = blocks
    lu, down = _copy(A), B.new_empty(B.shape)
    swaps = torch.empty(A.shape[:-1], dtype=torch.int32)
    singular = torch.zeros(A.shape[:-2], dtype=torch.bool)
    arrays = [_flat(t) for t in (lu, B, C, down, swaps, singular)]
    block = (0,) * A.shape[-1]

    def eliminate(first: int, last: int) -> None:
        dense_sweeps.eliminate(tree_arrays(tree), block, *arrays, *unsigned(first, last))

    run_on_threads(eliminate, spans(prod(A.shape[:-3]), A.numel() * len(block)))
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
    shared = prod(lu.shape[:-3]) == 1
    x, system = _side_by_side(u) if shared else _one_by_one(u, lu)
    arrays = [_flat(t) for t in (lu, swaps, blocks[2], down, x)]
    block, columns = (0,) * u.shape[-2], (0,) * x.shape[-1]
    sweep = dense_sweeps.substitute_adjoint if adjoint else dense_sweeps.substitute

    def solve(first: int, last: int) -> None:
        sweep(tree_arrays(tree), block, columns, system, *arrays, *unsigned(first, last))

    run_on_threads(solve, spans(len(system), x.numel() * len(block)))
    r = u.shape[-1]
    solutions = x.movedim(-1, 1).flatten(0, 1)  # (number of right-hand sides, L, d)
    solutions = solutions[: prod(u.shape[:-3]) * r]
    return solutions.view(*u.shape[:-3], r, *u.shape[-3:-1]).movedim(-3, -1).contiguous()


def gradients(tree: Tree, left: Tensor, right: Tensor, blocks: Blocks) -> Blocks:
    """−left right^H where T has its blocks, summed to their shapes."""
    A, B, C = (t.new_zeros(t.shape) for t in blocks)
    system = systems_of(A.shape[:-3], left.shape[:-3])
    arrays = [_flat(t) for t in (left, right, A, B, C)]
    block, (r,) = (0,) * A.shape[-1], unsigned(left.shape[-1])

    def outer(first: int, last: int) -> None:
        parent = tree_arrays(tree)[0]
        dense_sweeps.outer(parent, block, r, system, *arrays, *unsigned(first, last))

    run_on_threads(outer, spans(tree.num_nodes, left.numel() * len(block)))
    return A, B, C


def slogdet(factor: list[Tensor]) -> tuple[Tensor, Tensor]:
    """(Sign, log|det T|), each (*batch)."""
    lu, swaps, _ = factor
    as_lapack = lu.clone()  # which has the diagonal itself, and counts exchanges from 1
    as_lapack.diagonal(dim1=-2, dim2=-1).reciprocal_()
    sign, logabs = DENSE.slogdet([as_lapack, swaps + 1])
    return sign.prod(-1), logabs.sum(-1)


def _side_by_side(u: Tensor) -> tuple[Tensor, NDArray[np.uint64]]:
    """Right-hand sides of one matrix in groups of columns, (groups, L, d, columns), zeros added."""
    L, d, r = u.shape[-3:]
    width = _COLUMNS if prod(u.shape[:-3]) * r > 1 else 1
    sides = u.movedim(-1, -3).reshape(-1, L, d)  # (number of right-hand sides, L, d)
    groups = -(-len(sides) // width)
    x = torch.zeros(groups * width, L, d, dtype=u.dtype)
    x[: len(sides)] = sides
    x = x.view(groups, width, L, d).movedim(1, -1).contiguous()
    return x, np.zeros(groups, dtype=np.uint64)


def _one_by_one(u: Tensor, lu: Tensor) -> tuple[Tensor, NDArray[np.uint64]]:
    """Every right-hand side by itself, (number of right-hand sides, L, d, 1), and its matrix."""
    L, d, r = u.shape[-3:]
    x = _copy(u.movedim(-1, -3).reshape(-1, L, d, 1))
    return x, np.repeat(systems_of(lu.shape[:-3], u.shape[:-3]), r)


def _copy(t: Tensor) -> Tensor:
    return t.resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)


def _flat(t: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = in_memory(t).view(-1).numpy()
    return array
