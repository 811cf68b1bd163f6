"""Every mistake is answered by a named error that says what is wrong and where."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from myosotis import (
    ConfigError,
    DataError,
    ShapeError,
    SingularBlockError,
    Tree,
    TreeError,
    TreeMatrix,
    tree_solve,
    tree_solve_diag,
)
from tests.cases import (
    BACKENDS,
    TREES,
    level_sizes,
    random_diagonal_system,
    random_level_right_side,
    random_level_system,
    random_right_side,
    random_system,
)

TREE = Tree([-1, 0, 0, 1, 1])  # levels of 2, 2 and 1 nodes
SIZES = [2, 1, 3]
every_backend = pytest.mark.parametrize("backend", BACKENDS)

Arguments = dict[str, Any]
Change = Callable[[Any], Any]


def dense_arguments() -> Arguments:
    A, B, C = random_system(TREE, 2, torch.float32)
    return {"A": A, "B": B, "C": C, "u": random_right_side((5, 2, 1), torch.float32)}


def diagonal_arguments() -> Arguments:
    a, b, c = random_diagonal_system(TREE, 2, torch.float32)
    return {"a": a, "b": b, "c": c, "u": random_right_side((5, 2), torch.float32)}


def level_arguments() -> Arguments:
    A, B, C = random_level_system(TREE, SIZES, torch.float32)
    return {"A": A, "B": B, "C": C, "u": random_level_right_side(TREE, SIZES, 1, torch.float32)}


def at_level(level: int, change: Change) -> Change:
    return lambda tensors: [change(t) if i == level else t for i, t in enumerate(tensors)]


def cut(*index: slice | int) -> Change:
    return lambda t: t[index]


def first(count: int) -> Change:
    return lambda tensors: tensors[:count]


ALL = slice(None)
SHAPES = [  # arguments, the one to change, how, and what the message must say
    (dense_arguments, "A", cut(slice(4)), r"A has shape \(4, 2, 2\); expected .* 5 nodes"),
    (dense_arguments, "A", cut(0), r"A has shape \(2, 2\); expected \(…, 5, d, d\)"),
    (dense_arguments, "A", cut(ALL, slice(1)), r"A has shape \(5, 1, 2\)"),
    (dense_arguments, "A", cut(ALL, slice(1), slice(1)), r"B has shape \(5, 2, 2\).*d = 1 from A"),
    (dense_arguments, "B", cut(slice(3)), r"B has shape \(3, 2, 2\)"),
    (dense_arguments, "B", cut(ALL, ALL, slice(1)), r"B has shape \(5, 2, 1\)"),
    (dense_arguments, "C", cut(ALL, slice(1)), r"C has shape \(5, 1, 2\)"),
    (dense_arguments, "u", cut(slice(4)), r"u has shape \(4, 2, 1\); expected \(…, 5, 2, r\)"),
    (dense_arguments, "u", cut(ALL, ALL, 0), r"u has shape \(5, 2\).*u\.unsqueeze\(-1\)"),
    (dense_arguments, "u", cut(ALL, slice(1)), r"u has shape \(5, 1, 1\)"),
    (dense_arguments, "B", lambda B: B.expand(2, 5, 2, 2).reshape(2, 5, 2, 2)[:, :, :1],
     r"B has shape \(2, 5, 1, 2\)"),
    (diagonal_arguments, "a", cut(slice(3)), r"a has shape \(3, 2\): 3 nodes .* the tree has 5"),
    (diagonal_arguments, "a", cut(slice(4)), r"a has shape \(4, 2\): 4 nodes .* the tree has 5"),
    (diagonal_arguments, "b", cut(slice(2)), r"b has shape \(2, 2\): 2 nodes .* the tree has 5"),
    (diagonal_arguments, "c", cut(slice(2)), r"c has shape \(2, 2\): 2 nodes .* the tree has 5"),
    (diagonal_arguments, "u", cut(slice(4)), r"u has shape \(4, 2\): 4 nodes .* the tree has 5"),
    (diagonal_arguments, "b", lambda b: b.repeat(1, 2), r"\(5, 2\), \(5, 4\), .*do not broadcast"),
    (diagonal_arguments, "u", lambda u: u.repeat(1, 2), r"u of shape \(5, 4\).*and 2 channels"),
    (level_arguments, "A", first(2), r"A has 2 tensors; expected one per level \(3\)"),
    (level_arguments, "B", first(1), r"B has 1 tensors; expected one per level \(3\)"),
    (level_arguments, "u", first(2), r"u has 2 tensors; expected one per level \(3\)"),
    (level_arguments, "A", at_level(1, cut(slice(1))),
     r"A\[1\] \(level 2\): \(1, 1, 1\); expected \(…, 2, 1, 1\)"),
    (level_arguments, "B", at_level(0, cut(ALL, slice(1))),
     r"B\[0\] \(level 1\): \(2, 1, 1\); expected \(…, 2, 2, 1\)"),
    (level_arguments, "C", at_level(1, cut(ALL, slice(2))),
     r"C\[1\] \(level 2\): \(2, 2, 1\); expected \(…, 2, 3, 1\)"),
    (level_arguments, "u", at_level(2, cut(ALL, slice(2))),
     r"u\[2\] \(level 3\): \(1, 2, 1\); expected \(…, 1, 3, 1\)"),
    (level_arguments, "A", at_level(0, lambda t: None),
     r"A\[0\] is a NoneType; expected"),
    (level_arguments, "u", at_level(0, lambda t: None), r"u\[0\] is a NoneType; expected"),
    (level_arguments, "u", lambda u: torch.zeros(5, 3, 1), "give u per level too, as a list"),
    (level_arguments, "A", lambda A: torch.eye(3).expand(5, 3, 3), "per level"),
    (dense_arguments, "u", lambda u: [u[:2], u[2:4], u[4:]], "u is given per level but the blocks"),
    (dense_arguments, "A", lambda A: A.tolist(), "A"),
    (dense_arguments, "A", lambda A: A.numpy(), "A"),
    (dense_arguments, "B", lambda B: None, "B is a NoneType; expected a torch.Tensor"),
    (dense_arguments, "u", lambda u: u.numpy(), "u"),
    (diagonal_arguments, "b", lambda b: 0.5, "b is a float; expected a torch.Tensor"),
    (diagonal_arguments, "u", lambda u: None, "u"),
]  # fmt: skip

TYPES = [
    (dense_arguments, "A", torch.Tensor.long, "A has dtype torch.int64; expected a floating or"),
    (dense_arguments, "u", torch.Tensor.int, "u has dtype torch.int32; expected a floating or"),
    (diagonal_arguments, "c", torch.Tensor.bool, "c has dtype torch.bool; expected a floating or"),
    (level_arguments, "A", lambda A: [t.long() for t in A], r"A\[0\] has dtype torch.int64"),
    (dense_arguments, "B", torch.Tensor.double, "B has dtype torch.float64, the others .*float32"),
    (dense_arguments, "u", torch.Tensor.double, "u has dtype torch.float64, the others .*float32"),
    (diagonal_arguments, "u", torch.Tensor.cfloat, "u has dtype torch.complex64, the others"),
    (level_arguments, "u", at_level(1, torch.Tensor.double), r"u\[1\].*float64"),
    (level_arguments, "A", at_level(1, torch.Tensor.double), r"A\[1\].*float64"),
    (dense_arguments, "C", lambda C: C.to("meta"), "C is on meta, the others on cpu"),
    (dense_arguments, "u", lambda u: u.to("meta"), "u is on meta, the others on cpu"),
    (diagonal_arguments, "b", lambda b: b.to("meta"), "b is on meta, the others on cpu"),
    (level_arguments, "B", at_level(0, lambda t: t.to("meta")), r"B\[0\].*meta"),
]


def solve(arguments: Arguments, tree: Tree = TREE, **options: Any) -> Any:
    function = tree_solve if "A" in arguments else tree_solve_diag
    return function(tree, *arguments.values(), **options)


@pytest.mark.parametrize(("arguments", "name", "change", "message"), [*SHAPES, *TYPES])
def test_what_does_not_fit(
    arguments: Callable[[], Arguments], name: str, change: Change, message: str
) -> None:
    given = arguments()
    solve(given)
    given[name] = change(given[name])
    with pytest.raises(ShapeError, match=message):
        solve(given)


@pytest.mark.parametrize(
    ("arguments", "tree", "message"),
    [
        (dense_arguments, Tree.star(3), r"A has shape \(5, 2, 2\).* the tree's 4 nodes"),
        (diagonal_arguments, Tree.star(3), "a has shape .* 5 nodes .* the tree has 4"),
        (level_arguments, Tree.star(3), r"A has 3 tensors; expected one per level \(2\)"),
        (level_arguments, Tree([-1, 0, 1]), r"A\[0\] .*expected \(…, 1, 2, 2\)"),
    ],
)
def test_a_tree_of_another_size(
    arguments: Callable[[], Arguments], tree: Tree, message: str
) -> None:
    with pytest.raises(ShapeError, match=message):
        solve(arguments(), tree=tree)


def test_leading_axes_that_do_not_broadcast() -> None:
    A, B, C = random_system(TREE, 2, torch.float32, batch=(3,))
    u = random_right_side((4, 5, 2, 1), torch.float32)
    with pytest.raises(ShapeError, match=r"u of shape \(4, 5, 2, 1\).*leading axes \(3,\)"):
        tree_solve(TREE, A, B, C, u)
    with pytest.raises(ShapeError, match=r"\(3, 5, 2, 2\), \(2, 5, 2, 2\).*do not broadcast"):
        tree_solve(TREE, A, B[:2], C, u)


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("name", "ABCu")
def test_check_finite_says_where(name: str, value: float) -> None:
    given = dense_arguments()
    given[name][3, 1, 0] = value
    with pytest.raises(DataError, match=rf"{name}\[3, 1, 0\] is {value}: NaN or Inf"):
        solve(given, check_finite=True)


@pytest.mark.parametrize("name", "abcu")
def test_check_finite_in_diagonal_blocks(name: str) -> None:
    given = diagonal_arguments()
    given[name][2, 1] = torch.nan
    with pytest.raises(DataError, match=rf"{name}\[2, 1\] is nan"):
        solve(given, check_finite=True)


def test_check_finite_of_a_matrix() -> None:
    given = dense_arguments()
    given["B"][0, 0, 0] = torch.nan
    blocks = [given[name] for name in "ABC"]
    with pytest.raises(DataError, match=r"B\[0, 0, 0\] is nan"):
        TreeMatrix(TREE, *blocks, check_finite=True)
    with pytest.raises(DataError, match=r"b\[0, 0\] is nan"):
        TreeMatrix.diag(TREE, *(t[..., 0] for t in blocks), check_finite=True)


@pytest.mark.parametrize("name", "ABCu")
def test_without_check_finite_nan_passes_through(name: str) -> None:
    given = dense_arguments()
    given[name][0, 0, 0] = torch.nan
    assert solve(given).isnan().any()


def test_a_backend_that_does_not_exist() -> None:
    with pytest.raises(ConfigError, match="backend='fortran' does not exist; choose one of"):
        solve(dense_arguments(), backend="fortran")


# Singular pivots --------------------------------------------------------------------------------


def level_of(tree: Tree, node: int) -> int:
    return next(i for i, level in enumerate(tree.levels, 1) if level.start <= node < level.stop)


def assert_names(error: SingularBlockError, tree: Tree, node: int, batch: tuple[int, ...]) -> None:
    level = level_of(tree, node)
    assert (error.node, error.level, error.batch) == (node, level, batch)
    assert f"node {node} (level {level} of {tree.num_levels}" in str(error)
    assert (f"batch index {batch}" in str(error)) == bool(batch)


@every_backend
@pytest.mark.parametrize("tree", TREES.values(), ids=TREES.keys())
@pytest.mark.parametrize("block", [1, 2])
def test_a_singular_leaf_is_named(tree: Tree, block: int, backend: str) -> None:
    for leaf in {tree.leaves[0], tree.leaves[-1]}:
        A, B, C = random_system(tree, block, torch.float64, batch=(2, 3))
        A[1, 2, leaf] = 0
        u = random_right_side((tree.num_nodes, block, 1), torch.float64)
        with pytest.raises(SingularBlockError) as caught:
            tree_solve(tree, A, B, C, u, backend=backend)
        assert_names(caught.value, tree, int(leaf), (1, 2))


@every_backend
def test_a_singular_leaf_is_named_without_batch(backend: str) -> None:
    given = dense_arguments()
    given["A"][1] = torch.tensor([[1.0, 2.0], [2.0, 4.0]])
    with pytest.raises(SingularBlockError) as caught:
        solve(given, backend=backend)
    assert_names(caught.value, TREE, 1, ())


def integer_system(block: int, num_systems: int) -> tuple[Tensor, Tensor, Tensor]:
    """A of 1 at leaves, 3 elsewhere, B = C = 1: on a binary tree pivots are 1, then 3 − 2 = 1, …"""
    tree = Tree.perfect(2, 2)
    identity = torch.eye(block).expand(num_systems, 7, block, block)
    size = torch.tensor([1.0, 1, 1, 1, 3, 3, 3]).view(7, 1, 1)
    assert tree.num_nodes == 7
    return size * identity, identity.clone(), identity.clone()


@every_backend
@pytest.mark.parametrize("block", [1, 2, 3])
@pytest.mark.parametrize("node", [5, 6])
def test_a_pivot_that_elimination_made_singular_is_named(
    node: int, block: int, backend: str
) -> None:
    tree = Tree.perfect(2, 2)
    A, B, C = integer_system(block, 3)
    A[1, node, -1, -1] = 2  # what the two children take away
    with pytest.raises(SingularBlockError) as caught:
        tree_solve(tree, A, B, C, torch.ones(7, block, 1), backend=backend)
    assert_names(caught.value, tree, node, (1,))


@every_backend
def test_channel_and_batch_of_a_singular_diagonal_pivot_are_named(backend: str) -> None:
    a, b, c = random_diagonal_system(TREE, 3, torch.float64, batch=(4,))
    a[2, 0, 1] = 0
    with pytest.raises(SingularBlockError, match="channel 1") as caught:
        tree_solve_diag(TREE, a, b, c, torch.ones(5, 3, dtype=torch.float64), backend=backend)
    assert_names(caught.value, TREE, 0, (2,))


@every_backend
def test_the_first_singular_system_is_named_and_the_others_counted(backend: str) -> None:
    A, B, C = random_system(TREE, 2, torch.float32, batch=(5,))
    A[1, 1], A[4, 0] = 0, 0
    with pytest.raises(SingularBlockError, match="1 other") as caught:
        tree_solve(TREE, A, B, C, torch.ones(5, 2, 1), backend=backend)
    assert_names(caught.value, TREE, 1, (1,))


@every_backend
def test_a_singular_block_per_level_is_named(backend: str) -> None:
    tree, sizes = TREES["ragged"], level_sizes(TREES["ragged"])
    A, B, C = random_level_system(tree, sizes, torch.float64)
    A[0] = torch.zeros_like(A[0])
    with pytest.raises(SingularBlockError) as caught:
        tree_solve(
            tree, A, B, C, random_level_right_side(tree, sizes, 1, torch.float64), backend=backend
        )
    assert_names(caught.value, tree, 0, ())


@every_backend
def test_a_singular_pivot_is_a_torch_linalg_error(backend: str) -> None:
    zero = torch.zeros(5, 1)
    with pytest.raises(torch.linalg.LinAlgError):
        tree_solve_diag(TREE, zero, zero, zero, zero, backend=backend)


@every_backend
def test_factorize_and_logdet_name_singular_pivots_too(backend: str) -> None:
    A, B, C = random_system(TREE, 2, torch.float32)
    A[1] = 0
    for attempt in (TreeMatrix(TREE, A, B, C).factorize, TreeMatrix(TREE, A, B, C).logdet):
        with pytest.raises(SingularBlockError) as caught:
            attempt(backend=backend)
        assert_names(caught.value, TREE, 1, ())


def test_inverse_blocks_and_influence_name_singular_pivots_too() -> None:
    A, B, C = random_system(TREE, 2, torch.float32)
    A[1] = 0
    M = TreeMatrix(TREE, A, B, C)
    for attempt in (M.inverse_blocks, lambda: M.influence(0)):
        with pytest.raises(SingularBlockError) as caught:
            attempt()
        assert_names(caught.value, TREE, 1, ())


def test_something_else_than_a_tree() -> None:
    with pytest.raises(TreeError, match="tree is a list; expected a Tree"):
        tree_solve_diag([1, -1], *torch.ones(4, 2, 1))


def test_nan_at_one_level_is_named() -> None:
    arguments = level_arguments()
    arguments["C"][1][0, 0, 0] = torch.nan
    with pytest.raises(DataError, match=r"C\[1\]\[0, 0, 0\] is nan"):
        tree_solve(TREE, *arguments.values(), check_finite=True)


def test_nan_where_a_root_has_no_parent_is_no_error() -> None:
    arguments = diagonal_arguments()
    arguments["b"][-1] = torch.nan
    assert tree_solve_diag(TREE, *arguments.values(), check_finite=True).isfinite().all()


def test_a_backend_that_does_not_take_the_blocks() -> None:
    A = torch.eye(17).expand(2, 17, 17)
    with pytest.raises(ConfigError, match="blocks up to 16; these are of size 17"):
        tree_solve(Tree.chain(2), A, A, A, torch.ones(2, 17, 1), backend="cpu")
