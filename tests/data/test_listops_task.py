"""The three ListOps tasks, from published files and generated."""

import itertools
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from myosotis.data import listops_task
from myosotis.data.listops import (
    FIRST_DIGIT,
    FIRST_OPERATOR,
    OPERATORS,
    as_text,
    evaluate,
    tokenize,
)
from myosotis.data.listops_chains import ChainSplit
from myosotis.data.listops_examples import Expressions
from myosotis.data.listops_files import read_tsv
from myosotis.data.listops_task import (
    generated_listops,
    load_listops,
    load_listops_chain,
    load_listops_tree,
)
from myosotis.data.task import Batch
from myosotis.errors import DataError
from myosotis.tree import Tree
from tests.data.test_listops import rewrite

TEXTS = [
    "[MAX 2 9 [MIN 4 7 ] 0 ]",
    "[SM 1 2 [MED 3 4 9 ] [MAX 5 [MIN 6 7 ] ] ]",
    "8",
    "[MED [SM 9 9 ] 3 ]",
]
SIZES = {"train": 40, "validation": 7, "test": 5}


def lra_line(text: str) -> str:
    words = [f"( {word}" if word.startswith("[") else f"{word} )" for word in text.split()]
    return f"{' '.join(words)}\t{evaluate(text)}\n"


def original_line(text: str) -> str:
    return f"{evaluate(text)}\t{text}\n"


@pytest.fixture
def lra_root(tmp_path: Path) -> Path:
    folder = tmp_path / "listops"
    folder.mkdir()
    for name in ("train", "val", "test"):
        lines = "".join(map(lra_line, TEXTS))
        (folder / f"basic_{name}.tsv").write_text(f"Source\tTarget\n{lines}")
    return tmp_path


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listops_task, "generated_listops", partial(generated_listops, sizes=SIZES))


def values_on_the_tree(batch: Batch) -> list[int]:
    """Evaluate every node of the forest from its children, which have smaller numbers."""
    assert batch.tree is not None
    values: list[int] = []
    for node, token in enumerate(batch.inputs[0].tolist()):
        below = sorted(values[child] for child in batch.tree.children(node))
        if token < FIRST_OPERATOR:
            assert not below
            values.append(token - FIRST_DIGIT)
            continue
        results = {
            "MIN": below[0],
            "MAX": below[-1],
            "SM": sum(below) % 10,
            "MED": int(np.median(below)),
        }
        values.append(results[OPERATORS[token - FIRST_OPERATOR]])
    return values


def assert_values(batch: Batch) -> None:
    """The labels of operators are their values, and that of an example is the value of its root."""
    assert batch.tree is not None
    assert batch.node_labels is not None
    values = values_on_the_tree(batch)
    tokens = batch.inputs[0].tolist()
    expected = [v if t >= FIRST_OPERATOR else -1 for v, t in zip(values, tokens, strict=True)]
    assert batch.node_labels[0].tolist() == expected
    assert batch.labels.tolist() == [values[root] for root in batch.tree.roots]


def test_flat_task_from_files(lra_root: Path) -> None:
    task = load_listops(lra_root)
    assert task.tree == Tree.over(2048, 2)
    assert (task.kind, task.num_classes, task.vocabulary) == ("tokens", 10, 16)
    batch = next(task.test.batches(4))
    assert batch.mask is not None
    for row, mask, label, text in zip(batch.inputs, batch.mask, batch.labels, TEXTS, strict=True):
        assert as_text(row[mask].numpy()) == text
        assert not row[~mask].any()
        assert int(label) == evaluate(text)
    assert [file.path for file in task.provenance.files] == [
        f"listops/basic_{name}.tsv" for name in ("train", "val", "test")
    ]


def test_branching(lra_root: Path) -> None:
    assert load_listops(lra_root, branching=8).tree == Tree.over(2048, 8)


def test_tree_task_from_files(lra_root: Path) -> None:
    task = load_listops_tree(lra_root)
    assert task.tree is None
    assert task.inputs_on == "nodes"
    for batch in task.train.batches(3, seed=1):
        assert_values(batch)
    batch = next(task.train.batches(1))
    assert batch.tree == Tree([-1, 0, 0, 0, 3, 3, 0])


