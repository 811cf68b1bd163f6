import itertools

import numpy as np
import pytest

from myosotis import Tree
from myosotis.errors import ShapeError
from myosotis.plot import show_tree
from tests.cases import TREES, deep, ragged

pytest.importorskip("matplotlib")
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex


def labels(figure):
    return [text for text in figure.axes[0].texts if not text.get_text().startswith("level")]


def edges(figure):
    (lines,) = [c for c in figure.axes[0].collections if isinstance(c, LineCollection)]
    return np.array(lines.get_segments())


def note(figure):
    return "".join(legend.get_title().get_text() for legend in figure.legends)


@pytest.mark.parametrize("name", TREES)
def test_every_edge_leads_one_level_up_to_the_middle_of_the_leaves_below(name):
    tree = TREES[name]
    figure = show_tree(tree)
    assert len(edges(figure)) == tree.num_edges
    for node, (low, high) in enumerate(edges(figure)):
        parent = tree.parent[node]
        first, last = tree.label(int(parent))
        assert high[0] == (first + last) / 2 - 1
        assert (low[1], high[1]) == (tree.depth[node], tree.depth[parent])
    assert not note(figure)


def test_labels_are_segments_of_leaves_and_levels_are_counted_from_the_deepest():
    figure = show_tree(Tree.from_brackets("((a b) c)"))
    assert sorted(text.get_text() for text in labels(figure)) == ["1", "2", "3", "[1;2]", "[1;3]"]
    levels = {text.get_text() for text in figure.axes[0].texts} - {
        text.get_text() for text in labels(figure)
    }
    assert levels == {"level 1: 2 nodes", "level 2: 2 nodes", "level 3: 1 node"}
    assert figure.get_suptitle() == "tree: 5 nodes, 3 leaves, 3 levels"


@pytest.mark.parametrize("tree", [ragged(60), deep(120), Tree.over(30, 3)], ids=repr)
def test_labels_do_not_overlap(tree):
    figure = show_tree(tree)
    figure.canvas.draw()
    boxes = [text.get_bbox_patch().get_window_extent() for text in labels(figure)]
    assert len(boxes) > 3
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)


@pytest.mark.parametrize(
    ("tree", "missing"),
    [
        (Tree.quadtree(64), "levels 1–2 with 5,120 of the 5,461 nodes"),
        (Tree.star(100_000), "level 1 with 100,000 of the 100,001 nodes"),
        (Tree.chain(10_000), "levels 1–9,200 with 9,200 of the 10,000 nodes"),
    ],
    ids=repr,
)
def test_large_trees_are_abridged_and_say_so(tree, missing):
    figure = show_tree(tree)
    assert missing in note(figure)
    assert len(edges(figure)) < 4000
    figure.canvas.draw()


def test_groups_have_colours_and_a_legend():
    tree = Tree.perfect(2, 2)
    figure = show_tree(tree, groups=np.array([5, 5, 2, 2, 5, 2, 2]), group_name="rank")
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["rank 2", "rank 5"]
    colour_of = {
        text.get_text(): to_hex(text.get_bbox_patch().get_facecolor()) for text in labels(figure)
    }
    two, five = (to_hex(patch.get_facecolor()) for patch in legend.get_patches())
    assert [colour_of[name] for name in ("1", "3", "[1;2]", "[3;4]")] == [five, two, five, two]


def test_the_group_of_all_is_named_so():
    figure = show_tree(Tree.star(2), groups=[0, 1, -1], group_name="rank")
    texts = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert texts == ["every rank", "rank 0", "rank 1"]


def test_many_groups_have_different_colours():
    figure = show_tree(Tree.star(15), groups=np.arange(16))
    colours = {patch.get_facecolor() for patch in figure.legends[0].get_patches()}
    assert len(colours) == 16


@pytest.mark.parametrize("groups", [[0, 1], [0.0, 1.0, 2.0, 3.0]])
def test_groups_that_do_not_fit_are_named(groups):
    with pytest.raises(ShapeError, match="a whole number for each of the 4 nodes"):
        show_tree(Tree.star(3), groups=groups)
