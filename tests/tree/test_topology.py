"""Renumbering and everything a `Tree` derives from its parents, against plain loops."""

import copy
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from myosotis.errors import TreeError
from myosotis.tree import Tree
from tests.cases import TREES


@st.composite
def parent_lists(draw: st.DrawFn, max_nodes: int = 40) -> list[int]:
    """Draw a forest in shuffled order: deep, wide or in between, with one or several roots."""
    num_nodes = draw(st.integers(1, max_nodes))
    reach = draw(st.sampled_from([1, 2, 5, max_nodes]))
    parents = [draw(st.integers(max(-1, node - reach), node - 1)) for node in range(num_nodes)]
    shuffled = draw(st.permutations(range(num_nodes)))
    result = [-1] * num_nodes
    for node, parent in enumerate(parents):
        result[shuffled[node]] = -1 if parent < 0 else shuffled[parent]
    return result


def children_of(parents: list[int], node: int) -> list[int]:
    return [child for child, parent in enumerate(parents) if parent == node]


def breadth_first_levels(parents: list[int]) -> list[list[int]]:
    levels = [children_of(parents, -1)]
    while levels[-1]:
        levels.append([child for node in levels[-1] for child in children_of(parents, node)])
    return levels[:-1]


def post_order_walk(parents: list[int], node: int = -1) -> list[int]:
    walk = [
        place for child in children_of(parents, node) for place in post_order_walk(parents, child)
    ]
    return walk if node == -1 else [*walk, node]


@given(parent_lists())
def test_numbering_is_reversed_breadth_first(parents: list[int]) -> None:
    tree = Tree(parents)
    levels = breadth_first_levels(parents)[::-1]
    assert tree.input_index.tolist() == [node for level in levels for node in level]
    assert tree.level_sizes == tuple(len(level) for level in levels)
    assert tree.num_levels == len(levels)
    for level, nodes in zip(tree.levels, levels, strict=True):
        assert tree.input_index[level].tolist() == nodes
    depth = [len(levels) - 1 - height for height, level in enumerate(levels) for _ in level]
    assert tree.depth.tolist() == depth


@given(parent_lists())
def test_parents_agree_with_the_input(parents: list[int]) -> None:
    tree = Tree(parents)
    assert sorted(tree.input_index.tolist()) == list(range(len(parents)))
    for node in range(tree.num_nodes):
        expected = parents[tree.input_index[node]]
        above = tree.parent[node]
        assert (-1 if above < 0 else tree.input_index[above]) == expected
        assert above == -1 or above > node


@given(parent_lists())
def test_children_are_contiguous_and_left_to_right(parents: list[int]) -> None:
    tree = Tree(parents)
    for node in range(tree.num_nodes):
        children = tree.children(node)
        assert children.dtype == np.int64
        expected = children_of(parents, int(tree.input_index[node]))
        assert tree.input_index[children].tolist() == expected
        assert tree.num_children[node] == len(expected)
        assert tree.slot[children].tolist() == list(range(len(expected)))
        if expected:
            assert tree.first_child[node] == children[0]


@given(parent_lists())
def test_counts_and_roots(parents: list[int]) -> None:
    tree = Tree(parents)
    num_roots = parents.count(-1)
    assert tree.num_nodes == len(parents)
    assert tree.num_roots == num_roots
    assert tree.num_edges == len(parents) - num_roots
    assert tree.num_leaves == len(set(range(len(parents))) - set(parents))
    assert tree.roots.tolist() == list(range(tree.num_edges, tree.num_nodes))
    assert tree.parent[tree.roots].tolist() == [-1] * num_roots
    assert tree.slot[tree.roots].tolist() == [0] * num_roots


@given(parent_lists())
def test_post_order_leaves_and_labels(parents: list[int]) -> None:
    tree = Tree(parents)
    canonical = tree.parent.tolist()
    walk = post_order_walk(canonical)
    assert tree.post_order[walk].tolist() == list(range(tree.num_nodes))
    leaves = [node for node in walk if node not in canonical]
    assert tree.leaves.tolist() == leaves
    for node in range(tree.num_nodes):
        below = [
            place for place, leaf in enumerate(leaves, start=1) if is_above(canonical, node, leaf)
        ]
        assert tree.label(node) == (below[0], below[-1])
        assert below == list(range(below[0], below[-1] + 1))


