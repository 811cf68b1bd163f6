"""In which order a split's examples are visited, and how some are held out."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from myosotis.errors import ConfigError

__all__ = ["example_order", "hold_out"]

_SEED = 20_240_229  # changing it changes every validation set


def example_order(
    count: int, batch_size: int, *, seed: int | None = None, drop_last: bool = False
) -> Iterator[NDArray[np.int64]]:
    """Deal out 0..count-1 in batches: in order without a seed, else shuffled by it.

    Args:
        count: number of examples.
        batch_size: examples in a batch; the last may have fewer.
        seed: of the shuffle.
        drop_last: leave out a last batch that is not full.

    Raises:
        ConfigError: for a batch size below 1 or a negative seed.

    Example:
        >>> [batch.tolist() for batch in example_order(5, 2)]
        [[0, 1], [2, 3], [4]]
        >>> [batch.tolist() for batch in example_order(5, 2, seed=1, drop_last=True)]
        [[4, 0], [1, 2]]
    """
    if batch_size < 1:
        raise ConfigError(f"batch_size must be at least 1, got {batch_size}")
    if seed is not None and seed < 0:
        raise ConfigError(f"seed must not be negative, got {seed}")
    order = np.arange(count) if seed is None else np.random.default_rng(seed).permutation(count)
    end = count - count % batch_size if drop_last else count
    return (order[start : start + batch_size] for start in range(0, end, batch_size))


def hold_out(count: int, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split 0..count-1 into what is kept and `size` examples that are held out.

    The choice depends on nothing but the two numbers. Both parts are in ascending order.

    Example:
        >>> kept, held_out = hold_out(10, 3)
        >>> len(kept), len(held_out), len(set(kept) | set(held_out))
        (7, 3, 10)
    """
    shuffled = np.random.default_rng(_SEED).permutation(count)
    return np.sort(shuffled[size:]), np.sort(shuffled[:size])
