"""Mean and variance: of each row for layer norm, of each column for batch norm."""

from typing import Any

import numpy as np

from myosotis.compiled import kernel
from myosotis.linalg.kernels.team import deal_out
from myosotis.nn.kernels.pointwise import add_up, add_up_squares
from myosotis.nn.kernels.products import inner_product
from myosotis.nn.kernels.tiles import at, shape_of

__all__ = ["column_moments", "row_moments"]

_TILE = 32
_BYTES = np.uint64(4)


@kernel
def row_moments(x: Any, epsilon: Any, mean: Any, scale: Any) -> None:
    """mean = of each row of x, scale = 1 / √(variance + epsilon)."""
    columns = x.shape[1]
    centred = np.empty(columns, np.float32)
    ones = np.ones(columns, np.float32)
    n = np.uint64(columns)
    for r in range(x.shape[0]):
        row = np.uint64(x.ctypes.data) + np.uint64(r) * n * _BYTES
        m = inner_product(row, np.uint64(ones.ctypes.data), n) / np.float32(columns)
        for j in range(columns):
            centred[j] = x[r, j] - m
        place = np.uint64(centred.ctypes.data)
        variance = inner_product(place, place, n) / np.float32(columns)
        mean[r] = m
        scale[r] = np.float32(1) / np.sqrt(variance + epsilon)


@kernel
def column_moments(team: Any, pieces: Any, x: Any, mean: Any, squares: Any) -> None:
    """For each piece of the rows of x the mean of each column, and Σ (x − mean)²."""
    deal_out(team, pieces, _piece, (x, mean, squares))


@kernel
def _piece(pieces: Any, x: Any, mean: Any, squares: Any, i: Any) -> None:
    """Tile after tile: two passes over each, and its moments joined to those before it."""
    columns = x.shape[1]
    centre = np.empty(columns, np.float32)
    spread = np.empty(columns, np.float32)
    before = np.float32(0)
    for first in range(pieces[i, 0], pieces[i, 1], _TILE):
        tile = x[first : min(first + _TILE, pieces[i, 1])]
        count = np.float32(tile.shape[0])
        centre[:] = 0
        spread[:] = 0
        add_up((), (at(centre),), (at(tile),), (), (), shape_of(tile))
        for j in range(columns):
            centre[j] /= count
        add_up_squares((), (at(spread),), (at(tile),), (at(centre),), (), shape_of(tile))
        share = count / (before + count)
        for j in range(columns):
            step = centre[j] - mean[i, j]
            mean[i, j] += step * share
            squares[i, j] += spread[j] + step * step * before * share
        before += count
