"""The binary layout of CIFAR-10: records of a label and the three planes of a 32×32 image."""

import numpy as np
from numpy.typing import NDArray

from myosotis.errors import DataError

__all__ = ["grayscale", "parse_cifar"]

_SIDE = 32
_RECORD = 1 + 3 * _SIDE * _SIDE
_NUM_CLASSES = 10


def parse_cifar(content: bytes, where: str) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the images and labels of a batch file, as views of its content.

    Args:
        content: the whole file.
        where: names the file in messages.

    Returns:
        images: uint8 (number, 32, 32, 3), read-only.
        labels: uint8[number], read-only.

    Raises:
        DataError: if the content is no whole number of records, or a label is not 0–9.

    Example:
        >>> images, labels = parse_cifar(bytes([3] + [255] * 3072), where="one image")
        >>> images.shape, labels
        ((1, 32, 32, 3), array([3], dtype=uint8))
    """
    if not content or len(content) % _RECORD:
        raise DataError(
            f"{where} holds {len(content):,} bytes, expected a whole number of records "
            f"of {_RECORD:,} bytes"
        )
    records = np.frombuffer(content, np.uint8).reshape(-1, _RECORD)
    labels = records[:, 0]
    if labels.max() >= _NUM_CLASSES:
        record = int(np.argmax(labels >= _NUM_CLASSES))
        raise DataError(f"{where}: record {record} has the label {labels[record]}, expected 0–9")
    planes = records[:, 1:].reshape(-1, 3, _SIDE, _SIDE)
    return np.moveaxis(planes, 1, -1), labels


def grayscale(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the luma of colour images: (…, 3) to (…, 1), with the weights of ITU-R BT.601.

    Example:
        >>> grayscale(np.array([[255, 0, 0], [0, 255, 0], [9, 9, 9]], dtype=np.uint8)).ravel()
        array([ 76, 150,   9], dtype=uint8)
    """
    red, green, blue = (images[..., channel].astype(np.uint32) for channel in range(3))
    luma = (299 * red + 587 * green + 114 * blue + 500) // 1000
    return luma.astype(np.uint8)[..., None]
