"""The same bits from run to run, and whatever the number of threads."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from myosotis import Tree, TreeMatrix, tree_solve, tree_solve_diag, tree_solve_factored
from tests.cases import (
    BACKENDS,
    deep,
    diagonal_and_factored,
    ragged,
    random_diagonal_system,
    random_right_side,
    random_system,
)

# Large enough for torch to split the work.
LARGE_TREES = {
    "star": Tree.star(20_000),
    "ragged": ragged(20_000),
    "deep": deep(20_000),
    "chain": Tree.chain(20_000),
}
SMALL_TREES = {"ragged": ragged(300), "star": Tree.star(300)}  # for loops over nodes in Python
CASES = [
    pytest.param(tree, backend, id=f"{name}-{backend}")
    for backend in BACKENDS
    for name, tree in (SMALL_TREES if backend == "reference" else LARGE_TREES).items()
]
every_case = pytest.mark.parametrize(("tree", "backend"), CASES)


@pytest.fixture(autouse=True)
def _restore_threads() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def solution_and_gradients(tree: Tree, backend: str, diagonal: bool) -> list[Tensor]:
    if diagonal:
        system = random_diagonal_system(tree, 8, torch.float32, batch=(2,))
        u = random_right_side((2, tree.num_nodes, 8), torch.float32)
        solve = tree_solve_diag
    else:
        system = random_system(tree, 3, torch.float32)
        u = random_right_side((2, tree.num_nodes, 3, 1), torch.float32)
        solve = tree_solve
    arguments = [t.requires_grad_() for t in (*system, u)]
    x = solve(tree, *arguments, backend=backend)
    return [x.detach(), *torch.autograd.grad(x.square().sum(), arguments)]


def assert_identical(results: list[list[Tensor]]) -> None:
    for other in results[1:]:
        assert all(map(torch.equal, other, results[0]))


@every_case
@pytest.mark.parametrize("diagonal", [True, False], ids=["diagonal", "dense"])
def test_same_bits_with_one_and_two_threads(tree: Tree, backend: str, diagonal: bool) -> None:
    results = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        results.append(solution_and_gradients(tree, backend, diagonal))
    assert_identical(results)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64], ids=str)
@pytest.mark.parametrize("tree", LARGE_TREES.values(), ids=LARGE_TREES.keys())
def test_same_bits_of_one_system_without_gradients(tree: Tree, dtype: torch.dtype) -> None:
    """Threads share its subtrees, where a level is broad."""
    system = random_diagonal_system(tree, 37, dtype)
    u = random_right_side((tree.num_nodes, 37), dtype)
    results = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        results.append([tree_solve_diag(tree, *system, u, backend="cpu")])
    results.append([TreeMatrix.diag(tree, *system).factorize(backend="cpu").solve(u)])
    assert_identical(results)


@pytest.mark.parametrize("tree", LARGE_TREES.values(), ids=LARGE_TREES.keys())
def test_same_bits_of_gradients_of_one_system(tree: Tree) -> None:
    system = random_diagonal_system(tree, 37, torch.complex64)
    u = random_right_side((tree.num_nodes, 37), torch.complex64)
    results = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        results.append(diagonal_and_factored(tree, system, u, "cpu"))
    assert_identical(results)


@pytest.mark.parametrize("tree", LARGE_TREES.values(), ids=LARGE_TREES.keys())
def test_same_bits_of_gradients_of_many_systems_with_one_matrix(tree: Tree) -> None:
    """Threads share nodes, if these are in small families, and otherwise systems."""
    system = random_diagonal_system(tree, 32, torch.float32)
    u = random_right_side((5, tree.num_nodes, 32), torch.float32)
    results = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        results.append(diagonal_and_factored(tree, system, u, "cpu"))
    assert_identical(results)


@pytest.mark.parametrize("systems", [5, 40])
@pytest.mark.parametrize("tree", LARGE_TREES.values(), ids=LARGE_TREES.keys())
def test_same_bits_of_coefficients_that_nodes_share(tree: Tree, systems: int) -> None:
    """Sums over systems and nodes, which threads take piece by piece."""
    u = random_right_side((systems, tree.num_nodes, 32), torch.complex64)
    rows = torch.arange(tree.num_nodes) % 3
    a = 0.1 * random_right_side((3, 32), torch.complex64)
    arguments = [t.requires_grad_() for t in (a, torch.ones(3, 32), u)]
    results = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        x = tree_solve_factored(tree, *arguments, rows=rows)
        results.append([x.detach(), *torch.autograd.grad(x, arguments, u.detach())])
    assert_identical(results)


@every_case
@pytest.mark.parametrize("diagonal", [True, False], ids=["diagonal", "dense"])
def test_same_bits_from_run_to_run(tree: Tree, backend: str, diagonal: bool) -> None:
    torch.set_num_threads(2)
    assert_identical([solution_and_gradients(tree, backend, diagonal) for _ in range(2)])


@pytest.mark.parametrize("backend", BACKENDS)
def test_same_bits_for_logdet(backend: str) -> None:
    tree = ragged(1000)
    M = TreeMatrix(tree, *random_system(tree, 2, torch.float32))
    results = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        results.append([M.logdet(backend=backend), *M.inverse_blocks()])
    assert_identical(results)
