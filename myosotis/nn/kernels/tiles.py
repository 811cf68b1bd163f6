"""Steps on a tile of rows: products with matrices, and what is done number by number.

Arrays are float32 (rows, columns), contiguous, and none overlaps another.
"""

from typing import Any

import numpy as np

from myosotis.compiled import kernel
from myosotis.nn.kernels.pointwise import (
    gate,
    gate_back,
    gate_back_dropping,
    gate_dropping,
    silu,
    silu_with_slope,
)
from myosotis.nn.kernels.products import add_product, product

__all__ = [
    "TILE",
    "activate",
    "activate_with_slope",
    "add_column_products",
    "add_columns",
    "add_outer",
    "add_times",
    "affine_columns",
    "ahead",
    "centre_columns",
    "centre_rows",
    "gated",
    "gated_back",
    "multiply",
    "repeat_row",
    "scale_rows",
    "times",
]

TILE = 64  # rows that go through all steps together
_BYTES = np.uint64(4)


@kernel
def times(out: Any, left: Any, right: Any, later: Any) -> None:
    """out = left right, while what `ahead` has listed is fetched."""
    k, n = right.shape
    size = (np.uint64(left.shape[0]), np.uint64(k), np.uint64(n))
    product(_at(out, n), size, (*_at(left, k), _BYTES), _at(right, n), later)


@kernel
def add_times(out: Any, left: Any, right: Any, later: Any) -> None:
    """out += left right, while what `ahead` has listed is fetched."""
    k, n = right.shape
    size = (np.uint64(left.shape[0]), np.uint64(k), np.uint64(n))
    add_product(_at(out, n), size, (*_at(left, k), _BYTES), _at(right, n), later)


@kernel
def add_outer(out: Any, left: Any, right: Any) -> None:
    """out += leftᵀ right."""
    m, n = out.shape
    size = (np.uint64(m), np.uint64(left.shape[0]), np.uint64(n))
    address, row = _at(left, m)
    add_product(_at(out, n), size, (address, _BYTES, row), _at(right, n), ())


@kernel
def ahead(array: Any, row: Any) -> Any:
    """The rows from number `row` on, which need not exist, as something to fetch."""
    address, step = _at(array, array.shape[1])
    return address + np.uint64(row) * step, step


@kernel
def _at(array: Any, columns: Any) -> Any:
    """(address, bytes per row)."""
    return _address(array), np.uint64(columns) * _BYTES


@kernel
def _address(array: Any) -> Any:
    return np.uint64(array.ctypes.data)


@kernel
def centre_rows(out: Any, rows: Any, mean: Any, scale: Any) -> None:
    """out = (rows − mean)·scale, with a mean and a scale for each row."""
    for r in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            out[r, j] = (rows[r, j] - mean[r]) * scale[r]


@kernel
def centre_columns(out: Any, rows: Any, mean: Any, scale: Any) -> None:
    """out = (rows − mean)·scale, with a mean and a scale for each column."""
    for r in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            out[r, j] = (rows[r, j] - mean[j]) * scale[j]


@kernel
def affine_columns(out: Any, rows: Any, affine: Any) -> None:
    """out = rows·γ + β, a pair for each column."""
    gamma, beta = affine
    for r in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            out[r, j] = rows[r, j] * gamma[j] + beta[j]


@kernel
def scale_rows(out: Any, rows: Any, factor: Any) -> None:
    """out = rows · factor, a factor for each column."""
    for r in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            out[r, j] = rows[r, j] * factor[j]


@kernel
def repeat_row(out: Any, row: Any) -> None:
    """Every row of out = row."""
    for r in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[r, j] = row[j]


@kernel
def add_columns(out: Any, rows: Any) -> None:
    """out += the sum of the rows."""
    for r in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            out[j] += rows[r, j]


@kernel
def add_column_products(out: Any, left: Any, right: Any) -> None:
    """out += the sum of left · right over the rows."""
    for r in range(left.shape[0]):
        for j in range(left.shape[1]):
            out[j] += left[r, j] * right[r, j]


@kernel
def multiply(out: Any, left: Any, right: Any) -> None:
    """out = left · right, number by number."""
    out, left, right = out.ravel(), left.ravel(), right.ravel()
    for i in range(out.size):
        out[i] = left[i] * right[i]


@kernel
def activate(y: Any, z: Any) -> None:
    """y = z σ(z)."""
    silu((_address(y),), (_address(z),), (), np.uint64(y.size))


@kernel
def activate_with_slope(y: Any, slope: Any, z: Any) -> None:
    """y = z σ(z) and its derivative."""
    silu_with_slope((_address(y), _address(slope)), (_address(z),), (), np.uint64(y.size))


@kernel
def gated(out: Any, x: Any, y: Any, q: Any, dropout: Any, first: Any) -> None:
    """out = x + k y σ(q), where dropout = (seed, threshold, factor) gives k by place."""
    seed, threshold, factor = dropout
    inputs = (_address(x), _address(y), _address(q))
    if threshold == 0:
        gate((_address(out),), inputs, (), np.uint64(out.size))
    else:
        settings = (seed, threshold, factor, np.uint32(first * out.shape[1]))
        gate_dropping((_address(out),), inputs, settings, np.uint64(out.size))


@kernel
def gated_back(q: Any, y_gradient: Any, g: Any, y: Any, dropout: Any, first: Any) -> None:
    """y_gradient = e σ(q), then q = e y σ(q)(1 − σ(q)), with e = k g."""
    seed, threshold, factor = dropout
    inputs, outputs = (_address(g), _address(y), _address(q)), (_address(y_gradient), _address(q))
    if threshold == 0:
        gate_back(outputs, inputs, (), np.uint64(q.size))
    else:
        settings = (seed, threshold, factor, np.uint32(first * q.shape[1]))
        gate_back_dropping(outputs, inputs, settings, np.uint64(q.size))
