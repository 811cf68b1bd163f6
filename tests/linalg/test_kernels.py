"""What only the CPU kernels have: vector lanes, caches, and memory beyond them."""

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

from myosotis import (
    SingularBlockError,
    Tree,
    TreeMatrix,
    tree_solve,
    tree_solve_diag,
)
from myosotis.compiled import kernel
from myosotis.linalg.kernels import (
    adjoint_sweeps,
    arguments,
    families,
    pieces,
    shared,
)
from tests.cases import (
    DTYPES,
    TREES,
    assert_close,
    diagonal_and_factored,
    ragged,
    random_diagonal_system,
    random_right_side,
    random_system,
)

QUAD = Tree.perfect(4, 3)
every_tree = pytest.mark.parametrize("tree", TREES.values(), ids=TREES.keys())
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)


@every_dtype
@pytest.mark.parametrize("channels", [1, 2, 15, 16, 17, 33, 64, 65])
def test_channels_that_do_not_fill_the_vectors(channels: int, dtype: torch.dtype) -> None:
    tree = TREES["ragged"]
    system = random_diagonal_system(tree, channels, dtype)
    u = random_right_side((3, tree.num_nodes, channels), dtype)
    expected = tree_solve_diag(tree, *system, u, backend="reference")
    assert_close(tree_solve_diag(tree, *system, u, backend="cpu"), expected, dtype)


@every_dtype
@pytest.mark.parametrize("channels", [1, 7, 37])
@pytest.mark.parametrize("tree", [TREES["ragged"], TREES["forest"]], ids=["ragged", "forest"])
def test_gradients_of_channels_that_do_not_fill_the_vectors(
    tree: Tree, channels: int, dtype: torch.dtype
) -> None:
    system = random_diagonal_system(tree, channels, dtype)
    u = random_right_side((3, tree.num_nodes, channels), dtype)
    expected = diagonal_and_factored(tree, system, u, "torch")
    for one, other in zip(diagonal_and_factored(tree, system, u, "cpu"), expected, strict=True):
        assert_close(one, other, dtype)


@every_dtype
def test_a_channel_has_the_same_bits_wherever_it_stands(dtype: torch.dtype) -> None:
    tree = TREES["ragged"]
    system = random_diagonal_system(tree, 71, dtype)
    u = random_right_side((3, tree.num_nodes, 71), dtype)
    together = diagonal_and_factored(tree, system, u, "cpu")
    a, b, c = (t[..., 3:40] for t in system)
    shifted = diagonal_and_factored(tree, (a, b, c), u[..., 3:40], "cpu")
    for one, other in zip(shifted, together, strict=True):
        assert torch.equal(one, other[..., 3:40])


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


@every_dtype
@pytest.mark.parametrize("count", [7, 8, 15, 16, 17, 33])
def test_any_number_of_systems_side_by_side(count: int, dtype: torch.dtype) -> None:
    tree = TREES["forest"]
    system = random_system(tree, 3, dtype, batch=(count,))
    u = random_right_side((count, tree.num_nodes, 3, 2), dtype)
    x = tree_solve(tree, *system, u, backend="cpu")
    assert_close(x, tree_solve(tree, *system, u, backend="torch"), dtype)


def test_scratch_memory_of_systems_side_by_side_outlives_their_sweep() -> None:
    # So large that the C library gives it back to the system as soon as it is freed.
    tree, d, count = Tree.chain(2), 8, 16_800
    system = random_system(tree, d, torch.complex128, batch=(8,))
    u = random_right_side((8, 2, d, count), torch.complex128)
    assert_close(TreeMatrix(tree, *system) @ tree_solve(tree, *system, u), u, torch.complex128)


@every_tree
def test_each_system_side_by_side_chooses_its_own_pivots(tree: Tree) -> None:
    A, B, C = random_system(tree, 4, torch.float64, batch=(20,))
    order = torch.stack([torch.randperm(4) for _ in range(20 * tree.num_nodes)])
    A = A.take_along_dim(order.view(20, tree.num_nodes, 4, 1), dim=-2)
    A[..., 0, 0] = 0  # useless without an exchange of rows
    u = random_right_side((20, tree.num_nodes, 4, 1), torch.float64)
    x = tree_solve(tree, A, B, C, u, backend="cpu")
    assert_close(TreeMatrix(tree, A, B, C) @ x, u, torch.float64)


@every_dtype
@every_tree
def test_coefficients_of_ones_own(tree: Tree, dtype: torch.dtype) -> None:
    system = random_diagonal_system(tree, 17, dtype, batch=(3,))
    u = random_right_side((3, tree.num_nodes, 17), dtype)
    x = tree_solve_diag(tree, *system, u, backend="cpu")
    assert_close(x, tree_solve_diag(tree, *system, u, backend="torch"), dtype)
    assert torch.equal(x, TreeMatrix.diag(tree, *system).factorize(backend="cpu").solve(u))


