"""Transposes: ⟨T x, y⟩ = ⟨x, Tᴴ y⟩ and ⟨T⁻¹ u, v⟩ = ⟨u, T⁻ᴴ v⟩, and how .T, .H and @ fit."""

import pytest
import torch
from torch import Tensor

from myosotis import Tree, TreeMatrix
from tests.cases import (
    BACKENDS,
    DOUBLE_DTYPES,
    TREES,
    assert_close,
    dense_matrix,
    level_sizes,
    random_diagonal_system,
    random_level_right_side,
    random_level_system,
    random_right_side,
    random_system,
    stack,
)

pytestmark = [
    pytest.mark.parametrize("tree", TREES.values(), ids=TREES.keys()),
    pytest.mark.parametrize("dtype", DOUBLE_DTYPES, ids=str),
]
every_backend = pytest.mark.parametrize("backend", BACKENDS)
every_kind = pytest.mark.parametrize("kind", ["dense", "diagonal", "per-level"])


def matrix_and_vectors(
    tree: Tree, dtype: torch.dtype, kind: str
) -> tuple[TreeMatrix, list[Tensor] | Tensor, list[Tensor] | Tensor]:
    if kind == "diagonal":
        vectors = random_right_side((2, tree.num_nodes, 3), dtype)
        return TreeMatrix.diag(tree, *random_diagonal_system(tree, 3, dtype)), *vectors
    if kind == "dense":
        vectors = random_right_side((2, tree.num_nodes, 3, 2), dtype)
        return TreeMatrix(tree, *random_system(tree, 3, dtype)), *vectors
    sizes = level_sizes(tree)
    u, v = (
        [t[i] for t in random_level_right_side(tree, sizes, 2, dtype, batch=(2,))] for i in (0, 1)
    )
    return TreeMatrix(tree, *random_level_system(tree, sizes, dtype)), u, v


def flat(x: Tensor | list[Tensor]) -> Tensor:
    return x.flatten() if isinstance(x, Tensor) else stack(x).flatten()


def assert_same_inner_product(
    pair: tuple[Tensor | list[Tensor], Tensor | list[Tensor]],
    other: tuple[Tensor | list[Tensor], Tensor | list[Tensor]],
) -> None:
    """⟨p, q⟩ = ⟨r, s⟩ up to 1e-12 of the product of the norms."""
    (p, q), (r, s) = (map(flat, vectors) for vectors in (pair, other))
    assert abs(torch.vdot(p, q) - torch.vdot(r, s)) < 1e-12 * p.norm() * q.norm()


@every_backend
@every_kind
def test_solve_and_solve_adjoint(tree: Tree, dtype: torch.dtype, kind: str, backend: str) -> None:
    M, u, v = matrix_and_vectors(tree, dtype, kind)
    F = M.factorize(backend=backend)
    assert_same_inner_product((F.solve(u), v), (u, F.solve_adjoint(v)))


@every_kind
def test_product_and_conjugate_transpose(tree: Tree, dtype: torch.dtype, kind: str) -> None:
    M, x, y = matrix_and_vectors(tree, dtype, kind)
    assert_same_inner_product((M @ x, y), (x, M.H @ y))


@every_backend
@every_kind
def test_adjoint_solve_inverts_the_conjugate_transpose(
    tree: Tree, dtype: torch.dtype, kind: str, backend: str
) -> None:
    M, u, _ = matrix_and_vectors(tree, dtype, kind)
    F = M.factorize(backend=backend)
    assert_close(flat(M.H @ F.solve_adjoint(u)), flat(u), dtype)
    assert_close(flat(M.H.solve(u, backend=backend)), flat(F.solve_adjoint(u)), dtype)


@every_kind
def test_transposes_of_the_dense_matrix(tree: Tree, dtype: torch.dtype, kind: str) -> None:
    M, _, _ = matrix_and_vectors(tree, dtype, kind)
    T = M.to_dense()
    assert torch.equal(M.T.to_dense(), T.mT)
    assert torch.equal(M.H.to_dense(), T.mH)
    assert torch.equal(M.T.T.to_dense(), T)
    assert torch.equal(M.H.H.to_dense(), T)


def test_product_with_the_dense_matrix(tree: Tree, dtype: torch.dtype) -> None:
    system = random_system(tree, 3, dtype, batch=(2,))
    x = random_right_side((4, 2, tree.num_nodes, 3, 2), dtype)
    product = TreeMatrix(tree, *system) @ x
    assert product.shape == x.shape
    assert_close(stack(product), dense_matrix(tree, *system) @ stack(x), dtype)


def test_product_per_level_with_the_dense_matrix(tree: Tree, dtype: torch.dtype) -> None:
    M, x, _ = matrix_and_vectors(tree, dtype, "per-level")
    assert_close(stack(M @ x), M.to_dense(order="canonical") @ stack(x), dtype)
