"""The elimination schedule: each round possible, and few rounds on every tree."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from myosotis.tree import Tree
from myosotis.tree.schedule import elimination, rounds
from tests.cases import NEURONS, TREES, binary, caterpillar, deep, ragged, trees

every_tree = pytest.mark.parametrize("tree", TREES.values(), ids=TREES.keys())


def graph_of(tree: Tree) -> dict[int, set[int]]:
    neighbours: dict[int, set[int]] = {node: set() for node in range(tree.num_nodes)}
    for child, parent in enumerate(tree.parent[: tree.num_edges].tolist()):
        neighbours[child].add(parent)
        neighbours[parent].add(child)
    return neighbours


def eliminate(neighbours: dict[int, set[int]], node: int) -> None:
    """Take a node out of the graph and join all its neighbours to each other."""
    around = neighbours.pop(node)
    for other in around:
        neighbours[other] |= around - {other}
        neighbours[other].discard(node)


def assert_can_be_eliminated(tree: Tree) -> None:
    neighbours = graph_of(tree)
    for nodes in rounds(tree):
        assert nodes.size > 0
        chosen = set(nodes.tolist())
        for node in chosen:
            assert len(neighbours[node]) <= 2, f"node {node} has neighbours {neighbours[node]}"
            assert not neighbours[node] & chosen, f"node {node} stands beside another of its round"
        for node in chosen:
            eliminate(neighbours, node)
    assert not neighbours


def assert_partition(tree: Tree) -> None:
    nodes = np.concatenate(rounds(tree))
    assert np.array_equal(np.sort(nodes), np.arange(tree.num_nodes))


@every_tree
def test_every_node_is_in_exactly_one_round(tree: Tree) -> None:
    assert_partition(tree)


@every_tree
def test_a_round_is_independent_with_at_most_two_neighbours_each(tree: Tree) -> None:
    assert_can_be_eliminated(tree)


@given(trees(max_nodes=200))
def test_random_trees_can_be_eliminated_round_by_round(tree: Tree) -> None:
    assert_partition(tree)
    assert_can_be_eliminated(tree)


@given(trees(max_nodes=100))
def test_a_round_knows_its_neighbours(tree: Tree) -> None:
    neighbours = graph_of(tree)
    for r in elimination(tree):
        around: list[set[int]] = [set() for _ in r.nodes]
        for known in (r.parent, r.child):
            for place, node in enumerate(known.tolist()):
                around[place].add(node)
        assert around == [neighbours[node] for node in r.nodes.tolist()]
        for node in r.nodes.tolist():
            eliminate(neighbours, node)


@every_tree
def test_rounds_are_ascending_int64(tree: Tree) -> None:
    for nodes in rounds(tree):
        assert nodes.dtype == np.int64
        assert (np.diff(nodes) > 0).all()


@pytest.mark.parametrize("branching", [2, 3, 4, 8])
@pytest.mark.parametrize("depth", range(5))
def test_rounds_of_a_perfect_tree_are_its_levels(branching: int, depth: int) -> None:
    tree = Tree.perfect(branching, depth)
    levels = [list(range(level.start, level.stop)) for level in tree.levels]
    assert [nodes.tolist() for nodes in rounds(tree)] == levels


def test_rounds_of_a_square_quadtree_are_its_levels() -> None:
    tree = Tree.quadtree(16)
    assert [nodes.size for nodes in rounds(tree)] == list(tree.level_sizes)


CHAIN_LENGTHS = [*range(1, 130), 255, 256, 257, 1000, 2**14, 99_999, 2**17 + 1, 10**6]


@pytest.mark.parametrize("length", CHAIN_LENGTHS)
def test_few_rounds_on_a_chain(length: int) -> None:
    assert len(rounds(Tree.chain(length))) <= 2 * math.log2(length) + 4


def with_legs(num_nodes: int, seed: int) -> Tree:
    """A caterpillar: a path, and every other node hung on a random one of the path."""
    random = np.random.default_rng(seed)
    length = int(random.integers(1, num_nodes))
    path = np.arange(-1, length - 1)
    return Tree(np.concatenate([path, random.integers(0, length, num_nodes - length)]))


def with_arms(num_nodes: int, seed: int) -> Tree:
    """A star whose arms are chains of random lengths."""
    random = np.random.default_rng(seed)
    num_arms = int(random.integers(1, num_nodes))
    parents = np.arange(-1, num_nodes - 1)
    parents[random.choice(np.arange(1, num_nodes), num_arms, replace=False)] = 0
    return Tree(parents)


RANDOM_FAMILIES: dict[str, Callable[[int, int], Tree]] = {
    "uniform-attachment": ragged,
    "deep": deep,
    "caterpillar": with_legs,
    "binary": binary,
    "star": with_arms,
}


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("family", RANDOM_FAMILIES)
def test_few_rounds_on_random_trees(family: str, seed: int) -> None:
    num_nodes = 10**5
    tree = RANDOM_FAMILIES[family](num_nodes, seed)
    assert abs(tree.num_nodes - num_nodes) <= 1
    assert len(rounds(tree)) <= 3 * math.log2(tree.num_nodes) + 8


@pytest.mark.parametrize("build", [Tree.star, caterpillar], ids=["star", "caterpillar"])
def test_few_rounds_on_regular_trees(build: Callable[[int], Tree]) -> None:
    tree = build(10**5)
    assert len(rounds(tree)) <= 3 * math.log2(tree.num_nodes) + 8


@pytest.mark.neurons
@pytest.mark.parametrize("path", NEURONS, ids=lambda path: path.stem)
def test_few_rounds_on_neurons(path: Path) -> None:
    tree = Tree.from_swc(path)
    assert_partition(tree)
    assert len(rounds(tree)) <= 3 * math.log2(tree.num_nodes) + 8
