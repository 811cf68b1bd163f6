"""The positive definite family T = (I − U) D (I − Uᴴ), against the product as written."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from myosotis import DataError, ShapeError, SingularBlockError, Tree, tree_solve_factored
from myosotis.linalg.kernels import arguments, diagonal
from tests.cases import (
    BACKENDS,
    DOUBLE_DTYPES,
    DTYPES,
    SMALL_TREES,
    TREES,
    assert_close,
    random_right_side,
)

# Forward-mode differentiation scripts some of torch's own decompositions.
pytestmark = pytest.mark.filterwarnings(
    "ignore:`torch.jit.script` is deprecated:DeprecationWarning"
)

TREE = TREES["forest"]
L = TREE.num_nodes
every_tree = pytest.mark.parametrize("tree", TREES.values(), ids=TREES.keys())
every_small_tree = pytest.mark.parametrize("tree", SMALL_TREES.values(), ids=SMALL_TREES.keys())
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)
every_double_dtype = pytest.mark.parametrize("dtype", DOUBLE_DTYPES, ids=str)
every_backend = pytest.mark.parametrize("backend", BACKENDS)


def random_factors(
    tree: Tree, channels: int, dtype: torch.dtype, batch: tuple[int, ...] = ()
) -> tuple[Tensor, Tensor, Tensor]:
    """|a| ≤ 1/(2 √siblings) and 1 ≤ d ≤ 2, so that T is well conditioned; and a right-hand side."""
    shape = (*batch, tree.num_nodes, channels)
    siblings = torch.from_numpy(tree.num_children[tree.parent].clip(1)).unsqueeze(-1)
    direction = random_right_side(shape, dtype, seed=3)
    a = direction / (direction.abs() + 1) / (2 * siblings.sqrt()).to(dtype.to_real())
    d = 1 + torch.rand(shape, dtype=dtype.to_real(), generator=torch.Generator().manual_seed(4))
    return a, d, random_right_side(shape, dtype)


def dense_product(tree: Tree, a: Tensor, d: Tensor) -> Tensor:
    """(I − U) D (I − Uᴴ), (…, H, L, L), with U_{p(v),v} = a_v."""
    E = tree.num_edges
    shape = torch.broadcast_shapes(a.shape, d.shape)
    a, d = (t.expand(shape).to(a.dtype).mT for t in (a, d))
    M = torch.eye(tree.num_nodes, dtype=a.dtype).repeat(*a.shape[:-1], 1, 1)
    M[..., tree.parent[:E].copy(), range(E)] = -a[..., :E]
    return M @ torch.diag_embed(d) @ M.mH


@every_backend
@every_dtype
@every_tree
def test_solution(tree: Tree, dtype: torch.dtype, backend: str) -> None:
    a, d, u = random_factors(tree, 3, dtype, batch=(2,))
    x = tree_solve_factored(tree, a, d, u, backend=backend)
    assert x.dtype == dtype
    assert_close(
        x, torch.linalg.solve(dense_product(tree, a, d), u.mT.unsqueeze(-1))[..., 0].mT, dtype
    )


@every_backend
@pytest.mark.parametrize(
    "batches", [((), (), (4,)), ((3,), (), ()), ((2, 1), (3,), (2, 3))], ids=str
)
def test_leading_axes_broadcast(batches: tuple[tuple[int, ...], ...], backend: str) -> None:
    a, d, u = (random_factors(TREE, 2, torch.float64, b)[i] for i, b in enumerate(batches))
    x = tree_solve_factored(TREE, a, d, u, backend=backend)
    full = torch.broadcast_tensors(a, d, u)
    assert_close(x, tree_solve_factored(TREE, *full, backend=backend), torch.float64)


@every_backend
@every_double_dtype
def test_tables_are_read_at_rows(dtype: torch.dtype, backend: str) -> None:
    a, d, u = random_factors(TREE, 2, dtype)
    rows = torch.arange(L) % 5
    arguments = [t.requires_grad_() for t in (a[:5].clone(), d[:5].clone(), u)]
    x = tree_solve_factored(TREE, *arguments, rows=rows, backend=backend)
    expanded = tree_solve_factored(TREE, arguments[0][rows], arguments[1][rows], u, backend=backend)
    assert_close(x, expanded, dtype)
    actual, expected = (
        torch.autograd.grad(value.abs().square().sum(), arguments) for value in (x, expanded)
    )
    assert_close(actual, expected, dtype)


@every_dtype
@every_tree
@pytest.mark.parametrize("systems", [1, 3, 40])
def test_gradients_of_coefficients_that_nodes_share(
    tree: Tree, dtype: torch.dtype, systems: int
) -> None:
    """Sums over systems and nodes, taken on the way down where there are several systems."""
    a, d, _ = (t[:1] for t in random_factors(tree, 67, dtype))  # strips of every width
    u = random_right_side((systems, tree.num_nodes, 67), dtype)
    rows = torch.zeros(tree.num_nodes, dtype=torch.int64)
    arguments = [t.clone().requires_grad_() for t in (a, d, u)]
    x = tree_solve_factored(tree, *arguments, rows=rows)

    wide = torch.complex128 if dtype.is_complex else torch.float64
    a, d, u = [t.detach().to(wide if t.is_complex() else torch.float64) for t in arguments]
    doubles = [t.requires_grad_() for t in (a, d, u)]
    T = dense_product(tree, a[rows], d[rows])
    expected = torch.linalg.solve(T, u.mT.unsqueeze(-1)).squeeze(-1).mT
    actual, wanted = (
        torch.autograd.grad(y.abs().square().sum(), t)
        for y, t in ((x, arguments), (expected, doubles))
    )
    assert_close(actual, wanted, dtype)


@every_backend
def test_a_at_roots_is_ignored(backend: str) -> None:
    a, d, u = random_factors(TREE, 2, torch.float64)
    x = tree_solve_factored(TREE, a, d, u, backend=backend)
    a[TREE.num_edges :] = torch.nan
    assert torch.equal(tree_solve_factored(TREE, a, d, u, backend=backend), x)


@every_backend
@every_double_dtype
@every_small_tree
def test_derivatives(tree: Tree, dtype: torch.dtype, backend: str) -> None:
    arguments = [t.requires_grad_() for t in random_factors(tree, 2, dtype)]

    def function(*arguments: Tensor) -> Tensor:
        return tree_solve_factored(tree, *arguments, backend=backend)

    assert gradcheck(
        function, arguments, check_forward_ad=True, check_batched_grad=True, fast_mode=True
    )
    assert gradgradcheck(function, arguments, check_fwd_over_rev=True, fast_mode=True)


@every_backend
def test_vmap_equals_the_batched_call(backend: str) -> None:
    def function(*arguments: Tensor) -> Tensor:
        return tree_solve_factored(TREE, *arguments, backend=backend)

    a, d, u = random_factors(TREE, 2, torch.float64, batch=(3,))
    assert_close(torch.func.vmap(function)(a, d, u), function(a, d, u), torch.float64)
    shared = torch.func.vmap(function, (None, None, 0))(a[0], d[0], u)
    assert_close(shared, function(a[0], d[0], u), torch.float64)


@every_backend
@every_double_dtype
def test_compile(dtype: torch.dtype, backend: str) -> None:
    def function(*arguments: Tensor) -> Tensor:
        return tree_solve_factored(TREE, *arguments, backend=backend)

    arguments = [t.requires_grad_() for t in random_factors(TREE, 2, dtype)]
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    x, expected = compiled(*arguments), function(*arguments)
    assert_close(x, expected, dtype)
    gradients = [torch.autograd.grad(y.abs().square().sum(), arguments) for y in (x, expected)]
    assert_close(*gradients, dtype)
    torch.compiler.reset()


@every_backend
def test_a_zero_in_d_is_named(backend: str) -> None:
    a, d, u = random_factors(TREE, 3, torch.float64, batch=(4,))
    d[2, 5, 1] = 0
    with pytest.raises(SingularBlockError, match="channel 1") as caught:
        tree_solve_factored(TREE, a, d, u, backend=backend)
    assert (caught.value.node, caught.value.batch) == (5, (2,))


@pytest.mark.parametrize(
    "rows", [torch.full((L,), 5), torch.full((L,), -1), torch.zeros(L - 1).long(), torch.zeros(L)]
)
def test_rows_that_do_not_fit(rows: Tensor) -> None:
    a, d, u = random_factors(TREE, 2, torch.float64)
    with pytest.raises(ShapeError, match="rows"):
        tree_solve_factored(TREE, a[:5], d[:5], u, rows=rows)


@pytest.mark.parametrize("name", "adu")
def test_shapes_that_do_not_fit(name: str) -> None:
    given = dict(zip("adu", random_factors(TREE, 2, torch.float64), strict=True))
    given[name] = given[name][:-2]
    with pytest.raises(ShapeError, match=rf"^{name} has shape"):
        tree_solve_factored(TREE, *given.values())


def test_d_may_be_complex_if_it_is_real() -> None:
    a, d, u = random_factors(TREE, 2, torch.complex128)
    expected = tree_solve_factored(TREE, a, d, u)
    assert_close(tree_solve_factored(TREE, a, d.to(torch.complex128), u), expected, a.dtype)
    with pytest.raises(DataError, match="imaginary part"):
        tree_solve_factored(TREE, a, d + 1j, u)


def test_nan_is_named_if_asked_for() -> None:
    a, d, u = random_factors(TREE, 2, torch.float64)
    d[1, 1] = torch.nan
    with pytest.raises(DataError, match=r"d\[1, 1\] is nan"):
        tree_solve_factored(TREE, a, d, u, check_finite=True)


def test_coefficients_that_do_not_broadcast() -> None:
    a, d, u = random_factors(TREE, 4, torch.float64)
    with pytest.raises(ShapeError, match="do not broadcast"):
        tree_solve_factored(TREE, a, d[..., :3], u)


def test_tables_of_different_length() -> None:
    rows = torch.zeros(L, dtype=torch.int64)
    with pytest.raises(ShapeError, match="with the same R"):
        tree_solve_factored(TREE, torch.ones(2, 1), torch.ones(3, 1), torch.ones(L, 1), rows=rows)


def test_memory_of_coefficients_can_still_be_resized() -> None:
    tree = Tree.perfect(2, 3)
    a, d = (torch.full((tree.num_nodes, 2), 0.5, requires_grad=True) for _ in range(2))
    tree_solve_factored(tree, a, d, torch.ones(3, tree.num_nodes, 2)).sum().backward()
    assert all(t.untyped_storage().resizable() for t in (a, d))


@every_dtype
@every_tree
def test_inner_nodes_have_rows_of_their_own_while_systems_are_solved(
    tree: Tree, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results too large for the caches are written once, and have the same bits."""
    a, d, u = random_factors(tree, 16, dtype, batch=(9,))
    rows = torch.from_numpy(tree.depth % 2)  # nodes share coefficients: these stay in the caches
    inputs = [a[0, :1].repeat(2, 1), d[1, :1].repeat(2, 1), u]
    apart = []

    def sweep_arguments(*given: Any) -> tuple[Any, ...]:
        apart.append(given[-1])
        return arguments.sweep_arguments(*given)

    def solved() -> list[Tensor]:
        x = tree_solve_factored(tree, *inputs, rows=rows, backend="cpu")
        return [x, *torch.autograd.grad(x, inputs, u.flip(0))]

    for t in inputs:
        t.requires_grad_()
    expected = solved()
    monkeypatch.setattr(arguments, "_LARGE", 1)
    monkeypatch.setattr(diagonal, "sweep_arguments", sweep_arguments)
    assert all(map(torch.equal, solved(), expected))
    assert [t.shape[1] for t in apart] == [tree.num_nodes - tree.num_leaves] * 2
