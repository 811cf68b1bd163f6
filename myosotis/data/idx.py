"""The idx format of MNIST: a magic number, the sizes of the axes, then bytes."""

import math

import numpy as np
from numpy.typing import NDArray

from myosotis.errors import DataError

__all__ = ["parse_idx"]

_UNSIGNED_BYTE = 8
_SIZE_BYTES = 4


def parse_idx(content: bytes, axes: int, where: str) -> NDArray[np.uint8]:
    """Return the array that the content of an idx file describes, as a view of it.

    Nothing is allocated: what the header promises must be there, to the byte.

    Args:
        content: the whole file, unpacked.
        axes: how many axes the array must have.
        where: names the file in messages.

    Returns:
        uint8, read-only, of the shape that the file gives.

    Raises:
        DataError: if the content is anything else.

    Example:
        >>> parse_idx(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 9]), axes=1, where="two labels")
        array([7, 9], dtype=uint8)
    """
    magic = bytes([0, 0, _UNSIGNED_BYTE, axes])
    if content[:4] != magic:
        raise DataError(
            f"{where} is no idx file of bytes with {axes} axes: "
            f"it begins with {content[:4].hex() or 'nothing'}, expected {magic.hex()}"
        )
    start = 4 + _SIZE_BYTES * axes
    if len(content) < start:
        raise DataError(
            f"{where} is truncated: its header has {len(content)} bytes, expected {start}"
        )
    shape = tuple(int(size) for size in np.frombuffer(content, ">u4", axes, offset=4))
    expected = math.prod(shape)
    if len(content) - start != expected:
        raise DataError(
            f"{where} holds {len(content) - start:,} bytes after its header, "
            f"which promises {' × '.join(map(str, shape))} = {expected:,}"
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)