def is_above(parents: list[int], node: int, leaf: int) -> bool:
    while leaf not in (node, -1):
        leaf = parents[leaf]
    return leaf == node


@given(parent_lists())
def test_canonical_parents_stay_as_they_are(parents: list[int]) -> None:
    tree = Tree(parents)
    again = Tree(tree.parent)
    assert again.parent.tolist() == tree.parent.tolist()
    assert again.input_index.tolist() == list(range(tree.num_nodes))


def test_leaves_of_a_ragged_tree_are_not_in_numeric_order() -> None:
    tree = Tree([-1, 0, 0, 0, 2])
    assert tree.leaves.tolist() == [1, 0, 3]
    assert [tree.label(node) for node in range(5)] == [(2, 2), (1, 1), (2, 2), (3, 3), (1, 3)]


def test_single_node() -> None:
    tree = Tree([-1])
    assert tree.levels == (slice(0, 1),)
    assert tree.label(0) == (1, 1)
    assert tree.children(0).tolist() == []
    assert (tree.num_edges, tree.num_leaves, tree.num_levels) == (0, 1, 1)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, ">i4"])
def test_any_integer_dtype_gives_int64(dtype: str) -> None:
    tree = Tree(np.array([-1, 0, 0], dtype=dtype))
    for name in ("parent", "input_index", "post_order", "leaves", "roots", "depth", "slot"):
        assert getattr(tree, name).dtype == np.int64
    assert tree == Tree([-1, 0, 0])


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ([], "empty"),
        ([[-1, 0]], r"one axis, got shape \(1, 2\)"),
        (-1, r"one axis, got shape \(\)"),
        ([-1.0, 0.0], "integers, got dtype float64"),
        ([True, False], "integers, got dtype bool"),
        ([-1, 0, 7], r"parents\[2\] is 7, out of range.*0\.\.2"),
        ([-1, -2], r"parents\[1\] is -2, out of range"),
        (np.array([0, 2**64 - 1], dtype=np.uint64), r"parents\[1\] is 18446744073709551615"),
        ([-1, 1], "node 1 is on a cycle"),
        ([0], "no root .* node 0 is on a cycle"),
        ([1, 2, 0], "no root .* node [012] is on a cycle"),
        ([-1, 0, 3, 4, 3], "^node [34] is on a cycle"),
        ([-1, 5, 1, 2, 3, 2, 4], "^node [125] is on a cycle"),
    ],
)
def test_what_is_no_forest_is_refused(parents: object, message: str) -> None:
    with pytest.raises(TreeError, match=message):
        Tree(parents)


@pytest.mark.parametrize("node", [-1, 5, 100])
def test_node_out_of_range(node: int) -> None:
    tree = Tree.chain(5)
    with pytest.raises(TreeError, match=rf"node {node} does not exist: nodes are 0\.\.4"):
        tree.children(node)
    with pytest.raises(TreeError, match=rf"node {node} does not exist"):
        tree.label(node)


def test_node_may_be_a_numpy_integer() -> None:
    assert Tree.star(3).children(np.int32(3)).tolist() == [0, 1, 2]


def test_attributes_cannot_be_set_or_deleted() -> None:
    tree = Tree.chain(3)
    for name in ("parent", "post_order", "new_name"):
        with pytest.raises(AttributeError, match=name):
            setattr(tree, name, None)
    with pytest.raises(AttributeError, match="parent"):
        del tree.parent
    assert tree.parent.tolist() == [1, 2, -1]


def test_arrays_cannot_be_written() -> None:
    tree = Tree([-1, 0, 0, 1])
    names = "parent input_index roots leaves num_children first_child slot depth post_order"
    for name in names.split():
        with pytest.raises(ValueError, match="read-only"):
            getattr(tree, name)[0] = 7


def test_the_callers_array_is_neither_kept_nor_locked() -> None:
    parents = np.array([1, 2, -1])
    tree = Tree(parents)
    parents[0] = 2
    assert tree.parent.tolist() == [1, 2, -1]


def test_costly_attributes_are_kept() -> None:
    tree = Tree.quadtree(4)
    for name in ("levels", "leaves", "post_order", "depth", "slot"):
        assert getattr(tree, name) is getattr(tree, name)