def test_chain_task_from_files(lra_root: Path) -> None:
    task = load_listops_chain(lra_root)
    assert task.tree is None
    assert task.inputs_on == "nodes"
    for text, batch in zip(TEXTS, task.test.batches(1), strict=True):
        tokens = batch.inputs[0].numpy()
        assert as_text(tokens) == text
        assert batch.tree == Tree([*range(1, len(tokens)), -1])
        assert batch.labels.tolist() == [evaluate(text)]
        assert batch.node_labels is not None
        assert batch.node_labels[0].tolist() == closed_values(text)


def test_an_expression_counts_as_much_as_all_lists_inside_it(lra_root: Path) -> None:
    sizes = set()
    for batch in load_listops_chain(lra_root).test.batches(1):
        assert batch.node_labels is not None
        assert batch.node_weights is not None
        *inside, whole = batch.node_weights[0][batch.node_labels[0] >= 0].tolist()
        sizes.add(len(inside))
        assert whole == 1
        assert sum(inside) == pytest.approx(1 if inside else 0)
        assert len(set(inside)) <= 1
    assert len(sizes) > 1


def test_parts_of_expressions_are_lists_that_stand_in_them(lra_root: Path) -> None:
    whole = load_listops_chain(lra_root).test
    assert isinstance(whole, ChainSplit)
    seen: dict[float, set[int]] = {0.1: set(), 1.0: set()}
    for share, seed in itertools.product(seen, range(8)):
        parts = whole.parts(share, seed=seed)
        assert len(parts) == len(whole)
        for text, batch in zip(TEXTS, parts.batches(1), strict=True):
            cut = as_text(batch.inputs[0].numpy())
            assert f" {cut} " in f" {text} "
            assert batch.labels.tolist() == [evaluate(cut)]
            assert batch.tree == Tree([*range(1, batch.inputs.shape[1]), -1])
            assert batch.node_labels is not None
            assert batch.node_labels[0].tolist() == closed_values(cut)
            seen[share].add(cut.count("["))
    assert max(seen[0.1]) == 1  # lists of digits
    assert max(seen[1.0]) == max(text.count("[") for text in TEXTS)


def test_parts_are_drawn_by_the_seed(lra_root: Path) -> None:
    whole = load_listops_chain(lra_root).train
    assert isinstance(whole, ChainSplit)
    drawn = [whole.parts(1.0, seed=seed).tokens.tolist() for seed in (0, 0, 1, 2, 3)]
    assert drawn[0] == drawn[1]
    assert any(drawn[0] != other for other in drawn[2:])


def closed_values(text: str) -> list[int]:
    """The value of the list that each word closes, -1 if none; the last word closes all."""
    words = text.split()
    values = []
    for place, word in enumerate(words):
        opening, depth = place, word == "]"
        while depth:
            opening -= 1
            depth += (words[opening] == "]") - words[opening].startswith("[")
        ends = word == "]" or place == len(words) - 1
        values.append(evaluate(" ".join(words[opening : place + 1])) if ends else -1)
    return values


@pytest.mark.usefixtures("small")
def test_tasks_from_generated_expressions(tmp_path: Path) -> None:
    flat, trees = load_listops(tmp_path), load_listops_tree(tmp_path)
    chains = load_listops_chain(tmp_path)
    for name, size in SIZES.items():
        assert len(flat.split(name)) == len(trees.split(name)) == len(chains.split(name)) == size
        np.testing.assert_array_equal(flat.split(name).labels, trees.split(name).labels)
        np.testing.assert_array_equal(flat.split(name).labels, chains.split(name).labels)
    batch = next(flat.validation.batches(7))
    assert batch.mask is not None
    for row, mask, label in zip(batch.inputs, batch.mask, batch.labels, strict=True):
        assert rewrite(as_text(row[mask].numpy())) == str(int(label))
    assert_values(next(trees.validation.batches(7)))
    for row, mask, chain in zip(
        batch.inputs, batch.mask, chains.validation.batches(1), strict=True
    ):
        assert chain.inputs[0].tolist() == row[mask].tolist()
        assert chain.node_labels is not None
        assert chain.node_labels[0].tolist() == closed_values(as_text(row[mask].numpy()))


