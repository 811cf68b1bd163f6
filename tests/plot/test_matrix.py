import numpy as np
import pytest
import torch

from myosotis import Tree, TreeMatrix
from myosotis.errors import ConfigError
from myosotis.plot import example_matrix, show_matrix
from tests.cases import (
    TREES,
    dense_matrix,
    level_sizes,
    random_level_system,
    random_system,
)

pytest.importorskip("matplotlib")


def post_order(tree):
    return np.argsort(tree.post_order)


@pytest.mark.parametrize("name", ["single-node", "quad-5x3", "ragged", "forest"])
def test_both_sides_against_the_dense_matrix(name):
    tree = TREES[name]
    A, B, C = random_system(tree, 2, torch.complex128)
    left, right = show_matrix(TreeMatrix(tree, A, B, C)).axes[:2]
    dense = dense_matrix(tree, A, B, C, order=post_order(tree)).numpy()
    drawn = left.images[0].get_array()
    assert np.array_equal(drawn != 0, dense != 0)
    inverse = np.abs(np.linalg.inv(dense))
    assert np.allclose(right.images[0].get_array().filled(0), inverse, rtol=1e-9, atol=1e-14)


def test_blocks_are_named_as_in_the_equations():
    """B of a node is in its own row and the column of its parent; the paper's figure differs."""
    tree = Tree.perfect(2, 2)
    left = show_matrix(example_matrix(tree)).axes[0]
    drawn = {(t.get_position()[1], t.get_position()[0]): t.get_text() for t in left.texts}
    places = tree.post_order
    expected = {(place, place): "A" for place in places}
    for node, parent in enumerate(tree.parent[: tree.num_edges]):
        expected[places[node], places[parent]] = "B"
        expected[places[parent], places[node]] = "C"
    assert drawn == expected
    rows = [label.get_text() for label in left.get_yticklabels()]
    assert rows == ["1", "2", "[1;2]", "3", "4", "[3;4]", "[1;4]"]


@pytest.mark.parametrize("name", TREES)
def test_the_example_is_the_product_of_its_factors(name):
    tree = TREES[name]
    U = np.zeros((tree.num_nodes, tree.num_nodes))
    for node, parent in enumerate(tree.parent[: tree.num_edges]):
        U[parent, node] = 0.9 / len(tree.children(parent)) ** 0.5
    factor = np.eye(tree.num_nodes) - U
    dense = example_matrix(tree).to_dense(order="canonical")[0].numpy()
    assert np.allclose(dense, factor @ factor.T, rtol=1e-12)


def test_what_cannot_be_drawn_is_named():
    with pytest.raises(ConfigError, match="1,000,000 rows cannot be seen"):
        show_matrix(example_matrix(Tree.chain(1_000_000)))
    with pytest.raises(ConfigError, match="singular"):
        show_matrix(TreeMatrix.diag(Tree.chain(2), *torch.ones(3)))
    tree = TREES["ragged"]
    with pytest.raises(ConfigError, match="choose one of them"):
        show_matrix(TreeMatrix(tree, *random_system(tree, 2, torch.float64, batch=(2, 3))))
    sizes = level_sizes(tree)
    with pytest.raises(ConfigError, match="of one size"):
        show_matrix(TreeMatrix(tree, *random_level_system(tree, sizes, torch.float64)))
