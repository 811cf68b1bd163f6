"""Steps on a tile of rows: products with matrices, and what is done number by number.

Arrays are float32 (rows, columns), contiguous, and none overlaps another.
"""

from typing import Any

import numpy as np

from myosotis.compiled import kernel
from myosotis.nn.kernels.pointwise import (
    centre_and_scale,
    gate,
    gate_back,
    gate_back_dropping,
    gate_dropping,
    only_scale,
)
from myosotis.nn.kernels.products import add_product, product

__all__ = [
    "TILE",
    "add_outer",
    "add_times",
    "ahead",
    "at",
    "gated",
    "gated_back",
    "normed",
    "shape_of",
    "times",
]

TILE = 64  # rows that go through all steps together
_BYTES = np.uint64(4)


@kernel
def times(out: Any, left: Any, right: Any, later: Any) -> None:
    """out = left right, while what `ahead` has listed is fetched."""
    k, n = right.shape
    size = (np.uint64(left.shape[0]), np.uint64(k), np.uint64(n))
    product(_matrix(out, n), size, (*_matrix(left, k), _BYTES), _matrix(right, n), later)


@kernel
def add_times(out: Any, left: Any, right: Any, later: Any) -> None:
    """out += left right, while what `ahead` has listed is fetched."""
    k, n = right.shape
    size = (np.uint64(left.shape[0]), np.uint64(k), np.uint64(n))
    add_product(_matrix(out, n), size, (*_matrix(left, k), _BYTES), _matrix(right, n), later)


@kernel
def add_outer(out: Any, left: Any, right: Any) -> None:
    """out += leftᵀ right."""
    m, n = out.shape
    size = (np.uint64(m), np.uint64(left.shape[0]), np.uint64(n))
    address, row = _matrix(left, m)
    add_product(_matrix(out, n), size, (address, _BYTES, row), _matrix(right, n), ())


@kernel
def ahead(array: Any, row: Any) -> Any:
    """The rows from number `row` on, which need not exist, as something to fetch."""
    address, step = _matrix(array, array.shape[1])
    return address + np.uint64(row) * step, step


@kernel
def _matrix(array: Any, columns: Any) -> Any:
    """(address, bytes per row)."""
    return at(array), np.uint64(columns) * _BYTES


@kernel
def _centre_rows(out: Any, rows: Any, mean: Any, scale: Any) -> None:
    """out = (rows − mean)·scale, with a mean and a scale for each row."""
    for r in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            out[r, j] = (rows[r, j] - mean[r]) * scale[r]


@kernel
def normed(x_hat: Any, n: Any, x: Any, moments: Any, affine: Any, by_row: Any) -> None:
    """x̂ = (x − mean)·scale and n = x̂·γ + β; moments (mean, scale) of the rows or the columns."""
    mean, scale = moments
    gamma, beta = at(affine[0]), at(affine[1])
    if by_row:
        _centre_rows(x_hat, x, mean, scale)
        only_scale((at(n),), (), (at(x_hat),), (gamma, beta), (), shape_of(x))
    else:
        columns = (at(mean), at(scale), gamma, beta)
        centre_and_scale((at(x_hat), at(n)), (), (at(x),), columns, (), shape_of(x))


@kernel
def gated(out: Any, x: Any, y: Any, q: Any, bias: Any, dropout: Any, first: Any) -> None:
    """out = x + k y σ(q + bias), where dropout = (seed, threshold, factor) gives k by place."""
    seed, threshold, factor = dropout
    inputs = (at(x), at(y), at(q))
    if threshold == 0:
        gate((at(out),), (), inputs, (at(bias),), (), shape_of(out))
    else:
        settings = (seed, threshold, factor, np.uint32(first * out.shape[1]))
        gate_dropping((at(out),), (), inputs, (at(bias),), settings, shape_of(out))


@kernel
def gated_back(
    q: Any, y_gradient: Any, bias_sum: Any, g: Any, y: Any, bias: Any, dropout: Any, first: Any
) -> None:
    """With e = k g: y_gradient = e σ, then q = e y σ(1 − σ), σ of q + bias; its sum is added."""
    seed, threshold, factor = dropout
    outputs, sums = (at(y_gradient), at(q)), (at(bias_sum),)
    inputs, columns = (at(g), at(y), at(q)), (at(bias),)
    if threshold == 0:
        gate_back(outputs, sums, inputs, columns, (), shape_of(q))
    else:
        settings = (seed, threshold, factor, np.uint32(first * q.shape[1]))
        gate_back_dropping(outputs, sums, inputs, columns, settings, shape_of(q))


@kernel
def at(array: Any) -> Any:
    """The address of an array."""
    return np.uint64(array.ctypes.data)


@kernel
def shape_of(array: Any) -> Any:
    """(rows, columns), as loops over vectors take them."""
    return np.uint64(array.shape[0]), np.uint64(array.shape[1])