def test_generated_files_are_the_same_for_any_number_of_workers(tmp_path: Path) -> None:
    sizes = {"train": 600, "test": 3}
    _, one = generated_listops(tmp_path / "one", sizes, workers=1)
    _, three = generated_listops(tmp_path / "three", sizes, workers=3)
    assert one.files == three.files
    assert one.counts == sizes


def test_original_layout(tmp_path: Path) -> None:
    folder = tmp_path / "listops"
    folder.mkdir()
    texts = [f"[SM {i % 10} {i // 10} ]" for i in range(100)]
    (folder / "train_d20s.tsv").write_text("".join(map(original_line, texts)))
    (folder / "test_d20s.tsv").write_text("".join(map(original_line, TEXTS)))
    task = load_listops(tmp_path)
    assert [len(task.split(name)) for name in ("train", "validation", "test")] == [90, 10, 4]
    seen = []
    for split in (task.train, task.validation):
        batch = next(split.batches(90))
        assert batch.mask is not None
        rows = [
            as_text(row[mask].numpy()) for row, mask in zip(batch.inputs, batch.mask, strict=True)
        ]
        assert [evaluate(row) for row in rows] == batch.labels.tolist()
        seen += rows
    assert sorted(seen) == sorted(texts)


def test_long_expressions_are_cut_in_the_sequence_and_whole_in_the_tree(lra_root: Path) -> None:
    text = f"[MAX {'3 ' * 3000}7 ]"
    (lra_root / "listops" / "basic_test.tsv").write_text(f"Source\tTarget\n{text}\t7\n")
    batch = next(load_listops(lra_root).test.batches(1))
    assert batch.mask is not None
    assert batch.mask.sum() == 2000
    assert batch.inputs[0, :2000].tolist() == tokenize(text)[:2000].tolist()
    batch = next(load_listops_tree(lra_root).test.batches(1))
    assert_values(batch)
    assert batch.labels.tolist() == [7]


def test_a_missing_file_is_named(lra_root: Path) -> None:
    (lra_root / "listops" / "basic_val.tsv").unlink()
    with pytest.raises(DataError, match=r"basic_val\.tsv is missing: put it beside the others"):
        load_listops(lra_root)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"file\.tsv has no expressions"),
        (b"Source\tTarget\n\n", r"file\.tsv has no expressions"),
        (b"Source\tTarget\n7\t7\n[SM 1 ] 1\n", r"file\.tsv, line 3: expected 2 columns, got 1"),
        (b"Source\tTarget\n7\t7\t7\n", r"file\.tsv, line 2: expected 2 columns, got 3"),
        (b"Source\tTarget\n7\t12\n", r"file\.tsv, line 2: expected a value 0-9, got '12'"),
        (b"Source\tTarget\n7\t\xc2\xb2\n", r"file\.tsv, line 2: expected a value 0-9, got '²'"),
        (b"5\t[SM 1 4\n", r"file\.tsv, line 1: position 7: expected .* got the end of the text"),
        (b"[SM 1 ]\t1\n", r"file\.tsv, line 1: expected a value 0-9, got '\[SM 1 \]'"),
        (b"5\t\xff\n", r"file\.tsv is no text in UTF-8"),
    ],
)
def test_bad_files_are_refused_with_file_and_line(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "file.tsv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_tsv(path)


def test_an_absent_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent\.tsv cannot be read: No such file"):
        read_tsv(tmp_path / "absent.tsv")


def test_line_ends_of_other_systems(tmp_path: Path) -> None:
    path = tmp_path / "file.tsv"
    path.write_bytes(b"Source\tTarget\r\n[SM 1 2 ]\t3\r\n4\t4")
    corpus = read_tsv(path)
    assert corpus.labels.tolist() == [3, 4]
    padded: Expressions = corpus.padded(places=5, longest=4)
    assert padded.lengths.tolist() == [4, 1]
