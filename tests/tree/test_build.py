"""The regular trees and forests, against brute force."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from myosotis.errors import TreeError
from myosotis.tree import Tree, morton_order

REGULAR_TREES = {
    "chain": Tree.chain(7),
    "single": Tree.chain(1),
    "star": Tree.star(5),
    "perfect": Tree.perfect(3, 3),
    "perfect-one-branch": Tree.perfect(1, 4),
    "perfect-no-depth": Tree.perfect(5, 0),
    "over": Tree.over(23, 3),
    "over-one-leaf": Tree.over(1, 1),
    "quadtree": Tree.quadtree(5, 11),
    "quadtree-column": Tree.quadtree(9, 1),
    "octree": Tree.octree(2, 3, 5),
}


@pytest.mark.parametrize("tree", REGULAR_TREES.values(), ids=REGULAR_TREES.keys())
def test_regular_trees_are_born_canonical(tree: Tree) -> None:
    renumbered = Tree(tree.parent)
    assert renumbered.parent.tolist() == tree.parent.tolist()
    assert tree.input_index.tolist() == list(range(tree.num_nodes))
    assert tree == renumbered
    assert tree.parent.dtype == tree.input_index.dtype == np.int64


def test_chain() -> None:
    tree = Tree.chain(4)
    assert tree.parent.tolist() == [1, 2, 3, -1]
    assert tree.num_levels == 4
    assert tree.leaves.tolist() == [0]


def test_star() -> None:
    tree = Tree.star(4)
    assert tree.parent.tolist() == [4, 4, 4, 4, -1]
    assert tree.level_sizes == (4, 1)


@given(st.integers(1, 4), st.integers(0, 4))
def test_perfect(branching: int, depth: int) -> None:
    tree = Tree.perfect(branching, depth)
    assert tree.level_sizes == tuple(branching**level for level in reversed(range(depth + 1)))
    inner = tree.num_children[tree.num_children > 0]
    assert (inner == branching).all()
    assert tree.leaves.tolist() == list(range(branching**depth))


def test_perfect_with_one_branch_is_a_chain() -> None:
    assert Tree.perfect(1, 5) == Tree.chain(6)


@given(st.integers(1, 200), st.integers(2, 6))
def test_over_groups_neighbours(num_leaves: int, branching: int) -> None:
    tree = Tree.over(num_leaves, branching)
    assert tree.leaves.tolist() == list(range(num_leaves))
    assert tree.num_roots == 1
    for level, above in zip(tree.levels, tree.levels[1:], strict=False):
        groups = np.split(
            np.arange(level.start, level.stop),
            range(branching, level.stop - level.start, branching),
        )
        assert above.stop - above.start == len(groups)
        for node, group in enumerate(groups, start=above.start):
            assert tree.children(node).tolist() == group.tolist()


def cell_tree(shape: Sequence[int]) -> dict[tuple[int, ...], set[tuple[int, ...]]]:
    """Map every non-empty cell (halvings, coordinates…) to its children, by brute force."""
    halvings = max(size - 1 for size in shape).bit_length()
    cells: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
    for pixel in np.ndindex(*shape):
        for level in range(halvings):
            child = (level, *(x >> level for x in pixel))
            cell = (level + 1, *(x >> level + 1 for x in pixel))
            cells.setdefault(cell, set()).add(child)
    return cells


def check_grid_tree(tree: Tree, shape: Sequence[int], pixels: Sequence[int]) -> None:
    """Check that node and cell correspond, when leaf k is the row-major pixel `pixels[k]`."""
    num_pixels = int(np.prod(shape))
    assert tree.num_leaves == num_pixels
    assert tree.leaves.tolist() == list(range(num_pixels))
    cell_of = {}
    for leaf, pixel in enumerate(pixels):
        cell_of[leaf] = (0, *map(int, np.unravel_index(pixel, shape)))
    for node in range(num_pixels, tree.num_nodes):
        level, *place = cell_of[int(tree.children(node)[0])]
        cell_of[node] = (level + 1, *(x >> 1 for x in place))
    expected = cell_tree(shape)
    assert tree.num_nodes == num_pixels + len(expected)
    for node in range(num_pixels, tree.num_nodes):
        assert {cell_of[int(child)] for child in tree.children(node)} == expected[cell_of[node]]


@given(st.integers(1, 13), st.integers(1, 13))
def test_quadtree_has_exactly_the_cells_with_pixels(height: int, width: int) -> None:
    check_grid_tree(Tree.quadtree(height, width), (height, width), morton_order(height, width))


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6))
def test_octree_has_exactly_the_cells_with_voxels(depth: int, height: int, width: int) -> None:
    def code(voxel: tuple[int, ...]) -> int:
        z, y, x = voxel
        bits = range(3)
        return sum(
            (z >> b & 1) * 4 * 8**b + (y >> b & 1) * 2 * 8**b + (x >> b & 1) * 8**b for b in bits
        )

    shape = (depth, height, width)
    voxels = sorted(np.ndindex(*shape), key=code)
    pixels = [int(np.ravel_multi_index(voxel, shape)) for voxel in voxels]
    check_grid_tree(Tree.octree(depth, height, width), shape, pixels)


def test_quadtree_of_mnist_has_no_padding() -> None:
    tree = Tree.quadtree(28)
    assert tree.level_sizes == (784, 196, 49, 16, 4, 1)
    assert tree == Tree.quadtree(28, 28)


def test_octree_is_cubic_by_default() -> None:
    assert Tree.octree(3) == Tree.octree(3, 3, 3)
    assert Tree.octree(4).level_sizes == (64, 8, 1)


def test_forest_aligns_the_roots() -> None:
    members = [Tree([-1, 0, 0, 1]), Tree.chain(1), Tree.quadtree(3), Tree.chain(4)]
    forest = Tree.forest(members)
    concatenated = [
        (place, node) for place, member in enumerate(members) for node in range(member.num_nodes)
    ]
    origin = [concatenated[index] for index in forest.input_index]
    assert forest.num_roots == len(members)
    for node, (place, member_node) in enumerate(origin):
        member = members[place]
        assert forest.depth[node] == member.depth[member_node]
        children = [origin[child] for child in forest.children(node)]
        assert children == [(place, child) for child in member.children(member_node)]
    for level in forest.levels:
        assert origin[level] == sorted(origin[level])


def test_forest_of_one_tree_is_that_tree() -> None:
    assert Tree.forest([Tree.quadtree(5)]) == Tree.quadtree(5)


def test_forest_of_forests_and_of_a_generator() -> None:
    inner = Tree.forest([Tree.chain(2), Tree.star(2)])
    forest = Tree.forest(tree for tree in (inner, Tree.chain(1)))
    assert forest.num_roots == 3
    assert forest.level_sizes == (3, 3)


def test_forest_leaves_go_tree_by_tree() -> None:
    forest = Tree.forest([Tree.chain(3), Tree.chain(1), Tree.star(2)])
    assert forest.input_index[forest.leaves].tolist() == [0, 3, 4, 5]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Tree.chain(0), "length must be an integer of at least 1, got 0"),
        (lambda: Tree.chain(2.5), "length must be an integer of at least 1, got 2.5"),
        (lambda: Tree.chain("9"), "length must be an integer of at least 1, got '9'"),
        (lambda: Tree.star(0), "num_leaves must be an integer of at least 1, got 0"),
        (lambda: Tree.perfect(0, 2), "branching must be an integer of at least 1, got 0"),
        (lambda: Tree.perfect(2, -1), "depth must be an integer of at least 0, got -1"),
        (lambda: Tree.over(0, 2), "num_leaves must be an integer of at least 1, got 0"),
        (lambda: Tree.over(4, 0), "branching must be an integer of at least 1, got 0"),
        (lambda: Tree.over(4, 1), "branching 1 never joins 4 leaves"),
        (lambda: Tree.quadtree(0), "height must be an integer of at least 1, got 0"),
        (lambda: Tree.quadtree(3, 0), "width must be an integer of at least 1, got 0"),
        (lambda: Tree.octree(-1), "depth must be an integer of at least 1, got -1"),
        (lambda: Tree.octree(2, 0), "height must be an integer of at least 1, got 0"),
        (lambda: Tree.octree(2, 2, 0), "width must be an integer of at least 1, got 0"),
        (lambda: Tree.forest([]), "at least one tree"),
        (lambda: Tree.forest([Tree.chain(2), [0, -1]]), "member 1 of the forest is a list"),
    ],
)
def test_impossible_sizes_are_refused(build: Callable[[], Tree], message: str) -> None:
    with pytest.raises(TreeError, match=message):
        build()
