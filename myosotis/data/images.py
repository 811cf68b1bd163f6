"""Images as sequences: MNIST, Fashion-MNIST and CIFAR-10, in snake and in Morton order.

The tree is a quad-tree whatever the order: leaf k is the k-th pixel of the sequence.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from myosotis.data.cifar import grayscale, parse_cifar
from myosotis.data.idx import parse_idx
from myosotis.data.image_task import LabelledImages, image_task
from myosotis.data.layout import ImageLayout
from myosotis.data.published import CIFAR10, FASHION, MNIST
from myosotis.data.registry import register
from myosotis.data.source import Source
from myosotis.data.task import Task

__all__ = ["read_cifar10", "read_mnist"]

_VALIDATION = 5_000
_BORDER = 2  # makes 32×32 of 28×28

Order = Callable[[int, int, int], ImageLayout]


def read_mnist(source: Source, root: Path) -> tuple[LabelledImages, LabelledImages]:
    """Read the training and test images of MNIST or a data set that took over its layout.

    Raises:
        DataError: if a file is missing, truncated or altered.

    Example:
        >>> read_mnist(MNIST, Path("nowhere"))
        Traceback (most recent call last):
        myosotis.errors.DataError: nowhere...ubyte is missing: get it with ...
    """
    train_images, train_labels, test_images, test_labels = (
        parse_idx(source.read(file, root), axes, str(source.find(file, root)))
        for file, axes in zip(source.files, (3, 1, 3, 1), strict=True)
    )
    return (
        LabelledImages(train_images[..., None], train_labels.astype(np.int64)),
        LabelledImages(test_images[..., None], test_labels.astype(np.int64)),
    )


def read_cifar10(
    source: Source, root: Path, *, gray: bool = False
) -> tuple[LabelledImages, LabelledImages]:
    """Read the training and test images of CIFAR-10, in colour or as shades of grey.

    Raises:
        DataError: if a file is missing, truncated or altered.

    Example:
        >>> read_cifar10(CIFAR10, Path("nowhere"))
        Traceback (most recent call last):
        myosotis.errors.DataError: nowhere....bin is missing: get it with ...
    """
    batches = []
    for file in source.files:
        colour, labels = parse_cifar(source.read(file, root), str(source.find(file, root)))
        images = grayscale(colour) if gray else np.ascontiguousarray(colour)
        batches.append(LabelledImages(images, labels.astype(np.int64)))
    *parts, test = batches
    train = LabelledImages(
        np.concatenate([part.images for part in parts]),
        np.concatenate([part.labels for part in parts]),
    )
    return train, test


def _load_mnist(name: str, source: Source, order: Order, border: int, root: Path) -> Task:
    train, test = read_mnist(source, root)
    return _published_task(name, source, train, test, order(28, 28, border))


def _load_cifar10(name: str, order: Order, gray: bool, root: Path) -> Task:
    train, test = read_cifar10(CIFAR10, root, gray=gray)
    return _published_task(name, CIFAR10, train, test, order(32, 32, 0))


def _published_task(
    name: str, source: Source, train: LabelledImages, test: LabelledImages, layout: ImageLayout
) -> Task:
    counts = {"train": len(train.labels), "test": len(test.labels)}
    return image_task(name, train, test, layout, _VALIDATION, source.provenance(counts))


def _register_all() -> None:
    """List every order of every data set."""
    orders = {"s": ("snake", ImageLayout.snake), "z": ("Morton", ImageLayout.morton)}
    for letter, (order_name, order) in orders.items():
        for short, title, source in (
            ("mnist", "MNIST", MNIST),
            ("fashion", "Fashion-MNIST", FASHION),
        ):
            name = letter + short
            register(
                name,
                summary=f"{title}, 32×32 with its border, {order_name} order",
                origin="download",
                source=source,
                unpadded=partial(_load_mnist, name, source, order, 0),
            )(partial(_load_mnist, name, source, order, _BORDER))
        for suffix, title in (("", "CIFAR-10"), ("-gray", "CIFAR-10 in grey (LRA's Image)")):
            name = f"{letter}cifar{suffix}"
            register(
                name,
                summary=f"{title}, 32×32, {order_name} order",
                origin="download",
                source=CIFAR10,
            )(partial(_load_cifar10, name, order, bool(suffix)))


_register_all()
