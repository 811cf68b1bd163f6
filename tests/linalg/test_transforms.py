"""torch.compile, torch.export, vmap and the rest of torch.func give the eager values."""

import io
import shutil
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

from myosotis import Tree, TreeMatrix, tree_solve, tree_solve_diag
from myosotis.linalg import ops
from myosotis.linalg.plan import parent_tensor, plan_for
from tests.cases import (
    BACKENDS,
    TREES,
    assert_close,
    level_sizes,
    random_diagonal_system,
    random_level_right_side,
    random_level_system,
    random_right_side,
    random_system,
)

pytestmark = [
    # Forward-mode differentiation scripts some of torch's own decompositions.
    pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning"),
    # Exporting and compiling go through torch's own deprecated names.
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.*"),
    pytest.mark.filterwarnings("ignore::FutureWarning:torch.*"),
]

TREE = TREES["forest"]
SMALL = Tree([-1, 0, 0, 1, 1, 3, 5])
DOUBLE = torch.float64

every_backend = pytest.mark.parametrize("backend", BACKENDS)
every_kind = pytest.mark.parametrize("kind", ["dense", "diagonal"])

inductor = pytest.mark.skipif(
    not any(map(shutil.which, ("g++", "clang++", "c++"))), reason="inductor needs a C++ compiler"
)
every_compiler = pytest.mark.parametrize(
    "compiler", ["aot_eager", pytest.param("inductor", marks=inductor)]
)


@pytest.fixture(autouse=True)
def _forget_compiled_code() -> Iterator[None]:
    yield
    torch.compiler.reset()


def solver(kind: str) -> Callable[..., Tensor]:
    return tree_solve if kind == "dense" else tree_solve_diag


def arguments_of(
    tree: Tree, kind: str, dtype: torch.dtype = DOUBLE, batch: tuple[int, ...] = ()
) -> list[Tensor]:
    if kind == "dense":
        blocks = random_system(tree, 2, dtype, batch=batch)
        return [*blocks, random_right_side((*batch, tree.num_nodes, 2, 2), dtype)]
    blocks = random_diagonal_system(tree, 2, dtype, batch=batch)
    return [*blocks, random_right_side((*batch, tree.num_nodes, 2), dtype)]


def value_and_gradients(function: Callable[..., Tensor], arguments: list[Tensor]) -> list[Tensor]:
    arguments = [t.detach().requires_grad_() for t in arguments]
    x = function(*arguments)
    return [x, *torch.autograd.grad(x.abs().square().sum(), arguments)]


# Compiled ---------------------------------------------------------------------------------------


def assert_compiles(
    function: Callable[..., Tensor], arguments: list[Tensor], compiler: str = "aot_eager"
) -> None:
    compiled = torch.compile(function, fullgraph=True, backend=compiler)
    actual = value_and_gradients(compiled, arguments)
    assert_close(actual, value_and_gradients(function, arguments), arguments[0].dtype)


@every_compiler
@every_kind
def test_compile_forward_and_backward(kind: str, compiler: str) -> None:
    def function(*arguments: Tensor) -> Tensor:
        return 2 * solver(kind)(TREE, *arguments).tanh()

    assert_compiles(function, arguments_of(TREE, kind), compiler)


@every_backend
@every_kind
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128], ids=str)
def test_compile_every_backend(kind: str, dtype: torch.dtype, backend: str) -> None:
    def function(*arguments: Tensor) -> Tensor:
        return solver(kind)(TREE, *arguments, backend=backend)

    assert_compiles(function, arguments_of(TREE, kind, dtype))


@every_kind
def test_compile_with_a_tree_that_was_never_used_before(kind: str) -> None:
    """What a tree derives from its parents on demand must not be in the way of tracing."""
    tree = Tree([-1, 0, 0, 1, 1, 3, 5, 2, 2, 7])

    def function(*arguments: Tensor) -> Tensor:
        return solver(kind)(tree, *arguments)

    assert_compiles(function, arguments_of(Tree(tree.parent), kind))


