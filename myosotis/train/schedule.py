"""The learning rate over a training."""

import math

__all__ = ["rate_factor"]


def rate_factor(progress: float, warmup: float) -> float:
    """Return what the highest learning rate is multiplied by: up in a line, down in a cosine.

    Args:
        progress: share of the training that is done, 0 to 1.
        warmup: share of the training in which it rises.

    Example:
        >>> [round(rate_factor(p, warmup=0.2), 3) for p in (0.0, 0.1, 0.2, 0.6, 1.0)]
        [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    if progress < warmup:
        return progress / warmup
    share = min(1.0, (progress - warmup) / (1 - warmup))
    return (1 + math.cos(math.pi * share)) / 2
