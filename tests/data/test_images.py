"""The published images, against a reading of the files that shares no code with ours."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from myosotis.data import load
from myosotis.tree import Tree, morton_order, snake_order

SPLITS = ("train", "validation", "test")
FIRST_LABELS = {
    "mnist": ([5, 0, 4, 1, 9, 2, 1, 3, 1, 4], [7, 2, 1, 0, 4, 1, 4, 9, 5, 9]),
    "fashion-mnist": ([9, 0, 0, 3, 0, 2, 7, 2, 5, 5], [9, 2, 1, 1, 6, 1, 4, 6, 5, 7]),
    "cifar10": ([6, 9, 9, 4, 1, 1, 2, 7, 8, 3], [3, 8, 8, 0, 6, 6, 1, 6, 3, 1]),
}
# Mean and deviation of the training set, in units of the brightest value, as widely quoted.
STATISTICS = {
    "mnist": ([0.1307], [0.3081]),
    "fashion-mnist": ([0.2860], [0.3530]),
    "cifar10": ([0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616]),
}
LUMA = np.array([0.299, 0.587, 0.114])
TASKS = [
    pytest.param((name, dataset), marks=pytest.mark.dataset(dataset))
    for name, dataset in (
        ("smnist", "mnist"),
        ("zmnist", "mnist"),
        ("sfashion", "fashion-mnist"),
        ("zfashion", "fashion-mnist"),
        ("scifar", "cifar10"),
        ("zcifar", "cifar10"),
        ("scifar-gray", "cifar10"),
        ("zcifar-gray", "cifar10"),
    )
]


def read_idx_pair(folder: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    images = gzip.decompress((folder / f"{part}-images-idx3-ubyte.gz").read_bytes())
    labels = gzip.decompress((folder / f"{part}-labels-idx1-ubyte.gz").read_bytes())
    return np.frombuffer(images[16:], np.uint8).reshape(-1, 28, 28, 1), np.frombuffer(
        labels[8:], np.uint8
    )


def read_cifar(folder: Path, *names: str) -> tuple[np.ndarray, np.ndarray]:
    records = np.concatenate([np.fromfile(folder / name, np.uint8) for name in names])
    records = records.reshape(-1, 3073)
    return records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), records[:, 0]


@pytest.fixture(scope="module")
def originals(data_root: Path):
    """Reads a data set once: ((train images, labels), (test images, labels))."""
    known = {}

    def read(dataset: str):
        if dataset not in known:
            if dataset == "cifar10":
                folder = data_root / "cifar-10-batches-bin"
                batches = [f"data_batch_{number}.bin" for number in range(1, 6)]
                known[dataset] = read_cifar(folder, *batches), read_cifar(folder, "test_batch.bin")
            else:
                folder = data_root / dataset
                if not folder.exists():
                    folder = Path("/usr/share/datasets") / dataset
                known[dataset] = read_idx_pair(folder, "train"), read_idx_pair(folder, "t10k")
        return known[dataset]

    return read


@pytest.fixture(scope="module", params=TASKS, ids=lambda pair: pair[0])
def published(request, data_root: Path, originals):
    """A task, the name of its data set, and what that holds."""
    name, dataset = request.param
    return load(name, data_root), dataset, *originals(dataset)


def test_labels(published):
    task, dataset, (_, train_labels), (_, test_labels) = published
    assert [len(task.split(s)) for s in SPLITS] == [len(train_labels) - 5_000, 5_000, 10_000]
    assert task.provenance.counts == {"train": len(train_labels), "test": 10_000}
    rows = np.concatenate([task.train.rows, task.validation.rows])
    assert sorted(rows) == list(range(len(train_labels)))
    labels = np.empty(len(rows), dtype=np.int64)
    labels[rows] = np.concatenate([task.train.labels, task.validation.labels])
    assert np.array_equal(labels, train_labels)
    assert np.array_equal(task.test.labels, test_labels)
    assert (labels[:10].tolist(), task.test.labels[:10].tolist()) == FIRST_LABELS[dataset]


def test_images_come_back_bit_for_bit(published):
    task, _, (train_images, _), (test_images, _) = published
    sources = {"train": train_images, "validation": train_images, "test": test_images}
    for split, images in sources.items():
        rows = task.split(split).rows
        for start in range(0, len(rows), 500):
            block = np.arange(start, min(start + 500, len(rows)))
            found, expected = task.images(split, block), images[rows[block]]
            if task.name.endswith("-gray"):
                luma = expected @ LUMA.astype(np.float32)
                assert np.abs(found[..., 0] - luma).max() < 0.501
            else:
                assert np.array_equal(found, expected)


def test_statistics_are_the_known_ones_and_of_training_alone(published):
    task, dataset, (train_images, _), _ = published
    mean, std = STATISTICS[dataset]
    scale = task.train.scale
    assert scale is task.validation.scale is task.test.scale
    if task.name.endswith("-gray"):
        np.testing.assert_allclose(scale.mean / 255, np.dot(LUMA, mean), atol=1e-3)
        return
    np.testing.assert_allclose(train_images.mean(axis=(0, 1, 2)) / 255, mean, atol=6e-5)
    np.testing.assert_allclose(scale.mean / 255, mean, atol=1e-3)
    np.testing.assert_allclose(scale.std / 255, std, atol=1e-3)
    kept = train_images[task.train.rows]
    np.testing.assert_allclose(scale.mean, kept.mean(axis=(0, 1, 2)), rtol=1e-12)


def check_sequences(task, images, side):
    """Three sequences against the pixels of three images, side by side with their border."""
    order = {"s": snake_order, "z": morton_order}[task.name[0]](side, side)
    assert task.tree == Tree.quadtree(side)
    scale, border = task.test.scale, (side - images.shape[1]) // 2
    for sequence, image in zip(next(task.test.batches(3)).inputs, images[:3], strict=True):
        padded = np.pad(image, ((border, border), (border, border), (0, 0)))
        pixels = padded.reshape(side * side, -1)[order]
        np.testing.assert_allclose(
            sequence.numpy(), (pixels - scale.mean) / scale.std, rtol=1e-5, atol=1e-6
        )


def test_sequences_are_the_pixels_in_order(published):
    task, _, _, (test_images, _) = published
    if not task.name.endswith("-gray"):
        check_sequences(task, test_images, side=32)


@pytest.mark.parametrize("name", ["smnist", "zmnist"])
@pytest.mark.dataset("mnist")
def test_without_padding(name, originals, data_root):
    _, (test_images, _) = originals("mnist")
    check_sequences(load(name, data_root, pad=False), test_images, side=28)
