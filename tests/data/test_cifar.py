import numpy as np
import pytest

from myosotis.data.cifar import grayscale, parse_cifar
from myosotis.errors import DataError


def test_planes_become_channels():
    planes = np.random.default_rng(0).integers(0, 256, (2, 3, 32, 32), dtype=np.uint8)
    content = b"\x07" + planes[0].tobytes() + b"\x00" + planes[1].tobytes()
    images, labels = parse_cifar(content, "batch")
    assert labels.tolist() == [7, 0]
    for channel in range(3):
        assert np.array_equal(images[..., channel], planes[:, channel])


@pytest.mark.parametrize("size", [0, 1, 3072, 3074, 2 * 3073 - 1])
def test_records_are_whole(size):
    with pytest.raises(DataError, match=rf"^batch holds {size:,} bytes, .* 3,073 bytes$"):
        parse_cifar(bytes(size), "batch")


def test_labels_are_digits():
    content = bytes(3073) + bytes([10]) + bytes(3072)
    with pytest.raises(DataError, match=r"^batch: record 1 has the label 10, expected 0–9"):
        parse_cifar(content, "batch")


def test_grey_is_the_nearest_luma():
    colours = np.random.default_rng(0).integers(0, 256, (500, 3), dtype=np.uint8)
    exact = colours @ np.array([0.299, 0.587, 0.114])
    assert np.abs(grayscale(colours)[:, 0] - exact).max() <= 0.5 + 1e-9