@every_dtype
@every_tree
def test_many_systems_with_the_same_coefficients(tree: Tree, dtype: torch.dtype) -> None:
    system = random_diagonal_system(tree, 19, dtype)
    count = 4 * torch.get_num_threads() + 3
    u = random_right_side((count, tree.num_nodes, 19), dtype)
    x = tree_solve_diag(tree, *system, u, backend="cpu")
    assert_close(x, tree_solve_diag(tree, *system, u, backend="torch"), dtype)
    assert torch.equal(x, TreeMatrix.diag(tree, *system).factorize(backend="cpu").solve(u))


@pytest.fixture
def cut_small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Trees of any shape and size are cut into families, if they can be at all."""
    monkeypatch.setattr(families, "_SMALL", 0)
    for name, value in {"_NEAR": 1 << 10, "_TOP": 0, "_SHARES": 0}.items():
        monkeypatch.setattr(pieces, name, value)
    for cached in (pieces.families, families._share):
        cached.cache_clear()
    yield
    for cached in (pieces.families, families._share):
        cached.cache_clear()


def solution_and_gradients_of_many(
    tree: Tree, count: int, channels: int, dtype: torch.dtype
) -> list[Tensor]:
    """The solution of systems with one matrix, and all its gradients."""
    a, b, c = random_diagonal_system(tree, channels, dtype)
    u = random_right_side((count, tree.num_nodes, channels), dtype)
    arguments = [t.clone().requires_grad_() for t in (a, b, c, u)]
    x = tree_solve_diag(tree, *arguments, backend="cpu")
    return [x, *torch.autograd.grad(x, arguments, u.flip(0))]


@pytest.mark.usefixtures("cut_small")
@every_dtype
@every_tree
@pytest.mark.parametrize("large", [1, 1 << 24], ids=["past the caches", "in the caches"])
def test_gradients_of_many_systems_with_the_same_coefficients(
    tree: Tree, dtype: torch.dtype, large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arguments, "_LARGE", large)
    sizes = ((19, 16), (21, 5))
    eight = 8 * tree.num_nodes * 16 * dtype.itemsize
    monkeypatch.setattr(families, "_CHUNK", eight)  # go up and down before others do
    solved = count_calls(monkeypatch)
    for count, channels in sizes:
        found = solution_and_gradients_of_many(tree, count, channels, dtype)
        with monkeypatch.context() as few:
            few.setattr(shared, "share", lambda *_: None)
            expected = solution_and_gradients_of_many(tree, count, channels, dtype)
        assert all(map(torch.equal, found, expected))
    widths = [channels * dtype.itemsize for _, channels in sizes]
    assert len(solved) == sum(pieces.families(tree, width) is not None for width in widths)


@every_dtype
def test_large_families_of_many_systems(
    dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, channels = Tree.perfect(12, 3), 67  # more children than go together, no whole vectors
    assert pieces.families(tree, channels * dtype.itemsize) is not None
    found = solution_and_gradients_of_many(tree, 19, channels, dtype)
    monkeypatch.setattr(shared, "share", lambda *_: None)
    expected = solution_and_gradients_of_many(tree, 19, channels, dtype)
    assert all(map(torch.equal, found, expected))


def count_calls(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """A list that grows with each solve that sums gradients on its way down."""
    solve, calls = adjoint_sweeps.solve, list[None]()

    def counted(*arguments: object) -> None:
        calls.append(None)
        solve(*arguments)

    monkeypatch.setattr(adjoint_sweeps, "solve", counted)
    return calls


@pytest.mark.usefixtures("cut_small")
@every_dtype
def test_gradients_of_one_coefficient_for_all_channels_of_many_systems(
    dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    solved = count_calls(monkeypatch)
    system = random_diagonal_system(QUAD, 1, dtype)
    u = random_right_side((9, QUAD.num_nodes, 6), dtype)
    gradients = []
    for backend in ("cpu", "reference"):
        arguments = [t.clone().requires_grad_() for t in (*system, u)]
        x = tree_solve_diag(QUAD, *arguments, backend=backend)
        gradients.append(torch.autograd.grad(x, arguments, u.flip(0)))
    assert_close(*gradients, dtype)
    assert len(solved) == 1


@pytest.mark.parametrize(("count", "channels"), [(5, 0), (0, 3)])
def test_gradients_of_nothing(count: int, channels: int) -> None:
    _, *found = solution_and_gradients_of_many(QUAD, count, channels, torch.float32)
    assert [g.shape for g in found] == [*3 * [(QUAD.num_nodes, channels)], (count, 85, channels)]
    assert not any(g.any() for g in found)


def test_a_zero_pivot_of_many_systems_with_the_same_coefficients_is_named() -> None:
    a, b, c = random_diagonal_system(QUAD, 19, torch.float32)
    a[3, 18] = 0
    u = random_right_side((50, QUAD.num_nodes, 19), torch.float32)
    with pytest.raises(SingularBlockError) as caught:
        tree_solve_diag(QUAD, a, b, c, u)
    assert caught.value.node == 3


@every_dtype
@every_tree
@pytest.mark.parametrize("channels", [16, 19], ids=["aligned", "not aligned"])
@pytest.mark.parametrize("batch", [(), (3,)], ids=["one system", "three"])
def test_systems_too_large_for_the_caches(
    tree: Tree,
    dtype: torch.dtype,
    channels: int,
    batch: tuple[int, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Much is written past the caches where rows allow it; leaves leave something behind."""
    monkeypatch.setattr(arguments, "_LARGE", 1)
    system = random_diagonal_system(tree, channels, dtype, batch=batch)
    u = random_right_side((*batch, tree.num_nodes, channels), dtype)
    x = tree_solve_diag(tree, *system, u, backend="cpu")
    assert_close(x, tree_solve_diag(tree, *system, u, backend="reference"), dtype)
    found, expected = (
        diagonal_and_factored(tree, system, u, backend) for backend in ("cpu", "reference")
    )
    assert torch.equal(x, found[0])
    assert_close(found, expected, dtype)


