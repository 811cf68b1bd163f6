"""Random numbers for compiled generators: a stream of its own for every example.

Example number i of a seed always draws the same numbers, whoever generates it and in what order.
That is what makes a generated dataset the same for any number of workers, and resumable.
The generator is SplitMix64, whose whole state is one counter.
"""

import numpy as np
from numpy.typing import NDArray

from myosotis.compiled import kernel

__all__ = ["integer", "open_stream", "uniform"]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11))
_UNIT = 2.0**-53


@kernel
def _mix(state: np.uint64) -> np.uint64:
    """Return a number that looks unrelated to `state`; one to one."""
    state = (state ^ (state >> _SHIFTS[0])) * _FIRST
    state = (state ^ (state >> _SHIFTS[1])) * _SECOND
    return state ^ (state >> _SHIFTS[2])


@kernel
def open_stream(seed: int, index: int) -> NDArray[np.uint64]:
    """Return the state, uint64[1], of the stream of example `index`.

    Example:
        >>> [float(uniform(open_stream(0, index))) < 1 for index in range(3)]
        [True, True, True]
    """
    state = np.empty(1, dtype=np.uint64)
    state[0] = _mix(_mix(np.uint64(seed) + _STEP) + np.uint64(index))
    return state


@kernel
def uniform(stream: NDArray[np.uint64]) -> float:
    """Draw from [0, 1) and move the stream on.

    Example:
        >>> stream = open_stream(0, 0)
        >>> uniform(stream) != uniform(stream)
        True
    """
    stream[0] += _STEP
    return float(_mix(stream[0]) >> _SHIFTS[3]) * _UNIT


@kernel
def integer(stream: NDArray[np.uint64], count: int) -> int:
    """Draw one of 0..count-1 and move the stream on.

    Example:
        >>> stream = open_stream(0, 0)
        >>> sorted({int(integer(stream, 3)) for _ in range(50)})
        [0, 1, 2]
    """
    return int(uniform(stream) * count)