def test_compile_blocks_per_level() -> None:
    sizes = level_sizes(TREE)
    system = random_level_system(TREE, sizes, DOUBLE)
    u = random_level_right_side(TREE, sizes, 1, DOUBLE)
    compiled = torch.compile(
        lambda *arguments: tree_solve(TREE, *arguments), fullgraph=True, backend="aot_eager"
    )
    assert_close(compiled(*system, u), tree_solve(TREE, *system, u), DOUBLE)


@every_kind
def test_compile_again_for_another_tree(kind: str) -> None:
    """Trees of equal size, so that nothing but the tree tells them apart."""

    def function(tree: Tree, *arguments: Tensor) -> Tensor:
        return solver(kind)(tree, *arguments)

    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    trees = [Tree.chain(7), Tree.star(6), Tree.perfect(2, 2), SMALL, Tree.chain(7)]
    for tree in trees:
        arguments = arguments_of(Tree.chain(7), kind)
        arguments[0] = 9 * arguments[0]
        assert_close(compiled(tree, *arguments), function(tree, *arguments), DOUBLE)


def test_compile_other_batch_sizes() -> None:
    compiled = torch.compile(
        lambda *arguments: tree_solve_diag(TREE, *arguments), fullgraph=True, backend="aot_eager"
    )
    for size in (2, 3, 5):
        arguments = arguments_of(TREE, "diagonal", batch=(size,))
        assert_close(compiled(*arguments), tree_solve_diag(TREE, *arguments), DOUBLE)


@every_compiler
@every_kind
def test_compile_vmap(kind: str, compiler: str) -> None:
    def function(*arguments: Tensor) -> Tensor:
        return solver(kind)(TREE, *arguments)

    arguments = arguments_of(TREE, kind, batch=(3,))
    compiled = torch.compile(vmap(function), fullgraph=True, backend=compiler)
    assert_close(compiled(*arguments), function(*arguments), DOUBLE)


def test_compile_a_factor_that_serves_many_solves() -> None:
    def function(a: Tensor, b: Tensor, c: Tensor, u: Tensor) -> Tensor:
        F = TreeMatrix.diag(TREE, a, b, c).factorize()
        return F.solve(u) + F.solve_adjoint(2 * u)

    assert_compiles(function, arguments_of(TREE, "diagonal"))


# Exported ---------------------------------------------------------------------------------------


class Solver(torch.nn.Module):
    """A layer with its coefficients as parameters."""

    def __init__(self, tree: Tree, kind: str) -> None:
        super().__init__()
        self.tree, self.solve = tree, solver(kind)
        *blocks, _ = arguments_of(tree, kind)
        self.blocks = torch.nn.ParameterList([t.contiguous() for t in blocks])

    def forward(self, u: Tensor) -> Tensor:
        return self.solve(self.tree, *self.blocks, u)


def saved_and_loaded(program: torch.export.ExportedProgram) -> torch.nn.Module:
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    buffer.seek(0)
    return torch.export.load(buffer).module()


@every_kind
def test_export_save_load_and_run(kind: str) -> None:
    """Several trees of one size in turn: a program must keep to the tree it was made with."""
    trees = [SMALL, Tree.chain(7), Tree.star(6), SMALL]
    layers = [Solver(tree, kind) for tree in trees]
    u = arguments_of(SMALL, kind)[3]
    programs = [saved_and_loaded(torch.export.export(layer, (u,))) for layer in layers]
    for layer, program in zip(layers, programs, strict=True):
        assert_close(program(u), layer(u), DOUBLE)
        assert_close(program(3 * u), layer(3 * u), DOUBLE)


def test_export_of_a_tree_that_was_never_used_leaves_eager_code_alone() -> None:
    """What tracing made of the tree must not be kept for later solves with it."""
    tree = Tree([-1, 0, 1, 1, 0, 4, 4])
    layer = Solver(tree, "diagonal")
    u = torch.randn(7, 2, dtype=DOUBLE)
    program = torch.export.export(layer, (u,)).module()
    expected = TreeMatrix.diag(tree, *layer.blocks).to_dense("canonical")
    x = torch.linalg.solve(expected, u.mT).mT
    assert_close(layer(u), x, DOUBLE)
    assert_close(program(u), x, DOUBLE)


