"""State space models inside tree systems: on chains, both ways, and on k-ary trees."""

import pytest
import torch
from torch import Tensor

from myosotis import ShapeError, Tree, TreeMatrix, tree_solve, tree_solve_diag
from myosotis.ssm import chain_system
from tests.cases import DOUBLE_DTYPES, assert_close, random_right_side, random_system

LENGTH, SIZE = 9, 3
every_dtype = pytest.mark.parametrize("dtype", DOUBLE_DTYPES, ids=str)
every_batch = pytest.mark.parametrize("batch", [(), (4,), (2, 3)], ids=str)


def transitions(dtype: torch.dtype, batch: tuple[int, ...] = ()) -> Tensor:
    return random_right_side((*batch, LENGTH - 1, SIZE, SIZE), dtype) / SIZE


def recurrence(F: Tensor, inputs: Tensor) -> Tensor:
    """x_k = F_{k-1} x_{k-1} + inputs_k step by step; F (…, L-1, d, d), inputs (…, L, d, r)."""
    states = [inputs[..., 0, :, :]]
    for k in range(1, inputs.shape[-3]):
        states.append(F[..., k - 1, :, :] @ states[-1] + inputs[..., k, :, :])
    return torch.stack(torch.broadcast_tensors(*states), dim=-3)


@every_batch
@every_dtype
def test_a_chain_is_the_recurrence(dtype: torch.dtype, batch: tuple[int, ...]) -> None:
    F = transitions(dtype, batch)
    u = random_right_side((*batch, LENGTH, SIZE, 2), dtype, seed=2)
    assert_close(tree_solve(*chain_system(F), u), recurrence(F, u), dtype)


@every_batch
@every_dtype
def test_a_chain_with_input_maps(dtype: torch.dtype, batch: tuple[int, ...]) -> None:
    F = transitions(dtype, batch)
    S = random_system(Tree.chain(LENGTH), SIZE, dtype, batch=batch)[0]
    u = random_right_side((*batch, LENGTH, SIZE, 2), dtype, seed=2)
    assert_close(tree_solve(*chain_system(F, S), u), recurrence(F, S @ u), dtype)


@every_dtype
def test_one_model_for_many_sequences(dtype: torch.dtype) -> None:
    F = transitions(dtype)
    u = random_right_side((5, LENGTH, SIZE, 1), dtype, seed=2)
    assert_close(tree_solve(*chain_system(F), u), recurrence(F, u), dtype)


def test_chain_system_gives_the_blocks_of_the_formula() -> None:
    F = transitions(torch.float64)
    S = random_system(Tree.chain(LENGTH), SIZE, torch.float64)[0]
    tree, A, B, C = chain_system(F, S)
    assert tree == Tree.chain(LENGTH)
    assert_close(A, torch.linalg.inv(S), torch.float64)
    assert_close(C[: LENGTH - 1], -torch.linalg.inv(S[1:]) @ F, torch.float64)
    assert not B.any()


def test_gradients_reach_the_model() -> None:
    F = transitions(torch.float64).requires_grad_()
    S = random_system(Tree.chain(LENGTH), SIZE, torch.float64)[0].requires_grad_()
    u = random_right_side((LENGTH, SIZE, 1), torch.float64, seed=2)
    actual, expected = (
        torch.autograd.grad(x.square().sum(), (F, S))
        for x in (tree_solve(*chain_system(F, S), u), recurrence(F, S @ u))
    )
    assert_close(actual, expected, torch.float64)


