"""What only the CPU kernels have: vector lanes, threads, caches, and memory beyond them."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from myosotis import Tree, tree_solve, tree_solve_diag, tree_solve_factored
from myosotis.linalg.kernels import threads
from myosotis.linalg.kernels.compile import kernel
from tests.cases import DTYPES, TREES, assert_close, random_diagonal_system, random_right_side

QUAD = Tree.perfect(4, 3)
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@every_dtype
@pytest.mark.parametrize("channels", [1, 2, 15, 16, 17, 33, 64, 65])
def test_channels_that_do_not_fill_the_vectors(channels: int, dtype: torch.dtype) -> None:
    tree = TREES["ragged"]
    system = random_diagonal_system(tree, channels, dtype)
    u = random_right_side((3, tree.num_nodes, channels), dtype)
    expected = tree_solve_diag(tree, *system, u, backend="reference")
    assert_close(tree_solve_diag(tree, *system, u, backend="cpu"), expected, dtype)


@every_dtype
def test_one_coefficient_for_all_channels(dtype: torch.dtype) -> None:
    system = random_diagonal_system(QUAD, 1, dtype)
    u = random_right_side((2, QUAD.num_nodes, 21), dtype)
    each = [tree_solve_diag(QUAD, *system, u[..., [h]], backend="cpu") for h in range(21)]
    together = tree_solve_diag(QUAD, *system, u, backend="cpu")
    assert_close(together, torch.cat(each, dim=-1), dtype)


@pytest.mark.parametrize("batch", [1024, 2048], ids=["past the caches", "on huge pages"])
def test_large_solutions_have_the_bits_of_small_ones(batch: int) -> None:
    system = random_diagonal_system(QUAD, 64, torch.float32)
    u = random_right_side((batch, QUAD.num_nodes, 64), torch.float32)
    x = tree_solve_diag(QUAD, *system, u)
    for i in (0, batch // 2, batch - 1):
        assert torch.equal(x[i], tree_solve_diag(QUAD, *system, u[i]))


@pytest.mark.parametrize("count", [1, 5, 16, 17, 40])
def test_any_number_of_right_hand_sides_of_one_matrix(count: int) -> None:
    generator = torch.Generator().manual_seed(0)
    A = torch.randn(QUAD.num_nodes, 3, 3, dtype=torch.float64, generator=generator)
    A = A + 8 * torch.eye(3, dtype=torch.float64)
    B, C = torch.randn(2, QUAD.num_nodes, 3, 3, dtype=torch.float64, generator=generator)
    u = random_right_side((count, QUAD.num_nodes, 3, 2), torch.float64)
    x = tree_solve(QUAD, A, B, C, u, backend="cpu")
    assert_close(x, tree_solve(QUAD, A, B, C, u, backend="torch"), torch.float64)


def solve_in_parallel() -> list[Tensor]:
    """Every kernel once, with work enough for two threads."""
    system = random_diagonal_system(QUAD, 64, torch.complex64)
    u = random_right_side((64, QUAD.num_nodes, 64), torch.complex64)
    a, d = 0.4 * system[1], system[0].abs()
    arguments = [t.requires_grad_() for t in (*system, u, a, d)]
    x = tree_solve_diag(QUAD, *system, u) + tree_solve_factored(QUAD, a, d, u)
    return [x, *torch.autograd.grad(x.abs().sum(), arguments[:4])]


@pytest.mark.usefixtures("two_threads")
def test_plain_threads_give_the_bits_of_torchs_own(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = solve_in_parallel()
    monkeypatch.setattr(threads, "_team_runner", lambda: None)
    for plain, own in zip(solve_in_parallel(), expected, strict=True):
        assert torch.equal(plain, own)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("own_pool", [False, True])
def test_an_error_on_a_worker_reaches_the_caller(
    own_pool: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(low: int, high: int) -> None:
        raise ValueError(f"piece {low}")

    if own_pool:
        monkeypatch.setattr(threads, "_team_runner", lambda: None)
    with pytest.raises(ValueError, match="piece"):
        threads.run_on_threads(fail, [(0, 1), (1, 2)])


@pytest.mark.parametrize(("length", "multiple"), [(1, 1), (7, 1), (64, 32), (65, 32), (5, 64)])
def test_spans_cover_everything_once(length: int, multiple: int) -> None:
    pieces = threads.spans(length, work=1 << 30, multiple=multiple)
    assert [v for low, high in pieces for v in range(low, high)] == list(range(length))
    assert all(low % multiple == 0 for low, _ in pieces)
    assert len(pieces) <= torch.get_num_threads()


def test_a_kernel_compiles_where_nothing_can_be_cached() -> None:
    """A function without a source file has no place in Numba's cache, like a read-only disk."""
    namespace: dict[str, object] = {}
    exec("def twice(x):\n    return 2 * x", namespace)
    assert kernel(namespace["twice"])(21) == 42
