"""Derivatives of everything in everything: finite differences, and autograd through the loops."""

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from myosotis import Tree, TreeMatrix, tree_solve, tree_solve_diag
from myosotis.linalg import reference
from tests.cases import (
    BACKENDS,
    DOUBLE_DTYPES,
    DTYPES,
    FAST_BACKENDS,
    SMALL_TREES,
    TREES,
    assert_close,
    dense_diagonal_matrix,
    dense_matrix,
    random_diagonal_system,
    random_level_right_side,
    random_level_system,
    random_right_side,
    random_system,
    stack,
)

# Forward-mode differentiation scripts some of torch's own decompositions.
pytestmark = pytest.mark.filterwarnings(
    "ignore:`torch.jit.script` is deprecated:DeprecationWarning"
)

Function = Callable[..., Tensor]

every_backend = pytest.mark.parametrize("backend", BACKENDS)
every_fast_backend = pytest.mark.parametrize("backend", FAST_BACKENDS)  # in finite differences
every_double_dtype = pytest.mark.parametrize("dtype", DOUBLE_DTYPES, ids=str)
every_small_tree = pytest.mark.parametrize("tree", SMALL_TREES.values(), ids=SMALL_TREES.keys())


def solve(tree: Tree, backend: str, *arguments: Tensor) -> Tensor:
    *blocks, u = arguments
    return TreeMatrix(tree, *blocks).factorize(backend=backend).solve(u)


def solve_adjoint(tree: Tree, backend: str, *arguments: Tensor) -> Tensor:
    *blocks, u = arguments
    return TreeMatrix(tree, *blocks).factorize(backend=backend).solve_adjoint(u)


def solve_diag(tree: Tree, backend: str, *arguments: Tensor) -> Tensor:
    return tree_solve_diag(tree, *arguments, backend=backend)


def solve_adjoint_diag(tree: Tree, backend: str, *arguments: Tensor) -> Tensor:
    *blocks, u = arguments
    return TreeMatrix.diag(tree, *blocks).factorize(backend=backend).solve_adjoint(u)


def logdet(tree: Tree, backend: str, *blocks: Tensor) -> Tensor:
    return TreeMatrix(tree, *blocks).logdet(backend=backend)


def logdet_diag(tree: Tree, backend: str, *blocks: Tensor) -> Tensor:
    return TreeMatrix.diag(tree, *blocks).logdet(backend=backend)


def inverse_blocks(tree: Tree, backend: str, *blocks: Tensor) -> Tensor:
    return torch.cat(TreeMatrix(tree, *blocks).inverse_blocks())


def inverse_blocks_diag(tree: Tree, backend: str, *blocks: Tensor) -> Tensor:
    return torch.cat(TreeMatrix.diag(tree, *blocks).inverse_blocks())


def influence(tree: Tree, backend: str, *blocks: Tensor) -> Tensor:
    return TreeMatrix(tree, *blocks).influence(0)


def product(tree: Tree, backend: str, *arguments: Tensor) -> Tensor:
    *blocks, x = arguments
    return TreeMatrix(tree, *blocks) @ x


OF_MATRIX_AND_VECTOR = [solve, solve_adjoint, product]
OF_MATRIX = [logdet, inverse_blocks, influence]
OF_DIAGONALS_AND_VECTOR = [solve_diag, solve_adjoint_diag]
OF_DIAGONALS = [logdet_diag, inverse_blocks_diag]
FUNCTIONS = [*OF_MATRIX_AND_VECTOR, *OF_MATRIX, *OF_DIAGONALS_AND_VECTOR, *OF_DIAGONALS]
USES_THE_BACKEND = {solve, solve_adjoint, solve_diag, solve_adjoint_diag, logdet, logdet_diag}
CASES = [
    pytest.param(function, backend, id=f"{function.__name__}-{backend}")
    for function in FUNCTIONS
    for backend in (FAST_BACKENDS if function in USES_THE_BACKEND else FAST_BACKENDS[:1])
]
every_function = pytest.mark.parametrize(("function", "backend"), CASES)


