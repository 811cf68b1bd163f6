"""Orders of pixels, against coordinates written out by hand."""

import numpy as np
import pytest

from myosotis.data.layout import ImageLayout
from myosotis.errors import ShapeError
from myosotis.tree import Tree


def numbered(number: int, height: int, width: int, channels: int) -> np.ndarray:
    """Images in which no two bytes of one image are equal, as far as a byte allows."""
    count = number * height * width * channels
    return (np.arange(count) % 251).astype(np.uint8).reshape(number, height, width, channels)


@pytest.mark.parametrize("make", [ImageLayout.morton, ImageLayout.snake])
@pytest.mark.parametrize("shape", [(8, 8), (28, 28), (3, 5)])
@pytest.mark.parametrize("border", [0, 2])
@pytest.mark.parametrize("number", [1, 700])  # more than one block
def test_images_come_back_bit_for_bit(make, shape, border, number):
    images = numbered(number, *shape, channels=3)
    layout = make(*shape, border)
    sequences = layout.sequences(images)
    assert sequences.shape == (number, (shape[0] + 2 * border) * (shape[1] + 2 * border), 3)
    assert np.array_equal(layout.images(sequences), images)


def test_the_border_is_zero_and_the_image_in_the_middle():
    images = np.full((1, 28, 28, 1), 9, dtype=np.uint8)
    layout = ImageLayout.morton(28, 28, 2)
    padded = np.zeros(1024, dtype=np.uint8)
    padded[layout.order] = layout.sequences(images)[0, :, 0]
    assert np.array_equal(padded.reshape(32, 32), np.pad(images[0, :, :, 0], 2))


def test_morton_siblings_share_a_square_of_four_pixels():
    tree, layout = Tree.quadtree(28), ImageLayout.morton(28, 28)
    assert tree.num_leaves == len(layout.order) == 784
    row, column = np.divmod(layout.order, 28)
    for cell in np.unique(tree.parent[:784]):
        members = tree.parent[:784] == cell
        assert members.sum() == 4
        assert len({*zip(row[members] // 2, column[members] // 2, strict=True)}) == 1


def test_snake_neighbours_touch():
    row, column = np.divmod(ImageLayout.snake(6, 4).order, 4)
    assert (np.abs(np.diff(row)) + np.abs(np.diff(column)) == 1).all()


def test_other_sizes_are_refused():
    layout = ImageLayout.morton(4, 4)
    with pytest.raises(ShapeError, match=r"expected images \(number, 4, 4, channels\)"):
        layout.sequences(numbered(1, 4, 5, 1))
    with pytest.raises(ShapeError, match=r"expected sequences \(number, 16, channels\)"):
        layout.images(np.zeros((1, 15, 1), dtype=np.uint8))
