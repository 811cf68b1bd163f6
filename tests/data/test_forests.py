"""Forests, against trees built one by one."""

import numpy as np
import pytest
import torch

from myosotis.data.forests import ForestSplit
from myosotis.errors import DataError
from myosotis.tree import Tree


def random_parents(rng: np.random.Generator, size: int) -> np.ndarray:
    """A random tree whose nodes stand in no particular order."""
    parents = np.array([-1, *(rng.integers(0, node) for node in range(1, size))])
    place = rng.permutation(size)
    shuffled = np.empty(size, dtype=np.int64)
    shuffled[place] = np.where(parents < 0, -1, place[parents])
    return shuffled


@pytest.fixture
def examples() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [random_parents(rng, size) for size in (1, 7, 2, 30, 1, 12, 5)]


def split_of(examples: list[np.ndarray], inputs_on: str) -> ForestSplit:
    sizes = [len(parents) for parents in examples]
    total = sum(sizes)
    return ForestSplit(
        np.concatenate(examples).astype(np.int32),
        np.cumsum([0, *sizes]),
        np.arange(100, 100 + total, dtype=np.uint16),
        np.arange(len(examples)),
        inputs_on,
        node_labels=np.arange(total) % 5,
    )


@pytest.mark.parametrize("inputs_on", ["leaves", "nodes"])
@pytest.mark.parametrize("seed", [None, 3])
def test_a_batch_is_the_forest_of_its_examples(examples, inputs_on, seed):
    split = split_of(examples, inputs_on)
    seen = []
    for batch in split.batches(3, seed=seed):
        chosen = batch.labels.tolist()
        seen += chosen
        trees = [Tree(examples[example]) for example in chosen]
        forest = Tree.forest(trees)
        assert np.array_equal(batch.tree.parent, forest.parent)
        # Laid end to end, the members' nodes in canonical order carry these tokens.
        members = np.concatenate(
            [split.offsets[e] + tree.input_index for e, tree in zip(chosen, trees, strict=True)]
        )
        canonical = members[forest.input_index]
        nodes = canonical if inputs_on == "nodes" else canonical[forest.leaves]
        assert batch.inputs.tolist() == [split.tokens[nodes].tolist()]
        assert batch.inputs.dtype == batch.node_labels.dtype == torch.int64
        assert batch.node_labels.tolist() == [split.node_labels[canonical].tolist()]
        assert batch.tree.num_roots == len(chosen)
        assert batch.mask is None
    assert sorted(seen) == list(range(len(examples)))


def test_leaves_are_in_the_order_of_the_examples():
    split = ForestSplit(
        np.array([-1, 0, 1, 1, 0, -1]),
        np.array([0, 5, 6]),
        np.array([0, 0, 11, 12, 13, 14]),
        np.array([0, 1]),
    )
    assert next(split.batches(2)).inputs.tolist() == [[11, 12, 13, 14]]
    assert next(split.batches(2)).node_labels is None


def test_arrays_must_fit(examples):
    whole = split_of(examples, "leaves")
    with pytest.raises(DataError, match="offsets"):
        ForestSplit(whole.parents, whole.offsets[:-1], whole.tokens, whole.labels)
    with pytest.raises(DataError, match="tokens"):
        ForestSplit(whole.parents, whole.offsets, whole.tokens[1:], whole.labels)
