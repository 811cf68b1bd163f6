import pytest

from myosotis import Tree
from myosotis.cli.tree_argument import FORMS, parse_tree
from myosotis.errors import DataError, TreeError


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("chain:8", Tree.chain(8)),
        ("star:6", Tree.star(6)),
        ("perfect:2x4", Tree.perfect(2, 4)),
        ("over:10x3", Tree.over(10, 3)),
        ("quad:8", Tree.quadtree(8)),
        (" quad:5x3 ", Tree.quadtree(5, 3)),
        ("((a b) c)", Tree.from_brackets("((a b) c)")),
        ("[MAX 2 [MIN 4 7 ] ]", Tree.from_brackets("[MAX 2 [MIN 4 7 ] ]")),
    ],
)
def test_texts_of_trees(text, tree):
    assert parse_tree(text) == tree


@pytest.mark.parametrize("size", [1, 2, 30])
def test_random_trees_are_the_same_each_time(size):
    tree = parse_tree(f"random:{size}")
    assert (tree.num_nodes, tree.num_roots) == (size, 1)
    assert parse_tree(f"random:{size}") == tree


def test_every_form_that_is_named_exists(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cell.swc").write_text("1 1 0 0 0 5 -1\n2 3 1 0 0 1 1\n")
    sizes = [parse_tree(form).num_nodes for form in FORMS.split(", ")]
    assert sizes == [8, 7, 31, 17, 85, 24, 30, 5, 2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chain", "no tree: write one like chain:8"),
        ("chain:2x2", "no tree"),
        ("perfect:2", "no tree"),
        ("ring:4", "no tree"),
        ("chain:-1", "no tree"),
        ("", "no tree"),
        ("chain:0", "at least 1"),
        ("random:0", "at least 1"),
        ("((a b)", "needs a '\\)'"),
    ],
)
def test_what_is_no_tree_is_named(text, message):
    with pytest.raises(TreeError, match=message):
        parse_tree(text)


def test_a_missing_file_is_named():
    with pytest.raises(DataError, match=r"cannot read no-such.swc"):
        parse_tree("no-such.swc")