def test_export_with_a_dynamic_batch() -> None:
    layer = Solver(SMALL, "diagonal")
    u = torch.randn(4, 7, 2, dtype=DOUBLE)
    size = torch.export.Dim("batch", min=2, max=64)
    program = torch.export.export(layer, (u,), dynamic_shapes={"u": {0: size}}).module()
    u = torch.randn(9, 7, 2, dtype=DOUBLE)
    assert_close(program(u), layer(u), DOUBLE)


def test_exported_programs_can_be_trained() -> None:
    layer = Solver(SMALL, "diagonal")
    u = torch.randn(7, 2, dtype=DOUBLE)
    program = saved_and_loaded(torch.export.export(layer, (u,)))
    program(u).square().sum().backward()
    layer(u).square().sum().backward()
    gradients = [[p.grad for p in module.parameters()] for module in (program, layer)]
    assert_close(*gradients, DOUBLE)


# Batched ----------------------------------------------------------------------------------------

IN_DIMS = {
    "all": (0, 0, 0, 0),
    "only u": (None, None, None, 0),
    "only the matrix": (0, 0, 0, None),
    "only A": (0, None, None, None),
    "B and u": (None, 0, None, 0),
    "C last": (None, None, -1, 0),
    "elsewhere": (1, 0, -1, 2),
}
every_in_dims = pytest.mark.parametrize("in_dims", IN_DIMS.values(), ids=IN_DIMS.keys())


def vmapped_and_batched(
    kind: str, in_dims: tuple[int | None, ...]
) -> tuple[list[Tensor], list[Tensor]]:
    """Arguments as vmap takes them, and the same with the batch axis in front."""
    arguments = [
        t[0] if dim is None else t
        for t, dim in zip(arguments_of(SMALL, kind, batch=(3,)), in_dims, strict=True)
    ]
    moved = [
        t if dim is None else t.movedim(0, dim) for t, dim in zip(arguments, in_dims, strict=True)
    ]
    return moved, arguments


@every_backend
@every_in_dims
@every_kind
def test_vmap_equals_the_batched_call(
    kind: str, in_dims: tuple[int | None, ...], backend: str
) -> None:
    def function(*arguments: Tensor) -> Tensor:
        return solver(kind)(SMALL, *arguments, backend=backend)

    moved, arguments = vmapped_and_batched(kind, in_dims)
    assert_close(vmap(function, in_dims)(*moved), function(*arguments), DOUBLE)


@every_backend
@every_in_dims
@every_kind
def test_gradients_through_vmap(kind: str, in_dims: tuple[int | None, ...], backend: str) -> None:
    def function(*arguments: Tensor) -> Tensor:
        return solver(kind)(SMALL, *arguments, backend=backend)

    moved, arguments = vmapped_and_batched(kind, in_dims)
    _, *actual = value_and_gradients(vmap(function, in_dims), moved)
    _, *expected = value_and_gradients(function, arguments)
    back = [t if dim is None else t.movedim(dim, 0) for t, dim in zip(actual, in_dims, strict=True)]
    assert_close(back, expected, DOUBLE)


@every_backend
@every_kind
def test_vmap_within_vmap(kind: str, backend: str) -> None:
    def function(*arguments: Tensor) -> Tensor:
        return solver(kind)(SMALL, *arguments, backend=backend)

    arguments = arguments_of(SMALL, kind, batch=(2, 3))
    nested = vmap(vmap(function, in_dims=(0, 0, 0, 0)), in_dims=(0, 0, 0, 0))
    assert_close(nested(*arguments), function(*arguments), DOUBLE)
    nested = vmap(vmap(function, (None, None, None, 0)), (0, 0, 0, 0))
    shared = [*(t[:, 0] for t in arguments[:3]), arguments[3]]
    expected = function(*(t.unsqueeze(1) for t in shared[:3]), shared[3])
    assert_close(nested(*shared), expected, DOUBLE)


