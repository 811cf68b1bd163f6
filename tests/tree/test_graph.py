"""Minimum spanning trees, against SciPy."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from myosotis.errors import TreeError
from myosotis.tree import Tree
from myosotis.tree.graph import spanning_parents

INF = np.inf


@st.composite
def graphs(draw: st.DrawFn) -> np.ndarray:
    """Draw symmetric weights, float[n, n], possibly tied, with none to all of the edges."""
    num_nodes = draw(st.integers(1, 12))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    # SciPy takes 0 for no edge, so these weights are positive.
    weights = random.integers(1, draw(st.sampled_from([2, 5, 10**6])), (num_nodes, num_nodes))
    exists = random.random((num_nodes, num_nodes)) < draw(st.floats(0, 1))
    upper = np.triu(np.where(exists, weights, INF), 1)
    return upper + upper.T


def as_edges(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    exists = np.isfinite(matrix) & np.triu(np.ones(matrix.shape, dtype=bool), 1)
    edges = np.argwhere(exists)
    return edges, matrix[exists]


def check_spanning(parents: np.ndarray, matrix: np.ndarray, root: int) -> None:
    edges, weights = as_edges(matrix)
    graph = coo_matrix((weights, edges.T), shape=matrix.shape)
    children = np.flatnonzero(parents >= 0)
    total = matrix[children, parents[children]].sum()
    assert total == minimum_spanning_tree(graph).sum()
    num_components, component = connected_components(graph, directed=False)
    roots = np.flatnonzero(parents < 0)
    expected = {int(np.argmax(component == part)) for part in range(num_components)}
    smallest_beside_root = int(np.argmax(component == component[root]))
    assert set(roots.tolist()) == expected - {smallest_beside_root} | {root}
    Tree(parents)  # refuses cycles


@given(graphs(), st.data())
def test_dense_graphs(matrix: np.ndarray, data: st.DataObject) -> None:
    root = data.draw(st.integers(0, len(matrix) - 1))
    check_spanning(spanning_parents(matrix, root=root), matrix, root)


@given(graphs(), st.data())
def test_sparse_graphs(matrix: np.ndarray, data: st.DataObject) -> None:
    edges, weights = as_edges(matrix)
    if not len(edges):
        return
    num_nodes = int(edges.max()) + 1
    root = data.draw(st.integers(0, num_nodes - 1))
    parents = spanning_parents((edges, weights), root=root)
    check_spanning(parents, matrix[:num_nodes, :num_nodes], root)


def test_zero_and_negative_weights_are_edges() -> None:
    matrix = [[0, 0, 3], [0, 0, -2], [3, -2, 0]]
    assert spanning_parents(matrix).tolist() == [-1, 0, 1]
    edges = ([[1, 0], [2, 1], [0, 2]], [0.0, -2.0, 3.0])
    assert spanning_parents(edges).tolist() == [-1, 0, 1]


def test_tree_of_a_disconnected_graph() -> None:
    matrix = np.full((5, 5), INF)
    matrix[4, 1] = matrix[1, 4] = 1.0
    matrix[2, 0] = matrix[0, 2] = 1.0
    tree = Tree.from_graph(matrix)
    assert tree == Tree([-1, -1, 0, -1, 1])
    assert Tree.from_graph(matrix, root=4) == Tree([-1, 4, 0, -1, -1])


def test_input_index_gives_the_graphs_nodes() -> None:
    tree = Tree.from_graph(([[2, 0], [2, 1]], [1.0, 1.0]), root=2)
    assert tree.parent.tolist() == [2, 2, -1]
    assert tree.input_index.tolist() == [0, 1, 2]


def test_the_callers_matrix_is_left_alone() -> None:
    matrix = np.array([[0.0, 1.0], [1.0, 0.0]])
    Tree.from_graph(matrix)
    assert matrix.tolist() == [[0.0, 1.0], [1.0, 0.0]]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], r"square matrix, got shape \(2,\)"),
        ([[1.0, 2.0]], r"square matrix, got shape \(1, 2\)"),
        (np.zeros((0, 0)), r"square matrix, got shape \(0, 0\)"),
        ([[0, 1], [2, 0]], r"weights\[0, 1\] is 1.0 and weights\[1, 0\] is 2.0"),
        ([[0, np.nan], [np.nan, 0]], r"weights\[0, 1\] is nan: use inf"),
        ([[0, -INF], [-INF, 0]], r"weights\[0, 1\] is -inf: use inf"),
        (([0, 1], [1.0]), r"shape \(m, 2\) with m > 0, got \(2,\)"),
        (([[0, 1, 2]], [1.0]), r"shape \(m, 2\) with m > 0, got \(1, 3\)"),
        ((np.zeros((0, 2), dtype=int), []), r"shape \(m, 2\) with m > 0, got \(0, 2\)"),
        (([[0.0, 1.0]], [1.0]), "edges must be integers, got dtype float64"),
        (([[0, 1]], [1.0, 2.0]), r"1 edges need as many weights, got shape \(2,\)"),
        (([[0, 1], [2, -1]], [1.0, 2.0]), r"edges\[1\] is \[2, -1\]"),
        (([[0, 1], [2, 1]], [1.0, np.nan]), r"weight of edges\[1\] is nan"),
    ],
)
def test_what_is_no_graph_is_refused(weights: object, message: str) -> None:
    with pytest.raises(TreeError, match=message):
        Tree.from_graph(weights)


@pytest.mark.parametrize("root", [-1, 2])
def test_root_must_be_a_node(root: int) -> None:
    for weights in ([[0, 1], [1, 0]], ([[0, 1]], [1.0])):
        with pytest.raises(TreeError, match=rf"root {root} is no node .* 0\.\.1"):
            Tree.from_graph(weights, root=root)


def test_a_dense_graph_of_a_thousand_nodes_takes_less_than_a_second() -> None:
    points = np.random.default_rng(0).random((1000, 2))
    distances = np.linalg.norm(points[:, None] - points, axis=-1)
    started = time.process_time()
    tree = Tree.from_graph(distances)
    assert time.process_time() - started < 1
    assert tree.num_nodes == 1000
    assert tree.num_roots == 1
