"""Examples of one size: rows of an array, in memory or mapped from a file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from myosotis.data.batch import Batch
from myosotis.data.order import example_order
from myosotis.errors import DataError

__all__ = ["ArraySplit", "Scale"]

_BLOCK = 512  # rows at a time: few enough to stay in the cache


@dataclass(frozen=True, eq=False)
class Scale:
    """Mean and standard deviation of each channel, for normalising.

    Attributes:
        mean: float64[channels], in units of the stored bytes.
        std: float64[channels], never zero.

    Example:
        >>> Scale.of(np.array([[[0], [2]], [[4], [6]]], dtype=np.uint8))
        Scale(mean=array([3.]), std=array([2.23606798]))
    """

    mean: NDArray[np.float64]
    std: NDArray[np.float64]

    @classmethod
    def of(cls, values: NDArray[np.uint8], rows: NDArray[np.int64] | None = None) -> "Scale":
        """Measure bytes, uint8 (number, …, channels), or some rows of them, a block at a time.

        Raises:
            DataError: if there are none.
        """
        rows = np.arange(len(values)) if rows is None else rows
        if not len(rows):
            raise DataError("there are no examples to take a mean of")
        counts = np.zeros((values.shape[-1], 256))
        for start in range(0, len(rows), _BLOCK):
            block = values[rows[start : start + _BLOCK]]
            for channel, count in enumerate(counts):
                count += np.bincount(block[..., channel].reshape(-1), minlength=256)
        share, level = counts / counts.sum(axis=1, keepdims=True), np.arange(256)
        mean = share @ level
        std = np.sqrt((share * np.square(level - mean[:, None])).sum(axis=1))
        return cls(mean, np.where(std > 0, std, 1.0))


@dataclass(frozen=True, eq=False)
class ArraySplit:
    """Some rows of an array: bytes that become normalised values, or tokens with their lengths.

    Several splits may share one array. Nothing is done per example: a batch is one gather and a
    few operations on whole arrays.

    Args:
        array: uint8 (number, leaves, channels) values in the order of the leaves if there is a
            `scale`, otherwise unsigned tokens (number, leaves). May be memory-mapped.
        targets: int64[number], the class of each row.
        rows: int64[size of the split], which rows it has.
        scale: normalises the values.
        lengths: int64[number], how many tokens of each row are real; None if all are.

    Raises:
        DataError: if the arrays do not fit together.

    Example:
        >>> tokens = np.array([[5, 6, 0], [7, 0, 0]], dtype=np.uint8)
        >>> split = ArraySplit(tokens, np.array([0, 1]), np.arange(2), lengths=np.array([2, 1]))
        >>> batch = next(split.batches(2))
        >>> batch.inputs.tolist(), batch.mask.tolist()
        ([[5, 6, 0], [7, 0, 0]], [[True, True, False], [True, False, False]])
    """

    array: NDArray[np.unsignedinteger]
    targets: NDArray[np.int64]
    rows: NDArray[np.int64]
    scale: Scale | None = None
    lengths: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        axes = 2 if self.scale is None else 3
        if self.array.ndim != axes:
            raise DataError(f"expected an array of {axes} axes, got shape {self.array.shape}")
        for name, values in (("targets", self.targets), ("lengths", self.lengths)):
            if values is not None and values.shape != self.array.shape[:1]:
                raise DataError(f"{name}: {values.shape} does not fit {self.array.shape}")

    @property
    def labels(self) -> NDArray[np.int64]:
        """int64[number of examples], the class of each."""
        return self.targets[self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    def batches(
        self, batch_size: int, *, seed: int | None = None, drop_last: bool = False
    ) -> Iterator[Batch]:
        """Go once through the examples: in order without a seed, else shuffled by it."""
        order = example_order(len(self), batch_size, seed=seed, drop_last=drop_last)
        return (self._batch(self.rows[examples]) for examples in order)

    def stored(self, examples: Sequence[int] | NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return examples as they are stored: bytes, in the order of the leaves."""
        return np.asarray(self.array[self.rows[np.asarray(examples)]], dtype=np.uint8)

    def _batch(self, rows: NDArray[np.int64]) -> Batch:
        labels = torch.from_numpy(self.targets[rows])
        if self.scale is not None:
            return Batch(self._normalised(rows), labels)
        tokens = torch.from_numpy(np.take(self.array, rows, axis=0).astype(np.int64))
        if self.lengths is None:
            return Batch(tokens, labels)
        places = np.arange(self.array.shape[1])
        return Batch(tokens, labels, torch.from_numpy(places < self.lengths[rows, None]))

    def _normalised(self, rows: NDArray[np.int64]) -> torch.Tensor:
        """Return float32 (number of rows, leaves, channels)."""
        # In NumPy: on so little work, torch's threads would cost more than they bring.
        stored = np.take(self.array, rows, axis=0)
        mean, std = self._per_byte
        values = np.subtract(stored.reshape(len(rows), -1), mean)
        values /= std
        return torch.from_numpy(values.reshape(stored.shape))

    @cached_property
    def _per_byte(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Mean and deviation of each byte of a row: float32[leaves·channels] twice."""
        assert self.scale is not None
        leaves = self.array.shape[1]
        mean, std = (np.tile(x, leaves) for x in (self.scale.mean, self.scale.std))
        return mean.astype(np.float32), std.astype(np.float32)
