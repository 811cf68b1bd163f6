"""The residual as LAPACK tests it, ‖u − T x‖ / (‖T‖ ‖x‖ L ε) < 30, in the maximum norm.

T is assembled here as a sparse matrix in double precision, so that neither the assembly nor the
product of the package is part of its own test.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse.linalg
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from myosotis import Tree, tree_solve, tree_solve_diag
from tests.cases import (
    DTYPES,
    FAST_BACKENDS,
    NEURONS,
    assert_close,
    cut_to_levels,
    ragged,
    random_diagonal_system,
    random_level_system,
    random_right_side,
    random_system,
    sparse_matrix,
    stack,
    trees,
)

every_fast_backend = pytest.mark.parametrize("backend", FAST_BACKENDS)


def scaled_residual(
    tree: Tree, T: scipy.sparse.csc_array, x: Tensor, u: Tensor, dtype: torch.dtype
) -> float:
    """x and u (n, 1), computed in `dtype`."""
    right, solution = (t.numpy().astype(T.dtype) for t in (u, x))
    residual = np.abs(right - T @ solution).max()
    norm = np.abs(T).sum(axis=1).max()
    eps = torch.finfo(dtype).eps
    return float(residual / (norm * np.abs(solution).max() * tree.num_nodes * eps))


@every_fast_backend
@settings(max_examples=1000, suppress_health_check=[HealthCheck.too_slow])
@given(
    tree=trees(max_nodes=300),
    block=st.integers(1, 5),
    per_level=st.booleans(),
    dtype=st.sampled_from(DTYPES),
    seed=st.integers(0, 2**20),
)
def test_random_trees(
    backend: str, tree: Tree, block: int, per_level: bool, dtype: torch.dtype, seed: int
) -> None:
    u = random_right_side((tree.num_nodes, block, 1), dtype, seed + 1)
    if per_level:
        sizes = np.random.default_rng(seed).integers(1, block + 1, tree.num_levels).tolist()
        u = cut_to_levels(tree, u, sizes, [1] * len(sizes))
        system = random_level_system(tree, sizes, dtype, seed)
    else:
        system = random_system(tree, block, dtype, seed)
    x, right = stack(tree_solve(tree, *system, u, backend=backend)), stack(u)
    T = sparse_matrix(tree, *system)
    assert scaled_residual(tree, T, x, right, dtype) < 30
    sparse_lu = scipy.sparse.linalg.splu(T).solve(right.numpy().astype(T.dtype))
    assert_close(x, torch.from_numpy(sparse_lu), dtype)


@pytest.mark.neurons
@every_fast_backend
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("path", NEURONS, ids=lambda path: path.stem)
def test_neurons(path: Path, dtype: torch.dtype, backend: str) -> None:
    tree = Tree.from_swc(path)
    system = random_system(tree, 2, dtype)
    u = random_right_side((tree.num_nodes, 2, 1), dtype)
    x = tree_solve(tree, *system, u, backend=backend)
    assert scaled_residual(tree, sparse_matrix(tree, *system), stack(x), stack(u), dtype) < 30


@every_fast_backend
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128], ids=str)
@pytest.mark.parametrize("build", [Tree.chain, ragged])
def test_a_million_nodes(build: Callable[[int], Tree], dtype: torch.dtype, backend: str) -> None:
    tree = build(10**6)
    system = random_diagonal_system(tree, 1, dtype)
    u = random_right_side((tree.num_nodes, 1), dtype)
    x = tree_solve_diag(tree, *system, u, backend=backend)
    T = sparse_matrix(tree, *(t.unsqueeze(-1) for t in system))
    assert scaled_residual(tree, T, x, u, dtype) < 30
