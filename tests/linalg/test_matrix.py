"""`TreeMatrix` and `Factorization` against the dense matrix and its inverse."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from myosotis import ConfigError, Tree, TreeError, TreeMatrix
from tests.cases import (
    BACKENDS,
    DTYPES,
    TREES,
    assert_close,
    by_node,
    dense_diagonal_matrix,
    dense_matrix,
    level_sizes,
    random_diagonal_system,
    random_level_system,
    random_right_side,
    random_system,
)

every_tree = pytest.mark.parametrize("tree", TREES.values(), ids=TREES.keys())
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)
every_backend = pytest.mark.parametrize("backend", BACKENDS)

Blocks = Tensor | Sequence[Tensor]


def inverse_by_blocks(tree: Tree, A: Blocks, B: Blocks, C: Blocks) -> dict[tuple[int, int], Tensor]:
    """(T⁻¹)_vw for all v and w, cut out of the dense inverse."""
    sizes = [block.shape[-1] for block in by_node(A)]
    rows = torch.linalg.inv(dense_matrix(tree, A, B, C)).split(sizes, dim=-2)
    blocks = [row.split(sizes, dim=-1) for row in rows]
    return {(v, w): block for v, row in enumerate(blocks) for w, block in enumerate(row)}


def systems(tree: Tree, dtype: torch.dtype) -> dict[str, tuple[Blocks, Blocks, Blocks]]:
    return {
        "uniform": random_system(tree, 2, dtype),
        "scalar": random_system(tree, 1, dtype),
        "batched": random_system(tree, 2, dtype, batch=(2, 3)),
        "per level": random_level_system(tree, level_sizes(tree), dtype),
    }


every_kind = pytest.mark.parametrize("kind", list(systems(Tree.chain(1), torch.float64)))


@every_kind
@every_tree
def test_to_dense_in_canonical_order(tree: Tree, kind: str) -> None:
    system = systems(tree, torch.complex128)[kind]
    dense = TreeMatrix(tree, *system).to_dense(order="canonical")
    assert torch.equal(dense, dense_matrix(tree, *system))


@every_kind
@every_tree
def test_to_dense_in_post_order(tree: Tree, kind: str) -> None:
    system = systems(tree, torch.complex128)[kind]
    nodes = [int(np.flatnonzero(tree.post_order == place)[0]) for place in range(tree.num_nodes)]
    expected = dense_matrix(tree, *system, order=nodes)
    M = TreeMatrix(tree, *system)
    assert torch.equal(M.to_dense(order="post"), expected)
    assert torch.equal(M.to_dense(), expected)


@every_tree
def test_to_dense_of_diagonal_blocks(tree: Tree) -> None:
    system = random_diagonal_system(tree, 3, torch.float64, batch=(2,))
    M = TreeMatrix.diag(tree, *system)
    expected = dense_diagonal_matrix(tree, *system)
    assert expected.shape == (2, 3, tree.num_nodes, tree.num_nodes)
    assert torch.equal(M.to_dense(order="canonical"), expected)
    nodes = np.argsort(tree.post_order)
    assert torch.equal(M.to_dense(), expected[..., nodes, :][..., nodes])


def test_post_order_puts_every_subtree_in_one_block() -> None:
    """The drawing of the paper: two leaves, their parent, two leaves, their parent, the root."""
    one = torch.ones(7, 1)
    pattern = TreeMatrix.diag(Tree.perfect(2, 2), one, 2 * one, 3 * one).to_dense()[0]
    expected = [
        [1, 0, 2, 0, 0, 0, 0],
        [0, 1, 2, 0, 0, 0, 0],
        [3, 3, 1, 0, 0, 0, 2],
        [0, 0, 0, 1, 0, 2, 0],
        [0, 0, 0, 0, 1, 2, 0],
        [0, 0, 0, 3, 3, 1, 2],
        [0, 0, 3, 0, 0, 3, 1],
    ]
    assert pattern.tolist() == expected


@every_dtype
@every_kind
@every_tree
def test_inverse_blocks(tree: Tree, dtype: torch.dtype, kind: str) -> None:
    system = systems(tree, dtype)[kind]
    A, B, C = map(by_node, TreeMatrix(tree, *system).inverse_blocks())
    inverse = inverse_by_blocks(tree, *system)
    for v in range(tree.num_nodes):
        assert_close(A[v], inverse[v, v], dtype)
    for v, p in enumerate(tree.parent[: tree.num_edges].tolist()):
        assert_close(B[v], inverse[v, p], dtype)
        assert_close(C[v], inverse[p, v], dtype)


@every_tree
def test_inverse_blocks_have_the_shapes_of_the_blocks(tree: Tree) -> None:
    A, B, C = random_system(tree, 2, torch.float64, batch=(3,))
    inverse = TreeMatrix(tree, A, B, C).inverse_blocks()
    assert [t.shape for t in inverse] == [A.shape, B.shape, C.shape]
    assert (inverse[1][..., tree.num_edges :, :, :] == 0).all()
    assert (inverse[2][..., tree.num_edges :, :, :] == 0).all()


@every_dtype
@every_tree
def test_inverse_blocks_of_diagonal_blocks(tree: Tree, dtype: torch.dtype) -> None:
    system = random_diagonal_system(tree, 3, dtype, batch=(2,))
    a, b, c = TreeMatrix.diag(tree, *system).inverse_blocks()
    inverse = torch.linalg.inv(dense_diagonal_matrix(tree, *system))
    v, p = np.arange(tree.num_edges), tree.parent[: tree.num_edges].copy()
    assert_close(a.mT, inverse.diagonal(dim1=-2, dim2=-1), dtype)
    assert_close(b[..., : tree.num_edges, :].mT, inverse[..., v, p], dtype)
    assert_close(c[..., : tree.num_edges, :].mT, inverse[..., p, v], dtype)


@every_dtype
@every_kind
@every_tree
def test_influence_is_a_row_of_the_inverse(tree: Tree, dtype: torch.dtype, kind: str) -> None:
    system = systems(tree, dtype)[kind]
    inverse = inverse_by_blocks(tree, *system)
    for node in {0, tree.num_nodes // 2, tree.num_nodes - 1}:
        row = by_node(TreeMatrix(tree, *system).influence(node))
        assert len(row) == tree.num_nodes
        for v, block in enumerate(row):
            error = (block - inverse[node, v]).abs().max() if block.numel() else 0
            assert error <= 1000 * torch.finfo(dtype).eps * inverse[node, node].abs().max()


@every_tree
def test_influence_in_diagonal_blocks(tree: Tree) -> None:
    system = random_diagonal_system(tree, 3, torch.complex128)
    inverse = torch.linalg.inv(dense_diagonal_matrix(tree, *system))
    for node in range(tree.num_nodes):
        row = TreeMatrix.diag(tree, *system).influence(node)
        assert_close(row, inverse[:, node].mT, torch.complex128)


@every_backend
@every_dtype
@every_kind
@every_tree
def test_logdet(tree: Tree, dtype: torch.dtype, kind: str, backend: str) -> None:
    system = systems(tree, dtype)[kind]
    M = TreeMatrix(tree, *system)
    expected = torch.linalg.slogdet(dense_matrix(tree, *system)).logabsdet
    assert_close(M.logdet(backend=backend), expected, dtype)
    assert_close(M.factorize(backend=backend).logdet(), expected, dtype)


@every_backend
@every_dtype
@every_tree
def test_logdet_of_diagonal_blocks(tree: Tree, dtype: torch.dtype, backend: str) -> None:
    system = random_diagonal_system(tree, 3, dtype, batch=(2,))
    expected = torch.linalg.slogdet(dense_diagonal_matrix(tree, *system)).logabsdet
    actual = TreeMatrix.diag(tree, *system).logdet(backend=backend)
    assert actual.shape == (2, 3)
    assert_close(actual, expected, dtype)


def test_matrix_knows_its_tree() -> None:
    tree = TREES["ragged"]
    assert TreeMatrix(tree, *random_system(tree, 2, torch.float64)).tree is tree


@pytest.mark.parametrize("kind", ["dense", "diagonal"])
def test_repr_says_what_the_matrix_is(kind: str) -> None:
    tree = Tree.star(3)
    if kind == "dense":
        M = TreeMatrix(tree, *random_system(tree, 2, torch.float32, batch=(5,)))
        shape = (5, 4, 2, 2)
    else:
        M = TreeMatrix.diag(tree, *random_diagonal_system(tree, 2, torch.float32, batch=(5,)))
        shape = (5, 4, 2)
    assert repr(M) == f"TreeMatrix({tree!r}, {kind} blocks {shape}, torch.float32)"


@pytest.mark.parametrize("node", [-1, 24, 1000])
def test_influence_of_a_node_that_is_not_there(node: int) -> None:
    M = TreeMatrix(TREES["deep"], *random_system(TREES["deep"], 1, torch.float32))
    with pytest.raises(TreeError, match=rf"node {node} is not in the tree: it has nodes 0 to 23"):
        M.influence(node)


def test_an_order_that_does_not_exist() -> None:
    M = TreeMatrix(TREES["chain"], *random_system(TREES["chain"], 1, torch.float32))
    with pytest.raises(ConfigError, match="'level' is unknown; choose 'post' or 'canonical'"):
        M.to_dense(order="level")


def test_a_backend_that_does_not_exist() -> None:
    M = TreeMatrix(TREES["chain"], *random_system(TREES["chain"], 1, torch.float32))
    with pytest.raises(ConfigError, match=r"backend='gpu' does not exist; choose one of .*torch"):
        M.factorize(backend="gpu")


def test_solutions_of_one_factor_are_those_of_the_matrix() -> None:
    tree = TREES["ragged"]
    M = TreeMatrix.diag(tree, *random_diagonal_system(tree, 2, torch.float64))
    F = M.factorize()
    for seed in range(3):
        u = random_right_side((tree.num_nodes, 2), torch.float64, seed)
        assert torch.equal(F.solve(u), M.solve(u))
