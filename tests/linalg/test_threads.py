"""Threads of the CPU kernels: torch's own or plain ones, few or many, and the same bits."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor

from myosotis import Tree, tree_solve, tree_solve_diag, tree_solve_factored
from myosotis.linalg.kernels import arguments, families, plain_threads, threads
from tests.cases import ragged, random_diagonal_system, random_right_side, random_system

QUAD = Tree.perfect(4, 3)


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_same_bits_for_any_number_of_threads_without_gradients() -> None:
    tree, before = ragged(3000), torch.get_num_threads()
    blocks = random_system(tree, 3, torch.float32, batch=(20,))
    sides = random_right_side((20, tree.num_nodes, 3, 1), torch.float32)
    a, b, c = random_diagonal_system(tree, 100, torch.float32)
    u, zero = random_right_side((tree.num_nodes, 100), torch.float32), torch.zeros(())
    many = random_right_side((13, tree.num_nodes, 100), torch.float32)
    results = []
    for number in (1, 2, 3):
        torch.set_num_threads(number)
        results.append(
            [
                tree_solve(tree, *blocks, sides),
                tree_solve(tree, *(t[0] for t in blocks), sides),
                tree_solve_diag(tree, a, b, c, u),
                tree_solve_diag(tree, a, b, c, many),
                tree_solve_diag(tree, a, zero, c, u),
            ]
        )
    torch.set_num_threads(before)
    for other in results[1:]:
        assert all(map(torch.equal, other, results[0]))


def solve_in_parallel() -> list[Tensor]:
    """Every kernel once, with work enough for two threads."""
    system = random_diagonal_system(QUAD, 64, torch.complex64)
    u = random_right_side((64, QUAD.num_nodes, 64), torch.complex64)
    a, d = 0.4 * system[1], system[0].abs()
    arguments = [t.requires_grad_() for t in (*system, u, a, d)]
    x = tree_solve_diag(QUAD, *system, u) + tree_solve_factored(QUAD, a, d, u)
    return [x, *torch.autograd.grad(x.abs().sum(), arguments[:4])]


def solve_with_rows_of_the_kernels_own() -> list[Tensor]:
    """Kernels that have memory for each piece or thread: for sums, or for the way down."""
    tree = ragged(3000)
    system = random_diagonal_system(tree, 32, torch.float32, batch=(8,))
    u = random_right_side((8, tree.num_nodes, 32), torch.float32)
    rows = torch.from_numpy(tree.depth % 2)
    tables = [t[0, :2].abs().div(20).requires_grad_() for t in system[:2]]
    x = tree_solve_factored(tree, *tables, u, rows=rows)
    one = tree_solve_diag(tree, *(t[0] for t in system), u[0])
    return [
        tree_solve_diag(tree, *system, u),
        one,
        x.detach(),
        *torch.autograd.grad(x.sum(), tables),
    ]


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("large", [1, 1 << 24], ids=["past the caches", "in the caches"])
def test_plain_threads_give_the_bits_of_torchs_own(
    large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arguments, "_LARGE", large)
    solves = (solve_in_parallel, solve_with_rows_of_the_kernels_own)
    expected = [solve() for solve in solves]
    monkeypatch.setattr(threads, "_openmp", lambda: None)
    families._share.cache_clear()  # which remembers teams
    for _ in range(5):  # threads that get in each other's way do not always do so
        for solve, before in zip(solves, expected, strict=True):
            assert all(map(torch.equal, solve(), before))
    families._share.cache_clear()


@pytest.mark.usefixtures("two_threads")
def test_one_thread_does_everything_when_no_other_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = solve_with_rows_of_the_kernels_own()
    monkeypatch.setattr(threads, "_openmp", lambda: None)
    pool = ThreadPoolExecutor(1)
    pool.shutdown()  # as Python does to all of them in the end
    monkeypatch.setattr(plain_threads, "_pool", lambda *_: pool)
    assert all(map(torch.equal, solve_with_rows_of_the_kernels_own(), expected))


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize(
    ("length", "multiple", "least"),
    [(0, 1, 1), (1, 1, 1), (7, 1, 1), (7, 1, 4), (64, 32, 64), (65, 32, 1), (5, 64, 1)],
)
def test_spans_cover_everything_once(length: int, multiple: int, least: int) -> None:
    pieces = threads.spans(length, work=1 << 30, multiple=multiple, least=least).tolist()
    assert [v for low, high in pieces for v in range(low, high)] == list(range(length))
    assert all(low % multiple == 0 for low, _ in pieces)
    assert len(pieces) <= 2 or all(high - low >= least for low, high in pieces)