@given(parent_lists(max_nodes=6), parent_lists(max_nodes=6))
def test_equality_and_hash(left: list[int], right: list[int]) -> None:
    assert (Tree(left) == Tree(right)) == (left == right)
    assert Tree(left) == Tree(list(left))
    assert hash(Tree(left)) == hash(Tree(list(left)))


def test_equality_looks_at_the_input_index() -> None:
    straight, turned = Tree([1, 2, -1]), Tree([-1, 0, 1])
    assert straight.parent.tolist() == turned.parent.tolist()
    assert straight != turned
    assert straight != "tree"
    assert len({straight, turned, Tree.chain(3)}) == 2


@given(parent_lists())
def test_pickle_and_copies(parents: list[int]) -> None:
    tree = Tree(parents)
    for twin in (pickle.loads(pickle.dumps(tree)), copy.copy(tree), copy.deepcopy(tree)):
        assert twin == tree
        assert not twin.parent.flags.writeable
        assert not twin.input_index.flags.writeable


def test_repr_gives_the_sizes() -> None:
    expected = "Tree(num_nodes=6, num_leaves=3, num_levels=3, num_roots=2)"
    assert repr(Tree.forest([Tree.star(2), Tree.chain(3)])) == expected


# Timed in a process of its own, where no tracer (coverage, debugger) slows every line down.
SPEED = """
import json, time
import numpy as np
from myosotis.tree import Tree
from tests.cases import TREES

MILLION = 10**6
node = np.arange(MILLION)

def shuffled(parents):
    names = np.random.default_rng(0).permutation(MILLION)
    result = np.empty_like(parents)
    result[names] = np.where(parents < 0, -1, names[parents])
    return result

def attached_within(reach):
    back = np.random.default_rng(1).integers(1, np.minimum(np.maximum(node, 1), reach) + 1)
    return np.maximum(node - back, -1)

caterpillar = np.where(node % 2 == 0, node - 2, node - 1).clip(-1)
families = {
    "chain": (Tree.chain, MILLION),
    "star": (Tree.star, MILLION),
    "over": (lambda size: Tree.over(size, 2), MILLION // 2),
    "quadtree": (Tree.quadtree, 1024),
    "octree": (Tree.octree, 100),
    "shuffled chain": (Tree, shuffled(node - 1)),
    "shuffled star": (Tree, shuffled(np.minimum(node - 1, 0))),
    "random attachment": (Tree, attached_within(MILLION)),
    "shuffled random attachment": (Tree, shuffled(attached_within(MILLION))),
    "shuffled deep random": (Tree, shuffled(attached_within(5))),
    "shuffled caterpillar": (Tree, shuffled(caterpillar)),
    "forest": (Tree.forest, [Tree.perfect(3, 2)] * (MILLION // 13)),
    "brackets": (Tree.from_brackets, "(a (b c) [d])" * (MILLION // 7)),
}
attributes = ("levels", "leaves", "depth", "slot", "post_order")
result = {}
for name, (build, argument) in families.items():
    started = time.process_time()
    tree = build(argument)
    built = time.process_time()
    for attribute in attributes:
        getattr(tree, attribute)
    done = time.process_time()
    last_is_last = bool(tree.post_order[-1] == tree.num_nodes - 1)
    result[name] = [tree.num_nodes, built - started, done - built, last_is_last]
print(json.dumps(result))
"""


def test_a_million_nodes_take_less_than_two_seconds() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SPEED], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    families = json.loads(done.stdout)
    assert len(families) == 13
    for family, (num_nodes, seconds, for_attributes, last_root_is_last) in families.items():
        assert num_nodes > 0.99 * 10**6, family
        assert last_root_is_last, family
        assert seconds < 2, family
        assert for_attributes < 3, family


@pytest.mark.parametrize("name", TREES)
def test_the_top_has_the_last_nodes_and_their_edges(name: str) -> None:
    tree = TREES[name]
    for levels in range(1, tree.num_levels + 2):
        top = tree.top(levels)
        assert top.level_sizes == tree.level_sizes[-levels:]
        first = tree.num_nodes - top.num_nodes
        expected = tree.parent[first:]
        assert np.array_equal(np.where(top.parent < 0, -1, top.parent + first), expected)
        if levels < tree.num_levels:
            assert np.array_equal(top.input_index, np.arange(first, tree.num_nodes))
    with pytest.raises(TreeError, match="levels must be an integer of at least 1"):
        tree.top(0)
