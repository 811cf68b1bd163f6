"""Solutions against the reference, dense and sparse LU; every way to hand over the arguments."""

import pytest
import scipy.sparse.linalg
import torch
from torch import Tensor

from myosotis import Tree, TreeMatrix, tree_solve, tree_solve_diag
from myosotis.linalg import reference
from tests.cases import (
    BACKENDS,
    DTYPES,
    TREES,
    assert_close,
    dense_diagonal_matrix,
    dense_matrix,
    level_sizes,
    random_diagonal_system,
    random_level_right_side,
    random_level_system,
    random_right_side,
    random_system,
    relative_error,
    sparse_matrix,
    stack,
)

TREE = TREES["forest"]
L = TREE.num_nodes
DOUBLE = torch.float64

every_tree = pytest.mark.parametrize("tree", TREES.values(), ids=TREES.keys())
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)
every_backend = pytest.mark.parametrize("backend", BACKENDS)


@every_backend
@every_dtype
@every_tree
@pytest.mark.parametrize("block", [1, 3])
def test_uniform_blocks(tree: Tree, dtype: torch.dtype, backend: str, block: int) -> None:
    system = random_system(tree, block, dtype)
    u = random_right_side((tree.num_nodes, block, 2), dtype)
    x = tree_solve(tree, *system, u, backend=backend)
    assert x.dtype == dtype
    assert_close(stack(x), torch.linalg.solve(dense_matrix(tree, *system), stack(u)), dtype)
    assert_close(x, reference.solve(tree, *system, u), dtype)
    sparse = sparse_matrix(tree, *system)
    right = stack(u).numpy().astype(sparse.dtype)
    assert_close(stack(x), torch.from_numpy(scipy.sparse.linalg.splu(sparse).solve(right)), dtype)


@every_backend
@every_dtype
@every_tree
def test_a_block_size_per_level(tree: Tree, dtype: torch.dtype, backend: str) -> None:
    sizes = level_sizes(tree)
    system = random_level_system(tree, sizes, dtype)
    u = random_level_right_side(tree, sizes, 2, dtype)
    x = tree_solve(tree, *system, u, backend=backend)
    assert [t.shape for t in x] == [t.shape for t in u]
    assert_close(stack(x), torch.linalg.solve(dense_matrix(tree, *system), stack(u)), dtype)


@every_backend
@every_dtype
@every_tree
def test_diagonal_blocks(tree: Tree, dtype: torch.dtype, backend: str) -> None:
    system = random_diagonal_system(tree, 3, dtype)
    u = random_right_side((tree.num_nodes, 3), dtype)
    x = tree_solve_diag(tree, *system, u, backend=backend)
    assert x.dtype == dtype
    dense = torch.linalg.solve(dense_diagonal_matrix(tree, *system), u.mT)
    assert_close(x, dense.mT, dtype)
    assert_close(x, reference.solve_diag(tree, *system, u), dtype)


@pytest.mark.parametrize("backend", [None, *BACKENDS])
@pytest.mark.parametrize("block", [2, 5, 8, 16])
def test_larger_blocks(block: int, backend: str | None) -> None:
    system = random_system(TREE, block, DOUBLE)
    u = random_right_side((L, block, 1), DOUBLE)
    x = tree_solve(TREE, *system, u, backend=backend)
    assert_close(x, reference.solve(TREE, *system, u), DOUBLE)


def test_blocks_beyond_any_kernel() -> None:
    system = random_system(TREE, 40, DOUBLE)
    u = random_right_side((L, 40, 1), DOUBLE)
    assert_close(tree_solve(TREE, *system, u), reference.solve(TREE, *system, u), DOUBLE)


@every_backend
@pytest.mark.parametrize("columns", [0, 1, 5])
def test_any_number_of_right_hand_sides(columns: int, backend: str) -> None:
    system = random_system(TREE, 2, DOUBLE)
    u = random_right_side((L, 2, columns), DOUBLE)
    x = tree_solve(TREE, *system, u, backend=backend)
    assert x.shape == u.shape
    for r in range(columns):
        column = tree_solve(TREE, *system, u[..., r : r + 1], backend=backend)
        assert_close(x[..., r : r + 1], column, DOUBLE)


BATCHES = {  # leading axes of A, B, C and u, and of the solution
    "none": ((), (), (), (), ()),
    "all": ((2, 3), (2, 3), (2, 3), (2, 3), (2, 3)),
    "matrix shared": ((), (), (), (4, 2), (4, 2)),
    "right-hand side shared": ((4, 2), (4, 2), (4, 2), (), (4, 2)),
    "ones": ((3, 1), (3, 1), (3, 1), (1, 2), (3, 2)),
    "each another": ((2, 1, 1), (3, 1), (), (4,), (2, 3, 4)),
    "matrix has one of two axes": ((3,), (3,), (3,), (2, 3), (2, 3)),
}
every_batch = pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES.keys())


