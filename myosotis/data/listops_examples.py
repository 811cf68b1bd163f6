"""Many ListOps expressions as arrays, one a row or end to end."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Corpus", "Expressions"]


class Expressions(NamedTuple):
    """Expressions with their values, one a row.

    Attributes:
        tokens: uint8 (number, places), padded with 0; see `myosotis.data.listops`.
        lengths: int64[number], how many tokens of each row are real.
        labels: int64[number], the values, 0 to 9.

    Example:
        >>> rows = np.array([[3, 0], [4, 0]], dtype=np.uint8)
        >>> expressions = Expressions(rows, lengths=np.array([1, 1]), labels=np.array([2, 3]))
        >>> expressions.part(1, 2).corpus().tokens
        array([4], dtype=uint8)
    """

    tokens: NDArray[np.uint8]
    lengths: NDArray[np.int64]
    labels: NDArray[np.int64]

    def part(self, first: int, last: int) -> "Expressions":
        """Return rows first..last-1."""
        rows = slice(first, last)
        return Expressions(self.tokens[rows], self.lengths[rows], self.labels[rows])

    def corpus(self) -> "Corpus":
        """Return the same expressions laid end to end."""
        offsets = np.concatenate([[0], np.cumsum(self.lengths)])
        return Corpus(self.tokens[self.tokens != 0], offsets, self.labels)


class Corpus(NamedTuple):
    """Expressions with their values, laid end to end.

    Attributes:
        tokens: uint8[total], see `myosotis.data.listops`.
        offsets: int64[number + 1], where each expression begins in `tokens`.
        labels: int64[number], the values, 0 to 9.

    Example:
        >>> corpus = Corpus(np.array([3, 4], np.uint8), np.array([0, 1, 2]), np.array([2, 3]))
        >>> corpus.padded(places=3, longest=2).tokens
        array([[3, 0, 0],
               [4, 0, 0]], dtype=uint8)
    """

    tokens: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    labels: NDArray[np.int64]

    def take(self, numbers: NDArray[np.int64]) -> "Corpus":
        """Return the expressions with these numbers."""
        parts = [self._tokens_of(number) for number in numbers.tolist()]
        offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts], dtype=np.int64)])
        return Corpus(np.concatenate(parts), offsets, self.labels[numbers])

    def padded(self, places: int, longest: int) -> Expressions:
        """Return the same one a row of so many places; what is longer than `longest` is cut."""
        lengths = np.minimum(np.diff(self.offsets), longest)
        rows = np.zeros((len(lengths), places), dtype=np.uint8)
        for number, length in enumerate(lengths.tolist()):
            rows[number, :length] = self._tokens_of(number)[:length]
        return Expressions(rows, lengths, self.labels)

    def _tokens_of(self, number: int) -> NDArray[np.uint8]:
        return self.tokens[self.offsets[number] : self.offsets[number + 1]]
