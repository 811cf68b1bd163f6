"""What is done number by number, as loops over the vectors of whole tiles.

The loops are called as `loops(outputs, sums, inputs, columns, settings, shape)`; see
`over_vectors`.
"""

from typing import Any

import numpy as np

from myosotis.compiled import kernel
from myosotis.nn.kernels.lanes import Vector, over_vectors

__all__ = [
    "activate",
    "activate_again",
    "activate_back",
    "add_up",
    "add_up_squares",
    "centre_and_scale",
    "combine_columns",
    "gate",
    "gate_back",
    "gate_back_dropping",
    "gate_dropping",
    "keep_each",
    "only_scale",
    "scale_back",
]

_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4  # their sum is ln 2
_ROUNDER = 12582912.0  # 1.5 · 2²³: adding it leaves the nearest integer in the last bits
_LIMIT = 87.0  # e^88 overflows
_TERMS = (1 / 720, 1 / 120, 1 / 24, 1 / 6, 1 / 2, 1.0, 1.0)
_MIXERS = ((16, 0x85EBCA6B), (13, 0xC2B2AE35))
_FIRST_MIXER = 0x9E3779B9


def _sigmoid(x: Vector) -> Vector:
    """1 / (1 + e^−x), to about two units in the last place."""
    x = (0.0 - x).clamp(-_LIMIT, _LIMIT)
    shifted = x.times_plus(_LOG2_E, _ROUNDER)
    whole = shifted - _ROUNDER
    r = whole.times_plus(-_LN2_LOW, whole.times_plus(-_LN2_HIGH, x))  # |r| ≤ ln 2 / 2
    series = r.times_plus(_TERMS[0], _TERMS[1])
    for term in _TERMS[2:]:
        series = series.times_plus(r, term)
    power = ((shifted.as_bits() + 127) << 23).as_real()
    return 1.0 / series.times_plus(power, 1.0)


def _dropout(seed: Vector, threshold: Vector, factor: Vector, start: Vector, i: Vector) -> Vector:
    """Factor or zero, by number start + i of a random sequence: a fair 32-bit draw."""
    h = ((start + i) * _FIRST_MIXER) ^ seed
    for bits, mixer in _MIXERS:
        h = (h ^ (h >> bits)) * mixer
    return (h ^ (h >> 16)).kept_from(threshold, factor)


@over_vectors
def activate(z: Vector, n: Vector, skip: Vector, place: Vector) -> tuple[Vector, ...]:
    """The sum z + skip·n, and its activation, the sum times its σ."""
    z = n.times_plus(skip, z)
    return z, z * _sigmoid(z)


@over_vectors
def activate_again(z: Vector, place: Vector) -> tuple[Vector, ...]:
    """The activation of z and its derivative."""
    share = _sigmoid(z)
    return z * share, share * z.times_plus(1.0 - share, 1.0)


@over_vectors
def activate_back(
    g: Vector, slope: Vector, n: Vector, skip: Vector, place: Vector
) -> tuple[Vector, ...]:
    """From the gradient g of the activation: those of z and of n, and, to be added, of skip."""
    to_z = g * slope
    return to_z, to_z * skip, to_z * n


@over_vectors
def gate(x: Vector, y: Vector, q: Vector, bias: Vector, place: Vector) -> tuple[Vector, ...]:
    """The end of a block, x + y σ(q + bias)."""
    return (y.times_plus(_sigmoid(q + bias), x),)


@over_vectors
def gate_dropping(
    x: Vector, y: Vector, q: Vector, bias: Vector, *dropout_and_place: Vector
) -> tuple[Vector, ...]:
    """The same with k y instead of y, k the dropout of each number."""
    return ((y * _dropout(*dropout_and_place)).times_plus(_sigmoid(q + bias), x),)


@over_vectors
def gate_back(g: Vector, y: Vector, q: Vector, bias: Vector, place: Vector) -> tuple[Vector, ...]:
    """From the gradient g: those of y, as far as it is gated, of q, and, to be added, of bias."""
    return _gate_back(g, y, q + bias)


@over_vectors
def gate_back_dropping(
    g: Vector, y: Vector, q: Vector, bias: Vector, *dropout_and_place: Vector
) -> tuple[Vector, ...]:
    """The same with k g instead of g."""
    return _gate_back(g * _dropout(*dropout_and_place), y, q + bias)


def _gate_back(g: Vector, y: Vector, q: Vector) -> tuple[Vector, ...]:
    share = _sigmoid(q)
    to_y = g * share
    to_q = to_y * y * (1.0 - share)
    return to_y, to_q, to_q


@over_vectors
def centre_and_scale(
    x: Vector, mean: Vector, scale: Vector, gamma: Vector, beta: Vector, place: Vector
) -> tuple[Vector, ...]:
    """The normalised (x − mean)·scale, and that times γ plus β."""
    x_hat = (x - mean) * scale
    return x_hat, x_hat.times_plus(gamma, beta)


@over_vectors
def only_scale(x_hat: Vector, gamma: Vector, beta: Vector, place: Vector) -> tuple[Vector, ...]:
    """The normalised times γ plus β."""
    return (x_hat.times_plus(gamma, beta),)


@over_vectors
def scale_back(h: Vector, x_hat: Vector, place: Vector) -> tuple[Vector, ...]:
    """To be added: the gradients of β and γ from that of what they scale, h."""
    return h, h * x_hat


@over_vectors
def combine_columns(
    g: Vector, h: Vector, x: Vector, p: Vector, q: Vector, r: Vector, place: Vector
) -> tuple[Vector, ...]:
    """The sum g + p·h + q·x + r."""
    return (g + h.times_plus(p, x.times_plus(q, r)),)


@over_vectors
def add_up(x: Vector, place: Vector) -> tuple[Vector, ...]:
    """To be added: x."""
    return (x,)


@over_vectors
def add_up_squares(x: Vector, mean: Vector, place: Vector) -> tuple[Vector, ...]:
    """To be added: (x − mean)²."""
    return ((x - mean) * (x - mean),)


@kernel
def keep_each(out: Any, seed: np.uint32, threshold: np.uint32, factor: np.float32) -> None:
    """out = factor for what is kept and 0 for what is dropped, by place: the same draws."""
    for i in range(out.size):
        h = np.uint32(np.uint32(i) * np.uint32(_FIRST_MIXER)) ^ seed
        h = np.uint32((h ^ (h >> np.uint32(16))) * np.uint32(_MIXERS[0][1]))
        h = np.uint32((h ^ (h >> np.uint32(13))) * np.uint32(_MIXERS[1][1]))
        out[i] = factor if np.uint32(h ^ (h >> np.uint32(16))) >= threshold else np.float32(0)