@every_backend
def test_vmap_of_logdet(backend: str) -> None:
    def function(*blocks: Tensor) -> Tensor:
        return TreeMatrix(SMALL, *blocks).logdet(backend=backend)

    blocks = arguments_of(SMALL, "dense", batch=(3,))[:3]
    assert_close(vmap(function)(*blocks), function(*blocks), DOUBLE)


@pytest.mark.filterwarnings("ignore:There is a performance drop.*index_copy_:UserWarning")
@pytest.mark.parametrize("name", ["inverse_blocks", "influence", "product"])
def test_vmap_of_what_a_matrix_offers(name: str) -> None:
    def function(*blocks: Tensor) -> Tensor:
        M = TreeMatrix(SMALL, *blocks)
        if name == "inverse_blocks":
            return M.inverse_blocks()[1]
        return M.influence(2) if name == "influence" else M @ blocks[0]

    blocks = arguments_of(SMALL, "dense", batch=(3,))[:3]
    assert_close(vmap(function)(*blocks), function(*blocks), DOUBLE)


# Differentiated ---------------------------------------------------------------------------------


@every_backend
@every_kind
def test_grad_equals_autograd(kind: str, backend: str) -> None:
    def loss(*arguments: Tensor) -> Tensor:
        return solver(kind)(SMALL, *arguments, backend=backend).square().sum()

    arguments = arguments_of(SMALL, kind)
    expected = torch.autograd.grad(
        loss(*(leaves := [t.detach().requires_grad_() for t in arguments])), leaves
    )
    assert_close(grad(loss, argnums=(0, 1, 2, 3))(*arguments), expected, DOUBLE)


@every_backend
@every_kind
def test_per_sample_gradients(kind: str, backend: str) -> None:
    """vmap(grad(f)): the matrix shared, one gradient of it for each right-hand side."""

    def loss(*arguments: Tensor) -> Tensor:
        return solver(kind)(SMALL, *arguments, backend=backend).square().sum()

    *blocks, _ = arguments_of(SMALL, kind)
    us = arguments_of(SMALL, kind, batch=(3,))[3]
    together = vmap(grad(loss, argnums=(0, 1, 2)), (None, None, None, 0))(*blocks, us)
    apart = [grad(loss, argnums=(0, 1, 2))(*blocks, u) for u in us]
    assert_close(together, [torch.stack(parts) for parts in zip(*apart, strict=True)], DOUBLE)


@every_backend
@every_kind
def test_jvp_and_vjp_are_adjoint(kind: str, backend: str) -> None:
    def function(*arguments: Tensor) -> Tensor:
        return solver(kind)(SMALL, *arguments, backend=backend)

    arguments = arguments_of(SMALL, kind)
    tangents = [random_right_side(t.shape, DOUBLE, seed) for seed, t in enumerate(arguments)]
    x, x_dot = jvp(function, tuple(arguments), tuple(tangents))
    _, pull = vjp(function, *arguments)
    weight = random_right_side(x.shape, DOUBLE, 9)
    pulled = sum((g * t).sum() for g, t in zip(pull(weight), tangents, strict=True))
    assert_close(x, function(*arguments), DOUBLE)
    assert abs((weight * x_dot).sum() - pulled) < 1e-12 * weight.norm() * x_dot.norm()


@every_backend
@every_kind
def test_jacobians_of_the_right_hand_side_are_the_inverse(kind: str, backend: str) -> None:
    arguments = arguments_of(SMALL, kind)
    n = arguments[3][..., 0].numel() if kind == "dense" else 7

    def function(u: Tensor) -> Tensor:
        return solver(kind)(SMALL, *blocks, u, backend=backend)

    if kind == "dense":
        blocks, u = arguments[:3], arguments[3][..., :1]
        inverse = torch.linalg.inv(TreeMatrix(SMALL, *blocks).to_dense(order="canonical"))
    else:
        blocks, u = [t[:, :1] for t in arguments[:3]], arguments[3][:, :1]
        inverse = torch.linalg.inv(TreeMatrix.diag(SMALL, *blocks).to_dense(order="canonical")[0])
    for jacobian in (jacrev, jacfwd):
        assert_close(jacobian(function)(u).reshape(n, n), inverse, DOUBLE)


