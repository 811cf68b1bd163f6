import numpy as np
import pytest

from myosotis.data import ImageLayout, Provenance
from myosotis.data.image_task import LabelledImages, image_task
from myosotis.errors import DataError


@pytest.fixture
def images() -> LabelledImages:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (50, 6, 6, 2), dtype=np.uint8)
    return LabelledImages(pixels, rng.integers(0, 10, 50))


def test_validation_is_cut_from_training(images):
    task = image_task("toy", images, images, ImageLayout.morton(6, 6, 1), 10, Provenance("", ""))
    assert [len(task.train), len(task.validation), len(task.test)] == [40, 10, 50]
    assert not set(task.train.rows) & set(task.validation.rows)
    assert task.channels == 2
    for split in ("train", "validation", "test"):
        rows = task.split(split).rows
        assert np.array_equal(task.images(split, range(len(rows))), images.images[rows])
        assert np.array_equal(task.split(split).labels, images.labels[rows])


def test_the_scale_is_that_of_the_training_pixels_without_the_border(images):
    task = image_task("toy", images, images, ImageLayout.snake(6, 6, 1), 10, Provenance("", ""))
    kept = images.images[task.train.rows]
    np.testing.assert_allclose(task.test.scale.mean, kept.mean(axis=(0, 1, 2)))
    np.testing.assert_allclose(task.test.scale.std, kept.std(axis=(0, 1, 2)))


def test_every_image_has_a_label(images):
    fewer = LabelledImages(images.images, images.labels[1:])
    with pytest.raises(DataError, match="toy: 50 images but 49 labels"):
        image_task("toy", images, fewer, ImageLayout.snake(6, 6), 10, Provenance("", ""))
