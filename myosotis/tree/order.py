"""Orders in which the pixels of an image can be read as a sequence.

An order is an int64[height·width] array that maps a place in the sequence to a row-major pixel
index (`row * width + column`), so `image.reshape(-1)[order]` is the sequence.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from myosotis.tree.sizes import checked_size

__all__ = ["hilbert_order", "morton_codes", "morton_order", "snake_order"]


def morton_order(height: int, width: int | None = None) -> NDArray[np.int64]:
    """Read the pixels quadrant by quadrant, recursively (Z-order, the column in the low bit).

    This is the left-to-right order of the leaves of `Tree.quadtree(height, width)`. If a side is
    no power of two, it is the curve of the covering power-of-two square, without the pixels that
    do not exist.

    Args:
        height: number of rows.
        width: number of columns, `height` if not given.

    Returns:
        int64[height·width], place in the sequence -> row-major pixel index.

    Example:
        >>> morton_order(2, 4)
        array([0, 1, 4, 5, 2, 3, 6, 7])
    """
    return np.argsort(morton_codes(_image_shape(height, width)))


def snake_order(height: int, width: int | None = None) -> NDArray[np.int64]:
    """Read the rows one after another, odd rows (counting from 0) from right to left.

    Args:
        height: number of rows.
        width: number of columns, `height` if not given.

    Returns:
        int64[height·width], place in the sequence -> row-major pixel index.

    Example:
        >>> snake_order(3, 2)
        array([0, 1, 3, 2, 4, 5])
    """
    height, width = _image_shape(height, width)
    pixels = np.arange(height * width, dtype=np.int64).reshape(height, width)
    pixels[1::2] = pixels[1::2, ::-1].copy()
    return pixels.reshape(-1)


def hilbert_order(height: int, width: int | None = None) -> NDArray[np.int64]:
    """Read the pixels along the Hilbert curve, from the top left to the top right corner.

    If a side is no power of two, or the image no square, it is the curve of the covering
    power-of-two square without the pixels that do not exist. Consecutive pixels are neighbours
    only where that leaves out nothing in between, so always on power-of-two squares.

    Args:
        height: number of rows.
        width: number of columns, `height` if not given.

    Returns:
        int64[height·width], place in the sequence -> row-major pixel index.

    Example:
        >>> hilbert_order(2)
        array([0, 2, 3, 1])
    """
    height, width = _image_shape(height, width)
    y, x = (axis.reshape(-1) for axis in np.indices((height, width)))
    place = np.zeros(height * width, dtype=np.int64)
    num_bits = (max(height, width) - 1).bit_length()
    for bit in reversed(range(num_bits)):
        right, low = (x >> bit) & 1, (y >> bit) & 1
        place = place << 2 | (3 * right) ^ low
        # Both upper quadrants hold a transposed copy of the curve; the right one is also mirrored.
        mirror = (1 << num_bits) - 1
        mirrored = (right == 1) & (low == 0)
        x, y = np.where(mirrored, mirror - x, x), np.where(mirrored, mirror - y, y)
        x, y = np.where(low == 0, y, x), np.where(low == 0, x, y)
    return np.argsort(place)


def morton_codes(shape: Sequence[int]) -> NDArray[np.int64]:
    """Interleave the coordinates' bits of every cell of a grid, the last axis in the low bit.

    Args:
        shape: sizes of the grid's axes.

    Returns:
        int64[product of shape], row-major cell -> its place on the covering power-of-two grid.

    Example:
        >>> morton_codes((2, 3))
        array([0, 1, 4, 2, 3, 6])
    """
    num_axes = len(shape)
    codes = np.zeros((1,) * num_axes, dtype=np.int64)
    for axis, size in enumerate(shape):
        coordinate = np.arange(size, dtype=np.int64)
        spread = np.zeros(size, dtype=np.int64)
        for bit in range((size - 1).bit_length()):
            spread |= (coordinate >> bit & 1) << (num_axes * bit + num_axes - 1 - axis)
        codes = codes | spread.reshape([-1 if other == axis else 1 for other in range(num_axes)])
    return codes.reshape(-1)


def _image_shape(height: int, width: int | None) -> tuple[int, int]:
    """Return the checked (height, width); an image without a width is square."""
    height = checked_size("height", height)
    return height, height if width is None else checked_size("width", width)