@every_backend
@every_batch
@pytest.mark.parametrize("block", [1, 2])
def test_leading_axes_broadcast(
    batch: tuple[tuple[int, ...], ...], block: int, backend: str
) -> None:
    system = [random_system(TREE, block, DOUBLE, i, batch[i])[i] for i in range(3)]
    u = random_right_side((*batch[3], L, block, 2), DOUBLE)
    x = tree_solve(TREE, *system, u, backend=backend)
    full = [t.expand(*batch[4], *t.shape[-3:]) for t in (*system, u)]
    assert x.shape == full[3].shape
    dense = torch.linalg.solve(dense_matrix(TREE, *full[:3]), stack(full[3]))
    assert_close(stack(x), dense, DOUBLE)


@every_backend
@every_batch
def test_leading_axes_broadcast_for_diagonal_blocks(
    batch: tuple[tuple[int, ...], ...], backend: str
) -> None:
    system = [random_diagonal_system(TREE, 2, DOUBLE, i, batch[i])[i] for i in range(3)]
    u = random_right_side((*batch[3], L, 2), DOUBLE)
    x = tree_solve_diag(TREE, *system, u, backend=backend)
    assert x.shape == (*batch[4], L, 2)
    assert_close(x, reference.solve_diag(TREE, *system, u), DOUBLE)


@every_backend
@pytest.mark.parametrize(
    "shapes",
    [
        [(), (), (), (L, 2)],
        [(2,), (1,), (), (L, 1)],
        [(L, 1), (1, 2), (L, 2), (1, 1)],
        [(3, 1, 2), (L, 1), (1,), (L, 2)],
    ],
    ids=str,
)
def test_nodes_and_channels_of_diagonal_blocks_broadcast(
    shapes: list[tuple[int, ...]], backend: str
) -> None:
    a, b, c, u = (random_right_side(shape, DOUBLE, seed) for seed, shape in enumerate(shapes))
    a, b, c = 2 + a.abs(), b.tanh(), c.tanh() / 8
    x = tree_solve_diag(TREE, a, b, c, u, backend=backend)
    full = torch.broadcast_tensors(a, b, c, u, torch.empty(L, 1))[:4]
    assert_close(x, reference.solve_diag(TREE, *full), DOUBLE)


@every_backend
def test_leading_axes_broadcast_between_levels(backend: str) -> None:
    sizes = level_sizes(TREE)
    A, B, C = random_level_system(TREE, sizes, DOUBLE, batch=(3,))
    u = random_level_right_side(TREE, sizes, 1, DOUBLE, batch=(3,))
    A[0], B[1], u[2] = (t[:1].expand(3, *t.shape[1:]) for t in (A[0], B[1], u[2]))
    expected = tree_solve(TREE, A, B, C, u, backend=backend)
    A[0], B[1], u[2] = A[0][0], B[1][0], u[2][0]
    assert_close(tree_solve(TREE, A, B, C, u, backend=backend), expected, DOUBLE)


@every_backend
@every_dtype
@every_tree
def test_what_stands_at_the_roots_is_ignored(tree: Tree, dtype: torch.dtype, backend: str) -> None:
    A, B, C = random_system(tree, 2, dtype)
    u = random_right_side((tree.num_nodes, 2, 1), dtype)
    x = tree_solve(tree, A, B, C, u, backend=backend)
    edges = slice(tree.num_edges)
    B[tree.num_edges :], C[tree.num_edges :] = torch.nan, torch.inf
    assert torch.equal(tree_solve(tree, A, B, C, u, backend=backend), x)
    assert torch.equal(tree_solve(tree, A, B[edges], C[edges], u, backend=backend), x)


@every_backend
@every_tree
def test_what_stands_at_the_roots_of_diagonal_blocks_is_ignored(tree: Tree, backend: str) -> None:
    a, b, c = random_diagonal_system(tree, 2, DOUBLE)
    u = random_right_side((tree.num_nodes, 2), DOUBLE)
    x = tree_solve_diag(tree, a, b, c, u, backend=backend)
    edges = slice(tree.num_edges)
    b[tree.num_edges :], c[tree.num_edges :] = torch.nan, torch.inf
    assert torch.equal(tree_solve_diag(tree, a, b, c, u, backend=backend), x)
    assert torch.equal(tree_solve_diag(tree, a, b[edges], c[edges], u, backend=backend), x)


@every_backend
@every_tree
def test_the_last_level_of_b_and_c_may_be_absent(tree: Tree, backend: str) -> None:
    sizes = level_sizes(tree)
    A, B, C = random_level_system(tree, sizes, DOUBLE)
    u = random_level_right_side(tree, sizes, 1, DOUBLE)
    x = tree_solve(tree, A, B, C, u, backend=backend)
    without = tree_solve(tree, A, B[:-1], C[:-1], u, backend=backend)
    assert all(map(torch.equal, x, without))


