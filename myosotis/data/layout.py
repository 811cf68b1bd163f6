"""How an image becomes a sequence of pixels, and back."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from myosotis.errors import ShapeError
from myosotis.tree import morton_order, snake_order

__all__ = ["ImageLayout"]

_BLOCK = 512  # images at a time: few enough to stay in the cache


@dataclass(frozen=True, eq=False)
class ImageLayout:
    """An order of the pixels of an image, with a border of zeros around it.

    Attributes:
        height: rows of the image without the border.
        width: columns of the image without the border.
        border: rows and columns of zeros on each side.
        order: int64[leaves], place in the sequence -> row-major pixel of the bordered image.

    Example:
        >>> layout = ImageLayout.morton(2, 2)
        >>> image = np.arange(4, dtype=np.uint8).reshape(1, 2, 2, 1)
        >>> sequence = layout.sequences(image)
        >>> sequence.shape
        (1, 4, 1)
        >>> bool((layout.images(sequence) == image).all())
        True
    """

    height: int
    width: int
    border: int
    order: NDArray[np.int64]

    @classmethod
    def morton(cls, height: int, width: int, border: int = 0) -> "ImageLayout":
        """Read quadrant by quadrant, as the leaves of a quad-tree stand.

        Example:
            >>> ImageLayout.morton(2, 4).order
            array([0, 1, 4, 5, 2, 3, 6, 7])
        """
        order = morton_order(height + 2 * border, width + 2 * border)
        return cls(height, width, border, order)

    @classmethod
    def snake(cls, height: int, width: int, border: int = 0) -> "ImageLayout":
        """Read row by row, every other row backwards.

        Example:
            >>> ImageLayout.snake(2, 3).order
            array([0, 1, 2, 5, 4, 3])
        """
        order = snake_order(height + 2 * border, width + 2 * border)
        return cls(height, width, border, order)

    @property
    def padded_shape(self) -> tuple[int, int]:
        """Height and width with the border."""
        return self.height + 2 * self.border, self.width + 2 * self.border

    def sequences(self, images: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Put images (number, height, width, channels) in order: (number, leaves, channels).

        Raises:
            ShapeError: if the images have another size.
        """
        if images.ndim != 4 or images.shape[1:3] != (self.height, self.width):
            raise ShapeError(
                f"expected images (number, {self.height}, {self.width}, channels), "
                f"got shape {images.shape}"
            )
        number, channels = len(images), images.shape[-1]
        padded = np.zeros((min(number, _BLOCK), *self.padded_shape, channels), dtype=np.uint8)
        sequences = np.empty((number, len(self.order), channels), dtype=np.uint8)
        for start in range(0, number, _BLOCK):
            block = images[start : start + _BLOCK]
            padded[(slice(len(block)), *self._interior)] = block
            pixels = padded[: len(block)].reshape(len(block), -1, channels)
            sequences[start : start + _BLOCK] = np.take(pixels, self.order, axis=1)
        return sequences

    def images(self, sequences: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Undo `sequences`: (number, leaves, channels) to (number, height, width, channels).

        Raises:
            ShapeError: if the sequences have another length.
        """
        if sequences.ndim != 3 or sequences.shape[1] != len(self.order):
            raise ShapeError(
                f"expected sequences (number, {len(self.order)}, channels), "
                f"got shape {sequences.shape}"
            )
        pixels = np.take(sequences, np.argsort(self.order), axis=1)
        padded = pixels.reshape(len(sequences), *self.padded_shape, sequences.shape[-1])
        return padded[(slice(None), *self._interior)]

    @property
    def _interior(self) -> tuple[slice, slice]:
        """Rows and columns of the bordered image that are the image."""
        return (
            slice(self.border, self.border + self.height),
            slice(self.border, self.border + self.width),
        )
