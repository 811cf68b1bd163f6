"""Calls like an earlier one skip checks: nothing else about them may differ."""

import pytest
import torch

from myosotis import (
    ConfigError,
    ShapeError,
    SingularBlockError,
    Tree,
    tree_solve_diag,
    tree_solve_factored,
)
from myosotis.linalg import familiar
from tests.cases import assert_close, random_diagonal_system, random_right_side

TREE = Tree.perfect(2, 3)


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> tuple[torch.Tensor, ...]:
    """Tensors of a kind that is known."""
    monkeypatch.setattr(familiar, "_known", {})
    a, b, c = random_diagonal_system(TREE, 3, torch.float64)
    u = random_right_side((5, TREE.num_nodes, 3), torch.float64)
    tree_solve_diag(TREE, a, b, c, u)
    assert len(familiar._known) == 1
    return a, b, c, u


def test_the_same_kind_again_is_not_checked(
    system: tuple[torch.Tensor, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = tree_solve_diag(TREE, *system)
    monkeypatch.setattr("myosotis.linalg.solve.whole_diagonal_system", None)
    assert torch.equal(tree_solve_diag(TREE, *system), expected)
    a, b, c, u = system
    assert torch.equal(tree_solve_diag(TREE, a, b, c, torch.nn.Parameter(u)), expected)
    assert torch.equal(tree_solve_diag(Tree(TREE.parent), *system), expected)


def test_what_differs_is_checked(system: tuple[torch.Tensor, ...]) -> None:
    a, b, c, u = system
    with pytest.raises(ShapeError, match="c has dtype"):
        tree_solve_diag(TREE, a, b, c.float(), u)
    with pytest.raises(ShapeError, match="14 nodes"):
        tree_solve_diag(TREE, a, b, c, u[:, 1:])
    with pytest.raises(ShapeError, match="the tree has 8"):
        tree_solve_diag(Tree.chain(8), a, b, c, u)
    with pytest.raises(ConfigError, match="does not exist"):
        tree_solve_diag(TREE, a, b, c, u, backend="abacus")
    with pytest.raises(SingularBlockError, match="node 0"):
        tree_solve_diag(TREE, a.index_fill(0, torch.tensor(0), 0), b, c, u)


# torch's own rules for forward mode are scripted on first use.
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_transforms_see_known_kinds_as_others(system: tuple[torch.Tensor, ...]) -> None:
    a, b, c, u = system
    expected = tree_solve_diag(TREE, a, b, c, u[0])
    several = torch.vmap(lambda v: tree_solve_diag(TREE, a, b, c, v))(torch.stack([u, u.flip(0)]))
    assert_close(several[0, 0], expected, u.dtype)
    assert_close(several[1, -1], expected, u.dtype)
    _, tangent = torch.func.jvp(lambda v: tree_solve_diag(TREE, a, b, c, v), (u,), (u,))
    assert_close(tangent[0], expected, u.dtype)


def test_what_was_converted_or_expanded_is_not_remembered() -> None:
    before = dict(familiar._known)
    one, u = torch.ones(()), random_right_side((TREE.num_nodes, 3), torch.float32)
    tree_solve_diag(TREE, 2 * one, one / 9, one / 9, u)
    tree_solve_diag(TREE, 2 * one.half(), one.half() / 9, one.half() / 9, u.half())
    full = torch.ones(TREE.num_nodes, 3)
    tree_solve_diag(TREE, 2 * full, full / 9, full / 9, u.half())
    tree_solve_diag(TREE, 2 * full, full / 9, full / 9, u[:1])
    assert familiar._known == before


def test_few_kinds_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(familiar, "_known", {})
    monkeypatch.setattr(familiar, "_MOST", 3)
    a, b, c = random_diagonal_system(TREE, 3, torch.float64)
    for count in range(1, 8):
        tree_solve_diag(TREE, a, b, c, random_right_side((count, TREE.num_nodes, 3), a.dtype))
        assert 1 <= len(familiar._known) <= 3


def test_rows_are_looked_at_again_when_they_have_changed() -> None:
    a, d = torch.tensor([[0.5], [0.25]]), torch.tensor([[1.0], [2.0]])
    u = random_right_side((2, TREE.num_nodes, 1), torch.float32)
    rows = torch.zeros(TREE.num_nodes, dtype=torch.int64)
    first = tree_solve_factored(TREE, a, d, u, rows=rows)
    assert torch.equal(tree_solve_factored(TREE, a, d, u, rows=rows), first)
    rows[3] = 1
    second = tree_solve_factored(TREE, a, d, u, rows=rows)
    assert torch.equal(second, tree_solve_factored(TREE, a[rows], d[rows], u))
    with pytest.raises(ShapeError, match=r"rows\[3\] is 1, but the tables have 1 rows"):
        tree_solve_factored(TREE, a[:1], d[:1], u, rows=rows)
    every_other = torch.stack([rows, rows], 1)[:, 0]
    assert torch.equal(tree_solve_factored(TREE, a, d, u, rows=every_other), second)
    assert torch.equal(tree_solve_factored(TREE, a, d, u, rows=every_other), second)
    rows[5] = 2
    with pytest.raises(ShapeError, match=r"rows\[5\] is 2"):
        tree_solve_factored(TREE, a, d, u, rows=rows)


def test_a_right_hand_side_is_not_taken_for_rows() -> None:
    one = torch.ones(TREE.num_nodes, 1)
    rows = torch.zeros(TREE.num_nodes, dtype=torch.int64)
    tree_solve_factored(TREE, one / 2, one, one, rows=rows)
    with pytest.raises(ShapeError, match=r"u has dtype torch\.int64"):
        tree_solve_diag(TREE, one, one, one, rows)
