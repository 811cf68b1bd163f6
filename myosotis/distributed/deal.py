"""Dealing pieces out to ranks."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["deal"]

Index = NDArray[np.int64]


def deal(sizes: Index, ranks: int) -> Index:
    """Give each rank a run of neighbouring pieces, so that the largest share is as small as it can.

    Args:
        sizes: int64[pieces], at least as many as ranks.
        ranks: each of which gets one piece or more.

    Returns:
        int64[pieces], the rank of each piece, ascending.

    Example:
        >>> deal(np.array([3, 1, 1, 1, 2]), 3)
        array([0, 1, 1, 1, 2])
    """
    ends = np.cumsum(sizes)
    least = max(int(sizes.max()), -(-int(ends[-1]) // ranks))
    most = int(ends[-1])
    while least < most:
        middle = (least + most) // 2
        if len(_first_pieces(ends, middle, ranks)) <= ranks:
            most = middle
        else:
            least = middle + 1
    first = _first_pieces(ends, least, ranks)
    # Fewer runs than ranks if pieces are large: any of the longer runs may be divided further.
    inside = np.setdiff1d(np.arange(len(sizes)), first)
    first = np.sort(np.concatenate([first, inside[: ranks - len(first)]]))
    return np.searchsorted(first, np.arange(len(sizes)), side="right") - 1


def _first_pieces(ends: Index, capacity: int, ranks: int) -> Index:
    """Where runs of at most `capacity` begin; no more than one beyond `ranks` of them."""
    first, taken = [0], 0
    while len(first) <= ranks:
        following = int(np.searchsorted(ends, taken + capacity, side="right"))
        if following == len(ends):
            break
        first.append(following)
        taken = int(ends[following - 1])
    return np.array(first, dtype=np.int64)
