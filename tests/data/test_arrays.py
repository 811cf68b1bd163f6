"""Batches of arrays, against what is computed one example at a time."""

import numpy as np
import pytest
import torch

from myosotis.data.arrays import ArraySplit, Scale
from myosotis.errors import DataError


@pytest.fixture
def values() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (1300, 6, 3), dtype=np.uint8)


def test_scale_is_mean_and_deviation_of_each_channel(values):
    rows = np.arange(7, 1300, 2)
    scale = Scale.of(values, rows)
    np.testing.assert_allclose(scale.mean, values[rows].mean(axis=(0, 1)), rtol=1e-13)
    np.testing.assert_allclose(scale.std, values[rows].std(axis=(0, 1)), rtol=1e-13)


def test_nothing_has_no_mean():
    with pytest.raises(DataError, match="no examples"):
        Scale.of(np.zeros((0, 4, 1), dtype=np.uint8))


def test_a_constant_channel_becomes_zero():
    values = np.full((3, 2, 1), 7, dtype=np.uint8)
    split = ArraySplit(values, np.zeros(3, np.int64), np.arange(3), Scale.of(values))
    assert not next(split.batches(3)).inputs.any()


@pytest.mark.parametrize("mapped", [False, True])
def test_values_are_normalised_row_by_row(values, mapped, tmp_path):
    if mapped:
        np.save(tmp_path / "values.npy", values)
        values = np.load(tmp_path / "values.npy", mmap_mode="r")
    scale = Scale.of(values)
    rows = np.random.default_rng(1).permutation(1300)[:100]
    targets = np.arange(1300)
    split = ArraySplit(values, targets, rows, scale)
    assert split.labels.tolist() == rows.tolist()
    seen = []
    for batch in split.batches(32, seed=5):
        assert batch.inputs.dtype == torch.float32
        assert batch.mask is batch.tree is None
        for one, label in zip(batch.inputs.numpy(), batch.labels.tolist(), strict=True):
            expected = (values[label] - scale.mean) / scale.std
            np.testing.assert_allclose(one, expected, rtol=1e-5, atol=1e-6)
            seen.append(label)
    assert sorted(seen) == sorted(rows.tolist())


def test_training_values_have_mean_zero_and_deviation_one(values):
    split = ArraySplit(values, np.zeros(1300, np.int64), np.arange(1300), Scale.of(values))
    inputs = next(split.batches(1300)).inputs
    torch.testing.assert_close(inputs.mean(dim=(0, 1)), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(inputs.std(dim=(0, 1)), torch.ones(3), atol=1e-3, rtol=0)


def test_batches_are_the_callers_to_change(values):
    split = ArraySplit(values, np.zeros(1300, np.int64), np.arange(1300), Scale.of(values))
    before = values.copy()
    batch = next(split.batches(4))
    batch.inputs.zero_()
    batch.labels.fill_(9)
    assert np.array_equal(values, before)
    assert not split.labels.any()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_tokens_and_their_mask(dtype):
    tokens = np.array([[1, 2, 3], [4, 0, 0], [5, 6, 0]], dtype=dtype)
    lengths = np.array([3, 1, 2])
    split = ArraySplit(tokens, np.array([0, 1, 0]), np.array([2, 1]), lengths=lengths)
    batch = next(split.batches(2))
    assert batch.inputs.dtype == torch.int64
    assert batch.inputs.tolist() == [[5, 6, 0], [4, 0, 0]]
    assert batch.mask.tolist() == [[True, True, False], [True, False, False]]
    assert batch.labels.tolist() == [0, 1]
    assert next(ArraySplit(tokens, lengths, np.arange(3)).batches(3)).mask is None


def test_stored_gives_the_bytes_back(values):
    split = ArraySplit(values, np.zeros(1300, np.int64), np.array([9, 4]), Scale.of(values))
    assert np.array_equal(split.stored(range(2)), values[[9, 4]])


def test_arrays_must_fit():
    tokens = np.zeros((3, 2), dtype=np.uint8)
    with pytest.raises(DataError, match="targets"):
        ArraySplit(tokens, np.zeros(2, np.int64), np.arange(2))
    with pytest.raises(DataError, match="lengths"):
        ArraySplit(tokens, np.zeros(3, np.int64), np.arange(2), lengths=np.zeros(4, np.int64))
    with pytest.raises(DataError, match="axes"):
        ArraySplit(tokens[..., None], np.zeros(3, np.int64), np.arange(2))
