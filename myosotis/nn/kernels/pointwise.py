"""Functions of single numbers that the compiler can put into vector lanes."""

from typing import Any

import numpy as np

from myosotis.compiled import kernel

__all__ = ["keep_each", "kept", "sigmoid"]

_LOG2_E = np.float32(1.4426950408889634)
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)  # their sum is ln 2
# 1.5 · 2²³: adding it leaves the nearest integer in the last bits.
_ROUNDER = np.float32(12582912.0)
_LIMIT = np.float32(87.0)  # e^88 overflows
_ONE, _HALF = np.float32(1.0), np.float32(0.5)
_TERMS = tuple(np.float32(1.0) / np.float32(n) for n in (720.0, 120.0, 24.0, 6.0))


@kernel
def sigmoid(x: np.float32) -> np.float32:
    """1 / (1 + e^−x), to about two units in the last place.

    Example:
        >>> float(sigmoid(np.float32(0)))
        0.5
    """
    x = min(max(-x, -_LIMIT), _LIMIT)
    shifted = x * _LOG2_E + _ROUNDER
    whole = shifted - _ROUNDER
    r = (x - whole * _LN2_HIGH) - whole * _LN2_LOW  # |r| ≤ ln 2 / 2
    p = ((_TERMS[0] * r + _TERMS[1]) * r + _TERMS[2]) * r + _TERMS[3]
    p = ((p * r + _HALF) * r + _ONE) * r + _ONE
    exponent = np.float32(shifted).view(np.int32) + np.int32(127)
    power = np.int32(exponent << np.int32(23)).view(np.float32)
    return _ONE / (_ONE + p * power)


@kernel
def kept(seed: np.uint32, index: np.uint32, threshold: np.uint32) -> np.bool_:
    """Whether number `index` of a random sequence reaches the threshold: a fair 32-bit draw.

    Example:
        >>> sum(kept(np.uint32(7), np.uint32(i), np.uint32(1 << 31)) for i in range(1000)) > 400
        True
    """
    h = np.uint32(index * np.uint32(0x9E3779B9)) ^ seed
    h = np.uint32((h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B))
    h = np.uint32((h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35))
    return np.uint32(h ^ (h >> np.uint32(16))) >= threshold


@kernel
def keep_each(out: Any, seed: np.uint32, threshold: np.uint32, factor: np.float32) -> None:
    """out = factor for what is kept and 0 for what is dropped, by place."""
    for i in range(out.size):
        out[i] = factor if kept(seed, np.uint32(i), threshold) else np.float32(0)