@every_backend
@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_is_computed_in_float32_and_returned_as_it_came(
    half: torch.dtype, backend: str
) -> None:
    low = [t.to(half) for t in (*random_system(TREE, 2, torch.float32), torch.randn(L, 2, 1))]
    x = tree_solve(TREE, *low, backend=backend)
    assert x.dtype == half
    single = tree_solve(TREE, *(t.float() for t in low), backend=backend)
    assert torch.equal(x, single.to(half))
    diagonal = [t[..., 0] for t in low]
    x = tree_solve_diag(TREE, *(t[..., :1] for t in diagonal), backend=backend)
    assert x.dtype == half


@every_backend
@pytest.mark.parametrize("batch", [(0,), (2, 0)], ids=str)
def test_an_empty_batch_gives_an_empty_solution(batch: tuple[int, ...], backend: str) -> None:
    u = torch.zeros(*batch, L, 2, 1)
    shared = random_system(TREE, 2, torch.float32)
    own = random_system(TREE, 2, torch.float32, batch=batch)
    assert tree_solve(TREE, *shared, u, backend=backend).shape == u.shape
    assert tree_solve(TREE, *own, u, backend=backend).shape == u.shape
    diagonal = random_diagonal_system(TREE, 2, torch.float32)
    assert tree_solve_diag(TREE, *diagonal, u[..., 0], backend=backend).shape == u.shape[:-1]


def scattered(t: Tensor) -> Tensor:
    """The same values with gaps between them in memory and the axes in another order."""
    twice = torch.stack([t, torch.full_like(t, torch.nan)], dim=-1).movedim(-2, 0).contiguous()
    return twice.movedim(0, -2)[..., 0]


def conjugate_view(t: Tensor) -> Tensor:
    """The same values as a view whose conjugation is still to be done."""
    return t.conj().resolve_conj().conj()


@every_backend
@pytest.mark.parametrize("view", [scattered, conjugate_view])
@pytest.mark.parametrize("block", [1, 3])
def test_memory_layout_does_not_matter(view: object, block: int, backend: str) -> None:
    arguments = (
        *random_system(TREE, block, torch.complex128, batch=(2,)),
        random_right_side((2, L, block, 3), torch.complex128),
    )
    views = [view(t) for t in arguments]
    assert all(map(torch.equal, views, arguments))
    assert not any(t.is_contiguous() and not t.is_conj() for t in views)
    x = tree_solve(TREE, *views, backend=backend)
    assert_close(x, tree_solve(TREE, *arguments, backend=backend), torch.complex128)
    views, arguments = ([t[..., 0] for t in ts] for ts in (views, arguments))
    x = tree_solve_diag(TREE, *views, backend=backend)
    assert_close(x, tree_solve_diag(TREE, *arguments, backend=backend), torch.complex128)


@every_backend
def test_the_arguments_are_not_written_to(backend: str) -> None:
    arguments = (*random_system(TREE, 2, DOUBLE), random_right_side((L, 2, 2), DOUBLE))
    before = [t.clone() for t in arguments]
    tree_solve(TREE, *arguments, backend=backend)
    tree_solve_diag(TREE, *(t[..., 0] for t in arguments), backend=backend)
    assert all(map(torch.equal, arguments, before))


@every_backend
def test_autocast_does_not_lower_the_precision(backend: str) -> None:
    arguments = [t.requires_grad_() for t in random_system(TREE, 4, torch.float32)]
    arguments.append(random_right_side((L, 4, 2), torch.float32))

    def solution_and_gradients() -> list[Tensor]:
        x = tree_solve(TREE, *arguments, backend=backend)
        return [x, *torch.autograd.grad(x.sum(), arguments[:3])]

    expected = solution_and_gradients()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        actual = solution_and_gradients()
    assert all(map(torch.equal, actual, expected))


@every_backend
def test_a_factor_serves_many_right_hand_sides(backend: str) -> None:
    M = TreeMatrix(TREE, *random_system(TREE, 2, DOUBLE, batch=(3,)))
    F = M.factorize(backend=backend)
    for batch in [(), (3,), (5, 3), (5, 1)]:
        u = random_right_side((*batch, L, 2, 1), DOUBLE)
        assert torch.equal(F.solve(u), M.solve(u, backend=backend))


@every_backend
def test_systems_of_a_batch_do_not_mix(backend: str) -> None:
    """NaN in one system, in the matrix or on the right, stays there."""
    arguments = [
        *random_system(TREE, 2, DOUBLE, batch=(3,)),
        random_right_side((3, L, 2, 1), DOUBLE),
    ]
    clean = tree_solve(TREE, *arguments, backend=backend)
    arguments[3][1] = torch.nan
    x = tree_solve(TREE, *arguments, backend=backend)
    assert x[1].isnan().any()
    assert torch.equal(x[::2], clean[::2])


@every_backend
@every_tree
def test_a_known_solution_is_found_again(tree: Tree, backend: str) -> None:
    M = TreeMatrix(tree, *random_system(tree, 2, DOUBLE))
    x = random_right_side((tree.num_nodes, 2, 3), DOUBLE)
    assert relative_error(M.solve(M @ x, backend=backend), x) < 1e-13
