"""From labelled images to a task.

Values are normalised by mean and standard deviation of the training split's pixels; the border
that a layout adds does not count.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from myosotis.data.arrays import ArraySplit, Scale
from myosotis.data.layout import ImageLayout
from myosotis.data.order import hold_out
from myosotis.data.task import Provenance, Task
from myosotis.errors import DataError
from myosotis.tree import Tree

__all__ = ["LabelledImages", "image_task"]


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """Images with their classes.

    Attributes:
        images: uint8 (number, height, width, channels).
        labels: int64[number].

    Example:
        >>> LabelledImages(np.zeros((2, 4, 4, 1), dtype=np.uint8), np.array([0, 1])).images.shape
        (2, 4, 4, 1)
    """

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]


def image_task(
    name: str,
    train: LabelledImages,
    test: LabelledImages,
    layout: ImageLayout,
    validation: int,
    provenance: Provenance,
) -> Task:
    """Make a task of ten classes out of images.

    Args:
        name: of the task.
        train: what training and validation are cut from.
        test: the test images.
        layout: how an image becomes a sequence.
        validation: number of images to cut from `train`.
        provenance: where they came from.

    Raises:
        DataError: if images and labels are not equally many.

    Example:
        >>> images = LabelledImages(np.zeros((9, 4, 4, 1), dtype=np.uint8), np.arange(9))
        >>> nobody = Provenance("nobody", "any")
        >>> task = image_task("dark", images, images, ImageLayout.snake(4, 4), 2, nobody)
        >>> len(task.train), len(task.validation), task.tree.num_leaves
        (7, 2, 16)
    """
    for part in (train, test):
        if len(part.images) != len(part.labels):
            raise DataError(f"{name}: {len(part.images)} images but {len(part.labels)} labels")
    train_rows, validation_rows = hold_out(len(train.labels), validation)
    scale = Scale.of(train.images, train_rows)
    sequences = layout.sequences(train.images)
    return Task(
        name=name,
        train=ArraySplit(sequences, train.labels, train_rows, scale),
        validation=ArraySplit(sequences, train.labels, validation_rows, scale),
        test=ArraySplit(
            layout.sequences(test.images), test.labels, np.arange(len(test.labels)), scale
        ),
        tree=Tree.quadtree(*layout.padded_shape),
        num_classes=10,
        kind="values",
        channels=train.images.shape[-1],
        layout=layout,
        provenance=provenance,
    )
