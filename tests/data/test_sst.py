"""Labelled parse trees, against a recursive reader and the reader of brackets."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from myosotis.data import load
from myosotis.data.sst import parse_treebank
from myosotis.errors import DataError
from myosotis.tree import Tree

words = st.sampled_from(["film", "'s", "--", "10", "naïve", "no\xa0break", "-LRB-", "[", "a/b"])
trees = st.recursive(
    st.tuples(st.integers(0, 4), words),
    lambda part: st.tuples(st.integers(0, 4), st.lists(part, min_size=1, max_size=3)),
    max_leaves=15,
)


def written(tree) -> str:
    label, rest = tree
    inside = rest if isinstance(rest, str) else " ".join(map(written, rest))
    return f"({label} {inside})"


def listed(tree, parent: int, rows: list) -> list:
    label, rest = tree
    rows.append((parent, rest if isinstance(rest, str) else "", label))
    number = len(rows) - 1
    if not isinstance(rest, str):
        for child in rest:
            listed(child, number, rows)
    return rows


@given(st.lists(trees, min_size=1, max_size=4))
def test_against_a_recursive_reader(examples):
    content = "".join(f"{written(tree)}\n" for tree in examples)
    bank = parse_treebank(content.encode(), "file")
    rows = [listed(tree, -1, []) for tree in examples]
    assert np.diff(bank.offsets).tolist() == [len(part) for part in rows]
    flat = [row for part in rows for row in part]
    assert list(zip(bank.parents, bank.words, bank.classes, strict=True)) == flat


def test_blank_lines_and_line_ends_do_not_matter():
    bank = parse_treebank(b"\n(1 a)\r\n \n(2 (3 b) (4 c))", "file")
    assert bank.offsets.tolist() == [0, 1, 4]


def test_some_of_the_trees():
    bank = parse_treebank(b"(1 a)\n(2 (3 b) (4 c))\n(0 d)", "file")
    some = bank.take(np.array([1, 2]))
    assert some.words == ["", "b", "c", "d"]
    assert some.classes[some.roots].tolist() == [2, 0]
    assert some.parents.tolist() == [-1, 0, 0, -1]


def test_nesting_may_be_deep():
    depth = 100_000
    bank = parse_treebank(b"(2 " * depth + b"word" + b")" * depth, "file")
    assert bank.parents.tolist() == list(range(-1, depth - 1))
    with pytest.raises(DataError, match="line 1: 100000 brackets are never closed"):
        parse_treebank(b"(2 " * depth + b"(1 a)", "file")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("word", r"column 1: expected '\('"),
        (")", r"column 1: expected '\('"),
        ("(5 a)", "column 1"),
        ("(2)", "column 1"),
        ("()", "column 1"),
        ("(2 )", r"column 4: expected .* got '\)'"),
        ("(2 a b)", "column 4: .* got 'a b"),
        ("(2 (1 a) b)", "column 10: .* got 'b"),
        ("(2 a))", r"column 6: expected the end of the line after a tree, got '\)'"),
        ("(2 a) (1 b)", "column 7: expected the end of the line"),
        ("(2 (1 a)", "1 brackets are never closed"),
        ("(2 \t(1 a))", "column 4"),
    ],
)
def test_errors_give_file_line_and_column(line, message):
    with pytest.raises(DataError, match=rf"^trees\.txt, line 2.*{message}"):
        parse_treebank(f"(1 a)\n{line}\n(1 a)".encode(), "trees.txt")


def test_other_encodings_are_refused():
    with pytest.raises(DataError, match=r"trees\.txt is no UTF-8 text"):
        parse_treebank("(1 naïve)".encode("latin-1"), "trees.txt")


PARTS = ("train", "dev", "test")


@pytest.fixture(scope="module")
def lines(data_root: Path) -> dict[str, list[str]]:
    folder = data_root / "sst" / "trees"
    return {part: (folder / f"{part}.txt").read_text("utf-8").splitlines() for part in PARTS}


@pytest.mark.dataset("sst")
def test_the_published_trees(data_root, lines):
    task = load("sst", data_root)
    splits = dict(zip(PARTS, (task.train, task.validation, task.test), strict=True))
    assert [len(split) for split in splits.values()] == [8544, 1101, 2210]
    assert np.bincount(task.train.labels).tolist() == [1092, 2218, 1624, 2322, 1288]
    vocabulary = ["", None, *sorted(set(re.findall(r" ([^ ()]+)\)", "\n".join(lines["train"]))))]
    assert task.vocabulary == len(vocabulary)
    for part, split in splits.items():
        assert split.labels.tolist() == [int(line[1]) for line in lines[part]]
        batch = next(split.batches(50))
        forest = Tree.forest(
            [Tree.from_brackets(line.replace("\xa0", ""), labels=True) for line in lines[part][:50]]
        )
        assert np.array_equal(batch.tree.parent, forest.parent)
        text = " ".join(lines[part][:50])
        words = re.findall(r" ([^ ()]+)\)", text)
        known = set(vocabulary)
        tokens = batch.inputs[0].tolist()
        assert [vocabulary[t] for t in tokens] == [w if w in known else None for w in words]
        labels = np.array(re.findall(r"\((\d)", text), dtype=int)[batch.tree.input_index]
        assert batch.node_labels[0].tolist() == labels.tolist()


@pytest.mark.dataset("sst")
def test_the_binary_task_leaves_neutral_sentences_out(data_root, lines):
    task = load("sst-binary", data_root)
    splits = dict(zip(PARTS, (task.train, task.validation, task.test), strict=True))
    assert [len(split) for split in splits.values()] == [6920, 872, 1821]
    assert task.provenance.counts == {"train": 8544, "dev": 1101, "test": 2210}
    for part, split in splits.items():
        kept = [line for line in lines[part] if line[1] != "2"]
        assert split.labels.tolist() == [int(line[1] > "2") for line in kept]
        batch = next(split.batches(20))
        words = re.findall(r" ([^ ()]+)\)", " ".join(kept[:20]))
        assert batch.inputs.shape == (1, len(words))
        assert set(batch.node_labels.unique().tolist()) == {-1, 0, 1}
