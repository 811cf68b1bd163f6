"""Bracketed text, against a recursive printer and by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myosotis.errors import TreeError
from myosotis.tree import Tree
from myosotis.tree.brackets import bracket_parents

words = st.sampled_from(["a", "MAX", "'s", "10", "naïve", "-LRB-"])
nested = st.recursive(words, lambda part: st.lists(part, min_size=1, max_size=4), max_leaves=20)
Nested = str | list["Nested"]


def written(part: Nested, brackets: str = "()") -> str:
    if isinstance(part, str):
        return part
    other = brackets if len(part) % 2 else "[]"
    return other[0] + " ".join(written(child, brackets) for child in part) + other[1]


def listed(part: Nested, parent: int, parents: list[int]) -> list[int]:
    parents.append(parent)
    number = len(parents) - 1
    if not isinstance(part, str):
        for child in part:
            listed(child, number, parents)
    return parents


@given(st.lists(nested, min_size=1, max_size=4))
def test_every_pair_and_every_word_is_a_node(parts: list[Nested]) -> None:
    parents: list[int] = []
    for part in parts:
        listed(part, -1, parents)
    text = " ".join(written(part) for part in parts)
    assert bracket_parents(text).tolist() == parents
    assert Tree.from_brackets(text) == Tree(parents)


def test_input_index_is_the_order_in_the_text() -> None:
    tree = Tree.from_brackets("((a b) c)")
    names = ["((a b) c)", "(a b)", "a", "b", "c"]
    assert [names[index] for index in tree.input_index] == ["a", "b", "(a b)", "c", "((a b) c)"]
    assert [names[tree.input_index[leaf]] for leaf in tree.leaves] == ["a", "b", "c"]


def test_expression_in_square_brackets() -> None:
    text = "[MAX 2 9 [MIN 4 7 ] 0 ]"
    assert bracket_parents(text).tolist() == [-1, 0, 0, 0, 0, 4, 4, 4, 0]
    assert bracket_parents(text, labels=True).tolist() == [-1, 0, 0, 0, 3, 3, 0]


@pytest.mark.parametrize(
    ("text", "parents"),
    [
        ("(3 (2 It) (4 (2 's) (4 good)))", [-1, 0, 0, 2, 2]),
        ("(S\n  (NP (DT the) (NN dog))\n  (VP barks))", [-1, 0, 1, 1, 0]),
        ("( (S (NP dogs) (VP bark)))", [-1, 0, 1, 1]),
        ("(X)", [-1]),
        ("(X word)", [-1]),
        ("(X two words)", [-1, 0, 0]),
        ("(X word (Y other))", [-1, 0, 0]),
        ("word", [-1]),
        ("(A b) (C d e) f", [-1, -1, 1, 1, -1]),
    ],
)
def test_labels(text: str, parents: list[int]) -> None:
    assert bracket_parents(text, labels=True).tolist() == parents
    assert Tree.from_brackets(text, labels=True) == Tree(parents)


def test_several_trees_make_a_forest() -> None:
    tree = Tree.from_brackets("(a b)(c) [d [e]]")
    assert tree.num_roots == 3
    assert tree.num_leaves == 5


def test_nesting_may_be_deep() -> None:
    depth = 100_000
    tree = Tree.from_brackets("(" * depth + "x" + ")" * depth)
    assert tree.num_levels == depth + 1


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "text is empty"),
        (" \n\t", "text is empty"),
        ("(a b", r"bracket at position 0 needs a '\)'"),
        ("(a [b c", r"bracket at position 3 needs a '\]'"),
        ("a )", r"'\)' at position 2 closes a bracket that was never opened"),
        ("(a b)) c", r"'\)' at position 5 closes a bracket that was never opened"),
        ("(a [b c) ]", r"'\)' at position 7 does not match the bracket at position 3, .* '\]'"),
        ("(]", r"'\]' at position 1 does not match the bracket at position 0, .* '\)'"),
        ("(a  ( ) b)", "the bracket at position 4 is empty"),
        ("[]", "the bracket at position 0 is empty"),
    ],
)
def test_errors_give_the_position(text: str, message: str, labels: bool) -> None:
    with pytest.raises(TreeError, match=message):
        Tree.from_brackets(text, labels=labels)