@every_backend
def test_hessian(backend: str) -> None:
    """Of log a = θ, by the closed form for one node: x = u e^(−θ)."""
    tree = Tree.chain(1)
    one = torch.ones(1, 1, dtype=DOUBLE)

    def loss(theta: Tensor) -> Tensor:
        return tree_solve_diag(tree, theta.exp(), one, one, 3 * one, backend=backend).sum()

    assert_close(hessian(loss)(0 * one).flatten(), 3 * one.flatten(), DOUBLE)


@every_backend
@every_kind
def test_hessian_is_symmetric_and_equals_forward_over_reverse(kind: str, backend: str) -> None:
    *blocks, u = arguments_of(SMALL, kind)

    def loss(A: Tensor) -> Tensor:
        return solver(kind)(SMALL, A, *blocks[1:], u, backend=backend).square().sum()

    n = blocks[0].numel()
    forward_over_reverse = hessian(loss)(blocks[0]).reshape(n, n)
    assert_close(forward_over_reverse, forward_over_reverse.mT, DOUBLE)
    assert_close(jacrev(jacrev(loss))(blocks[0]).reshape(n, n), forward_over_reverse, DOUBLE)


@pytest.mark.parametrize("transform", [vmap, grad, jacrev, jacfwd, hessian])
def test_a_tree_first_seen_inside_a_transform_serves_afterwards(
    transform: Callable[..., Callable[[Tensor], Tensor]],
) -> None:
    """What is kept about a tree must not belong to the transform in which it was first used."""
    name = ["vmap", "grad", "jacrev", "jacfwd", "hessian"].index(transform.__name__)
    tree = Tree([-1, *([0] * (name + 3)), 1, 2])  # one for each transform, used nowhere else
    one = torch.ones(tree.num_nodes, 1, dtype=DOUBLE)

    def function(theta: Tensor) -> Tensor:
        return tree_solve_diag(tree, 3 * theta.exp(), one / 9, one / 9, one).sum()

    first = transform(function)(one)
    assert torch.equal(transform(function)(one), first)
    assert function(one).isfinite()


def test_functional_call_of_a_module() -> None:
    layer = Solver(SMALL, "diagonal")
    u = torch.randn(7, 2, dtype=DOUBLE)
    parameters = {name: p.detach() for name, p in layer.named_parameters()}
    gradients = grad(lambda p: functional_call(layer, p, (u,)).square().sum())(parameters)
    layer(u).square().sum().backward()
    assert_close(list(gradients.values()), [p.grad for p in layer.parameters()], DOUBLE)


# Registered operators ---------------------------------------------------------------------------


@every_backend
@every_kind
@pytest.mark.parametrize("adjoint", [False, True])
def test_registered_operators_keep_their_promises(kind: str, adjoint: bool, backend: str) -> None:
    diagonal = kind == "diagonal"
    *blocks, u = arguments_of(SMALL, kind)
    A, B, C = blocks[0], blocks[1][:-1].clone(), blocks[2][:-1].clone()
    parent = parent_tensor(SMALL)
    num_fill = plan_for(parent).num_fill if backend == "torch" else 0
    torch.library.opcheck(ops.factorize, (parent, A, B, C, diagonal, backend, num_fill))
    factor = ops.factorize(parent, A, B, C, diagonal, backend, num_fill)
    leaves = [t.detach().requires_grad_() for t in (A, B, C, u)]
    arguments = (parent, *leaves[:3], factor, leaves[3], diagonal, adjoint, backend)
    torch.library.opcheck(ops.solve, arguments)


@every_kind
def test_meta_tensors_give_shapes(kind: str) -> None:
    arguments = [t.to("meta") for t in arguments_of(TREE, kind, batch=(3,))]
    x = solver(kind)(TREE, *arguments)
    assert x.is_meta
    assert x.shape == arguments[3].shape
    assert x.dtype == arguments[3].dtype