def arguments_of(
    function: Function, tree: Tree, dtype: torch.dtype, batch: tuple[int, ...] = ()
) -> list[Tensor]:
    diagonal = function in (*OF_DIAGONALS_AND_VECTOR, *OF_DIAGONALS)
    system = random_diagonal_system if diagonal else random_system
    arguments = [*system(tree, 2, dtype, batch=batch)]
    if function in (*OF_MATRIX_AND_VECTOR, *OF_DIAGONALS_AND_VECTOR):
        arguments.append(random_right_side((*batch, tree.num_nodes, 2, 1)[: 3 - diagonal], dtype))
    return [t.requires_grad_() for t in arguments]


def check_first_derivatives(
    function: Function, tree: Tree, backend: str, arguments: list[Tensor], fast: bool
) -> None:
    assert gradcheck(
        lambda *arguments: function(tree, backend, *arguments),
        arguments,
        check_forward_ad=True,
        check_batched_grad=True,
        fast_mode=fast,
    )


def check_second_derivatives(
    function: Function, tree: Tree, backend: str, arguments: list[Tensor], fast: bool
) -> None:
    assert gradgradcheck(
        lambda *arguments: function(tree, backend, *arguments),
        arguments,
        check_fwd_over_rev=True,
        fast_mode=fast,
    )


@every_double_dtype
@every_small_tree
@every_function
def test_first_derivatives(
    function: Function, backend: str, tree: Tree, dtype: torch.dtype
) -> None:
    arguments = arguments_of(function, tree, dtype)
    check_first_derivatives(function, tree, backend, arguments, fast=True)


def second_derivatives() -> Iterator[object]:
    """Real numbers on every tree, complex ones, which take three times as long, on two of them."""
    for name, tree in SMALL_TREES.items():
        yield pytest.param(tree, torch.float64, id=f"{name}-float64")
        if name in ("ragged", "forest"):
            yield pytest.param(tree, torch.complex128, id=f"{name}-complex128")


@pytest.mark.parametrize(("tree", "dtype"), list(second_derivatives()))
@every_function
def test_second_derivatives(
    function: Function, backend: str, tree: Tree, dtype: torch.dtype
) -> None:
    arguments = arguments_of(function, tree, dtype)
    check_second_derivatives(function, tree, backend, arguments, fast=True)


# The shortest chain of which a node is compressed: every formula of an elimination is met.
CHAIN = Tree.chain(4)


@every_fast_backend
@pytest.mark.parametrize(
    ("function", "dtype"),
    [
        (solve, torch.float64),
        (solve_diag, torch.complex128),
        (solve_adjoint_diag, torch.float64),
        (logdet_diag, torch.complex128),
    ],
)
def test_every_entry_of_the_first_derivative(
    function: Function, dtype: torch.dtype, backend: str
) -> None:
    arguments = arguments_of(function, CHAIN, dtype)
    check_first_derivatives(function, CHAIN, backend, arguments, fast=False)


@every_fast_backend
@every_double_dtype
@pytest.mark.parametrize("function", [solve_diag, logdet_diag])
def test_every_entry_of_the_second_derivative(
    function: Function, dtype: torch.dtype, backend: str
) -> None:
    arguments = [t[:, :1].detach().requires_grad_() for t in arguments_of(function, CHAIN, dtype)]
    check_second_derivatives(function, CHAIN, backend, arguments, fast=False)


@every_fast_backend
@every_double_dtype
def test_third_derivatives(dtype: torch.dtype, backend: str) -> None:
    arguments = arguments_of(solve_diag, CHAIN, dtype)

    def gradient(*arguments: Tensor) -> tuple[Tensor, ...]:
        x = tree_solve_diag(CHAIN, *arguments, backend=backend)
        return torch.autograd.grad(x.abs().square().sum(), arguments, create_graph=True)

    assert gradgradcheck(gradient, arguments, fast_mode=True)


