"""From a drawing to an image like those of MNIST."""

import numpy as np
import torch
from numpy.typing import NDArray

from myosotis.errors import DataError, ShapeError

__all__ = ["SIDE", "ink_of", "mnist_image"]

SIDE = 28  # of an image of MNIST
_BOX = 20  # that its digit fits into
_MIDDLE = 14  # the pixel, counted from 0, at which its centre of mass is
_FAINT = 0.1  # less ink is the edge of a stroke


def ink_of(picture: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return how much of a dark pen, 0 to 1, is at each pixel of a picture.

    Args:
        picture: uint8 (height, width, 4), red, green, blue and opacity. What is transparent is
            paper, and so is what is white.

    Raises:
        ShapeError: the picture has another shape.

    Example:
        >>> ink_of(np.array([[[0, 0, 0, 255], [0, 0, 0, 0], [255, 255, 255, 255]]], dtype=np.uint8))
        array([[1., 0., 0.]])
    """
    if picture.ndim != 3 or picture.shape[-1] != 4:
        raise ShapeError(f"expected a picture (height, width, 4), got shape {picture.shape}")
    parts = picture / 255
    ink: NDArray[np.float64] = (1 - parts[..., :3].mean(axis=-1)) * parts[..., 3]
    return ink


def mnist_image(ink: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Put a drawing where MNIST puts its digits, in their size.

    What is drawn is cut out, scaled so that its longer side has 20 pixels, and placed with its
    centre of mass in the middle of the image.

    Args:
        ink: float64 (height, width), 0 for paper to 1 for the pen.

    Returns:
        uint8 (28, 28), bright on dark.

    Raises:
        ShapeError: the drawing has not two axes.
        DataError: nothing is drawn.

    Example:
        >>> ink = np.zeros((100, 60))
        >>> ink[10:90, 5:15] = 1
        >>> rows, columns = np.nonzero(mnist_image(ink))
        >>> int(rows.min()), int(rows.max()), int(columns.min()), int(columns.max())
        (4, 23, 14, 15)
    """
    if ink.ndim != 2:
        raise ShapeError(f"expected a drawing (height, width), got shape {ink.shape}")
    if not (ink > _FAINT).any():
        raise DataError("nothing is drawn yet: draw a digit")
    digit = _scaled(_cut_out(ink))
    image = np.zeros((SIDE, SIDE), dtype=np.uint8)
    top, left = (_offset(digit, axis) for axis in (0, 1))
    height, width = digit.shape
    image[top : top + height, left : left + width] = np.rint(255 * digit.clip(0, 1))
    return image


def _cut_out(ink: NDArray[np.float64]) -> NDArray[np.float64]:
    rows, columns = np.nonzero(ink > _FAINT)
    return ink[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]


def _scaled(ink: NDArray[np.float64]) -> NDArray[np.float64]:
    """The drawing with a longer side of 20 pixels; the other has at least one."""
    size = [max(1, round(side * _BOX / max(ink.shape))) for side in ink.shape]
    pixels = torch.from_numpy(np.ascontiguousarray(ink))[None, None]
    scaled = torch.nn.functional.interpolate(pixels, size, mode="bilinear", antialias=True)
    found: NDArray[np.float64] = scaled[0, 0].numpy()
    return found


def _offset(digit: NDArray[np.float64], axis: int) -> int:
    """Where the digit begins along an axis, if its centre of mass is to be in the middle."""
    centre = float(digit.sum(axis=1 - axis) @ np.arange(digit.shape[axis]) / digit.sum())
    last: int = SIDE - digit.shape[axis]
    return min(max(round(_MIDDLE - centre), 0), last)
