"""Trees as text, and the system of the page against dense algebra."""

import numpy as np
import pytest

from myosotis import Tree
from myosotis.demo.systems import random_tree_text, read_tree, solve_example
from myosotis.errors import TreeError
from tests.cases import TREES


@pytest.mark.parametrize(
    "text", ["((a b) c)", "[[a b] c]", "-1, 0, 1, 1, 0", "-1 0 1 1 0", " [-1,0, 1,1,0] "]
)
def test_the_same_tree_in_every_notation(text: str) -> None:
    assert read_tree(text) == Tree([-1, 0, 1, 1, 0])


def test_numbers_in_brackets_without_commas_are_words() -> None:
    assert read_tree("[1 2 3]").num_leaves == 3


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "empty"),
        ("((a b) c", "position 0"),
        ("(a ())", "is empty"),
        ("1, 0", "cycle"),
        ("-1, 7", "7"),
        ("(" + "a " * 3000 + ")", "fit on this page"),
    ],
)
def test_the_library_says_what_is_wrong(text: str, complaint: str) -> None:
    with pytest.raises(TreeError, match=complaint):
        read_tree(text)


@pytest.mark.parametrize("num_nodes", [1, 2, 40])
def test_random_trees_have_the_size_asked_for_and_depend_on_the_seed(num_nodes: int) -> None:
    texts = {random_tree_text(num_nodes, seed) for seed in range(20)}
    trees = [read_tree(text) for text in texts]
    assert {(tree.num_nodes, tree.num_roots) for tree in trees} == {(num_nodes, 1)}
    assert (len(texts) == 1) == (num_nodes < 3)


@pytest.mark.parametrize("name", TREES)
def test_solution_of_the_dense_matrix(name: str) -> None:
    solved = solve_example(TREES[name], seed=3)
    dense = solved.matrix.to_dense(order="canonical")[0].numpy()
    assert np.allclose(solved.solution, np.linalg.solve(dense, solved.right_side), rtol=1e-8)
    residual = solved.right_side - dense @ solved.solution
    assert np.allclose(solved.residual, residual, atol=1e-12)
    assert not np.array_equal(solved.right_side, solve_example(TREES[name], seed=4).right_side)