@every_fast_backend
@every_double_dtype
def test_blocks_per_level(dtype: torch.dtype, backend: str) -> None:
    tree, sizes = Tree([-1, 0, 0, 1]), [1, 2, 1]
    system = random_level_system(tree, sizes, dtype)
    u = random_level_right_side(tree, sizes, 1, dtype)
    counts = [len(part) for part in (*system, u)]
    arguments = [t.detach().clone().requires_grad_() for part in (*system, u) for t in part]

    def function(tree: Tree, backend: str, *arguments: Tensor) -> Tensor:
        it = iter(arguments)
        parts = [[next(it) for _ in range(count)] for count in counts]
        return stack(tree_solve(tree, *parts, backend=backend))

    check_first_derivatives(function, tree, backend, arguments, fast=True)
    check_second_derivatives(function, tree, backend, arguments, fast=True)


SHAPES = {  # leading axes of the blocks and of u
    "matrix shared": ((), (2,)),
    "right-hand side shared": ((2,), ()),
    "ones": ((2, 1), (1, 2)),
}


@every_fast_backend
@pytest.mark.parametrize("batch", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("diagonal", [False, True], ids=["dense", "diagonal"])
def test_gradients_are_summed_over_broadcast_axes(
    batch: tuple[tuple[int, ...], ...], diagonal: bool, backend: str
) -> None:
    tree, dtype = SMALL_TREES["forest"], torch.float64
    system = random_diagonal_system if diagonal else random_system
    blocks = system(tree, 2, dtype, batch=batch[0])
    u = random_right_side((*batch[1], tree.num_nodes, 2, 2)[: len(batch[1]) + 3 - diagonal], dtype)
    arguments = [t.requires_grad_() for t in (*blocks, u)]
    function = solve_diag if diagonal else solve
    check_first_derivatives(function, tree, backend, arguments, fast=True)
    check_second_derivatives(function, tree, backend, arguments, fast=True)


@every_fast_backend
def test_nodes_and_channels_that_were_broadcast(backend: str) -> None:
    tree = SMALL_TREES["forest"]
    a, b, c = torch.tensor([3.0, 2.5]), torch.tensor(0.5), torch.randn(tree.num_nodes, 1) / 8
    arguments = [t.double().requires_grad_() for t in (a, b, c, torch.randn(tree.num_nodes, 2))]
    check_first_derivatives(solve_diag, tree, backend, arguments, fast=False)


def gradients(x: Tensor, arguments: list[Tensor]) -> list[Tensor]:
    """Of some function of x; zero where x does not depend on an argument."""
    weight = random_right_side(x.shape, x.dtype, seed=2)
    value = (x * weight).abs().square().sum()
    return list(torch.autograd.grad(value, arguments, materialize_grads=True))


@every_backend
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("tree", TREES.values(), ids=TREES.keys())
def test_gradients_equal_those_of_the_reference(
    tree: Tree, dtype: torch.dtype, backend: str
) -> None:
    arguments = arguments_of(solve, tree, dtype)
    actual = gradients(tree_solve(tree, *arguments, backend=backend), arguments)
    expected = gradients(reference.solve(tree, *arguments), arguments)
    assert_close(actual, expected, dtype)
    arguments = arguments_of(solve_diag, tree, dtype)
    actual = gradients(tree_solve_diag(tree, *arguments, backend=backend), arguments)
    expected = gradients(reference.solve_diag(tree, *arguments), arguments)
    assert_close(actual, expected, dtype)


@every_backend
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("tree", TREES.values(), ids=TREES.keys())
def test_gradients_of_logdet_equal_those_of_the_dense_matrix(
    tree: Tree, dtype: torch.dtype, backend: str
) -> None:
    for function, dense in ((logdet, dense_matrix), (logdet_diag, dense_diagonal_matrix)):
        arguments = arguments_of(function, tree, dtype)
        expected = torch.linalg.slogdet(dense(tree, *arguments)).logabsdet
        actual = function(tree, backend, *arguments)
        assert_close(actual, expected, dtype)
        assert_close(gradients(actual, arguments), gradients(expected, arguments), dtype)


@every_backend
@pytest.mark.parametrize("wanted", range(4), ids="ABCu")
def test_one_argument_at_a_time(wanted: int, backend: str) -> None:
    tree = TREES["ragged"]
    arguments = arguments_of(solve, tree, torch.float64)
    expected = gradients(tree_solve(tree, *arguments, backend=backend), arguments)[wanted]
    single = [t.detach().requires_grad_(i == wanted) for i, t in enumerate(arguments)]
    x = tree_solve(tree, *single, backend=backend)
    assert torch.equal(gradients(x, [single[wanted]])[0], expected)


@every_backend
def test_roots_receive_no_gradient_in_b_and_c(backend: str) -> None:
    tree = TREES["forest"]
    _, B, C, _ = gradients(
        tree_solve(tree, *(arguments := arguments_of(solve, tree, torch.float64)), backend=backend),
        arguments,
    )
    for gradient in (B, C):
        assert (gradient[tree.num_edges :] == 0).all()
        assert (gradient[: tree.num_edges] != 0).all()


@every_fast_backend
@pytest.mark.parametrize("tree", [TREES["forest"], Tree.quadtree(40, 33)], ids=["forest", "quad"])
@pytest.mark.parametrize("batch", [(), (9,)], ids=["one matrix", "a matrix each"])
@pytest.mark.parametrize("without", [(1,), (2,), (1, 2)], ids=["b", "c", "b and c"])
@pytest.mark.parametrize("channels", [1, 16])
def test_rows_of_roots_make_no_difference(
    tree: Tree, batch: tuple[int, ...], without: tuple[int, ...], channels: int, backend: str
) -> None:
    E = tree.num_edges
    system = random_diagonal_system(tree, channels, torch.float64, batch=batch)
    u = random_right_side((9, tree.num_nodes, channels), torch.float64)
    full = [t.requires_grad_() for t in (*system, u)]
    cut = [
        (t[..., :E, :] if i in without else t).detach().requires_grad_() for i, t in enumerate(full)
    ]
    x, y = (tree_solve_diag(tree, *arguments, backend=backend) for arguments in (full, cut))
    assert torch.equal(x, y)
    for second in (False, True):
        found, expected = (
            torch.autograd.grad(z.square().sum(), arguments, retain_graph=True, create_graph=second)
            for z, arguments in ((x, full), (y, cut))
        )
        if second:
            found, expected = (
                torch.autograd.grad(sum(g.square().sum() for g in first), arguments)
                for first, arguments in ((found, full), (expected, cut))
            )
        for i, (whole, short) in enumerate(zip(found, expected, strict=True)):
            assert torch.equal(whole[..., : short.shape[-2], :], short)
            if i in (1, 2):
                assert (whole[..., E:, :] == 0).all()


@every_backend
def test_half_precision_gradients_come_back_in_half_precision(backend: str) -> None:
    tree = TREES["forest"]
    arguments = [
        t.detach().bfloat16().requires_grad_() for t in arguments_of(solve, tree, torch.float32)
    ]
    actual = torch.autograd.grad(tree_solve(tree, *arguments, backend=backend).sum(), arguments)
    assert all(g.dtype == torch.bfloat16 and g.isfinite().all() for g in actual)


@every_backend
def test_one_factor_serves_the_gradients_of_many_solutions(backend: str) -> None:
    tree = TREES["ragged"]
    *blocks, u = arguments_of(solve, tree, torch.float64)
    F = TreeMatrix(tree, *blocks).factorize(backend=backend)
    together = gradients(F.solve(u) + F.solve_adjoint(u), blocks)
    M = TreeMatrix(tree, *blocks)
    apart = gradients(M.solve(u, backend=backend) + M.H.solve(u, backend=backend), blocks)
    assert_close(together, apart, torch.float64)