@pytest.mark.parametrize(
    ("F", "S", "message"),
    [
        ((4, 3), None, r"F has shape \(4, 3\); expected \(…, L-1, d, d\)"),
        ((4, 3, 2), None, r"F has shape \(4, 3, 2\)"),
        ((4, 3, 3), (4, 3, 3), r"S has shape \(4, 3, 3\); F .* needs \(…, 5, 3, 3\)"),
        ((4, 3, 3), (5, 2, 2), r"S has shape \(5, 2, 2\)"),
        ((4, 3, 3), (3, 3), r"S has shape \(3, 3\)"),
    ],
)
def test_shapes_that_do_not_fit(F: tuple[int, ...], S: tuple[int, ...], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        chain_system(torch.zeros(F), None if S is None else torch.zeros(S))


@every_dtype
def test_the_inverse_of_a_chain_has_products_below_the_diagonal(dtype: torch.dtype) -> None:
    """A = I, B = 0: (T⁻¹)_ij is I, (−1)^(i−j) C_{i−1}…C_j below the diagonal and 0 above it."""
    _, A, B, C = chain_system(transitions(dtype))
    T = TreeMatrix(Tree.chain(LENGTH), A, B, C).to_dense(order="canonical")
    inverse = torch.linalg.inv(T).unflatten(1, (LENGTH, SIZE)).unflatten(0, (LENGTH, SIZE))
    expected = torch.zeros_like(inverse)
    for j in range(LENGTH):
        product = torch.eye(SIZE, dtype=dtype)
        for i in range(j, LENGTH):
            expected[i, :, j] = (-1) ** (i - j) * product
            product = C[i] @ product if i < LENGTH - 1 else product
    assert_close(inverse, expected, dtype)


@every_dtype
def test_both_directions_are_two_recurrences(dtype: torch.dtype) -> None:
    """Block-tridiagonal LU: transitions −C Â⁻¹ forwards over u, then −Â⁻¹ B backwards over that."""
    tree = Tree.chain(LENGTH)
    A, B, C = random_system(tree, SIZE, dtype)
    u = random_right_side((LENGTH, SIZE, 2), dtype)
    pivots = [A[0]]
    for k in range(1, LENGTH):
        pivots.append(A[k] - C[k - 1] @ torch.linalg.inv(pivots[-1]) @ B[k - 1])
    inverse = torch.linalg.inv(torch.stack(pivots))
    forwards = recurrence(-C[:-1] @ inverse[:-1], u)
    backwards = recurrence((-inverse[:-1] @ B[:-1]).flip(0), (inverse @ forwards).flip(0)).flip(0)
    assert_close(tree_solve(tree, A, B, C, u), backwards, dtype)


@every_dtype
def test_both_directions_with_the_chain_as_solver_of_each_pass(dtype: torch.dtype) -> None:
    """T = L U with L and U chains themselves: solving T is solving one after the other."""
    tree = Tree.chain(LENGTH)
    F, G = transitions(dtype), transitions(dtype).mH
    forwards = TreeMatrix(tree, *chain_system(F)[1:])
    backwards = TreeMatrix(tree, *chain_system(G)[1:]).T
    dense = forwards.to_dense("canonical") @ backwards.to_dense("canonical")
    blocks = dense.unflatten(1, (LENGTH, SIZE)).unflatten(0, (LENGTH, SIZE)).transpose(1, 2)
    v = torch.arange(LENGTH - 1)
    A, B, C = blocks.diagonal(dim1=0, dim2=1).movedim(-1, 0), blocks[v, v + 1], blocks[v + 1, v]
    u = random_right_side((LENGTH, SIZE, 1), dtype)
    assert_close(tree_solve(tree, A, B, C, u), backwards.solve(forwards.solve(u)), dtype)


def decay_towards_the_end(tree: Tree, branching: int, rate: Tensor) -> Tensor:
    """a = exp(ΛΔ k^l (k−1−j)) for child j among siblings that cover k^l leaves each; rate is ΛΔ."""
    covered = branching ** (tree.num_levels - 1 - tree.depth)
    steps = torch.from_numpy(covered * (branching - 1 - tree.slot)).unsqueeze(-1)
    return torch.exp(rate * steps)


@pytest.mark.parametrize(("branching", "depth"), [(2, 4), (3, 3), (4, 2), (5, 1)])
def test_every_segment_of_a_tree_holds_the_state_over_it(branching: int, depth: int) -> None:
    dtype = torch.complex128
    tree = Tree.perfect(branching, depth)
    rate = torch.complex(-0.1 - torch.rand(4).double(), 3 * torch.randn(4).double())
    u = torch.zeros(tree.num_nodes, 4, dtype=dtype)
    u[: tree.num_leaves] = random_right_side((tree.num_leaves, 4), dtype)
    one = torch.ones(1, 1, dtype=dtype)
    states = tree_solve_diag(tree, one, 0 * one, -decay_towards_the_end(tree, branching, rate), u)
    for node in range(tree.num_nodes):
        first, last = tree.label(node)
        state = torch.zeros(4, dtype=dtype)
        for t in range(first - 1, last):
            state = rate.exp() * state + u[t]
        assert_close(states[node], state, dtype)


def test_the_root_of_a_tree_and_the_end_of_a_chain_hold_the_same_state() -> None:
    tree, rate = Tree.perfect(2, 5), torch.tensor(-0.05, dtype=torch.float64)
    u = torch.zeros(tree.num_nodes, 1, dtype=torch.float64)
    u[:32] = random_right_side((32, 1), torch.float64)
    one = torch.ones(1, 1, dtype=torch.float64)
    root = tree_solve_diag(tree, one, 0 * one, -decay_towards_the_end(tree, 2, rate), u)[-1]
    chain = tree_solve(*chain_system(rate.exp().expand(31, 1, 1)), u[:32].unsqueeze(-1))
    assert_close(root, chain[-1, :, 0], torch.float64)