def test_channels_go_through_a_large_tree_in_parts() -> None:
    tree = ragged(3000)
    system = random_diagonal_system(tree, 100, torch.float32)
    u = random_right_side((tree.num_nodes, 100), torch.float32)
    x = tree_solve_diag(tree, *system, u)
    few = tree_solve_diag(tree, *(t[:, 40:90] for t in system), u[:, 40:90])
    assert torch.equal(x[:, 40:90], few)
    assert_close(x, tree_solve_diag(tree, *system, u, backend="torch"), torch.float32)


def test_a_zero_pivot_among_many_systems_is_named() -> None:
    A, B, C = random_system(QUAD, 3, torch.float32, batch=(20,))
    A[17, 5] = 0
    with pytest.raises(SingularBlockError) as caught:
        tree_solve(QUAD, A, B, C, torch.ones(20, QUAD.num_nodes, 3, 1), backend="cpu")
    assert (caught.value.node, caught.value.batch) == (5, (17,))
    a, b, c = random_diagonal_system(QUAD, 3, torch.float32, batch=(4,))
    a[2, 7, 1] = 0
    with pytest.raises(SingularBlockError, match="channel 1") as caught:
        tree_solve_diag(QUAD, a, b, c, torch.ones(4, QUAD.num_nodes, 3), backend="cpu")
    assert (caught.value.node, caught.value.batch) == (7, (2,))


DIAGONALS = {  # a for a recurrence, from that of a random system
    "its own at each node": lambda a: a,
    "one for all nodes": lambda a: a[..., :1, :],
    "one number": lambda a: a.flatten()[0],
    "one": lambda a: torch.ones((), dtype=a.dtype),
}


@every_dtype
@every_tree
@pytest.mark.parametrize("own", DIAGONALS.values(), ids=DIAGONALS.keys())
@pytest.mark.parametrize("shared", [False, True], ids=["c at each node", "one c"])
def test_nothing_comes_down_if_b_is_a_single_zero(
    tree: Tree, dtype: torch.dtype, own: Callable[[Tensor], Tensor], shared: bool
) -> None:
    a, _, c = random_diagonal_system(tree, 3, dtype, batch=(2,))
    c = c[..., :1, :] if shared else c
    u = random_right_side((2, tree.num_nodes, 3), dtype)
    given = (own(a), torch.zeros((), dtype=dtype), c, u)
    arguments = [t.clone().requires_grad_() for t in given]
    x, expected = (
        tree_solve_diag(tree, *arguments, backend=backend) for backend in ("cpu", "torch")
    )
    assert_close(x, expected, dtype)
    assert torch.equal(x, tree_solve_diag(tree, *given, backend="cpu"))
    gradients = [torch.autograd.grad(y.abs().square().sum(), arguments) for y in (x, expected)]
    assert_close(*gradients, dtype)


def test_a_recurrence_compiles_and_maps() -> None:
    a, _, c = random_diagonal_system(QUAD, 3, torch.float64)
    zero, u = torch.zeros((), dtype=torch.float64), random_right_side(a.shape, torch.float64)

    def solve(a: Tensor, c: Tensor, u: Tensor) -> Tensor:
        return tree_solve_diag(QUAD, a, zero, c, u, backend="cpu")

    expected = solve(a, c, u)
    compiled = torch.compile(solve, fullgraph=True, backend="aot_eager")
    assert_close(compiled(a, c, u), expected, torch.float64)
    torch.compiler.reset()
    several = torch.stack([u, 2 * u])
    mapped = torch.func.vmap(solve, (None, None, 0))(a, c, several)
    assert_close(mapped, torch.stack([expected, 2 * expected]), torch.float64)


def test_a_recurrence_with_a_zero_pivot_is_named() -> None:
    a, _, c = random_diagonal_system(QUAD, 3, torch.float32)
    a[4, 2] = 0
    with pytest.raises(SingularBlockError, match="channel 2") as caught:
        tree_solve_diag(QUAD, a, torch.zeros(()), c, torch.ones(QUAD.num_nodes, 3))
    assert caught.value.node == 4


def test_a_kernel_compiles_where_nothing_can_be_cached() -> None:
    """A function without a source file has no place in Numba's cache, like a read-only disk."""
    namespace: dict[str, object] = {}
    exec("def twice(x):\n    return 2 * x", namespace)
    assert kernel(namespace["twice"])(21) == 42
