"""What precedes the solution in a block: norm and projection, tile by tile.

    x̂ = (x − mean)·scale      n = x̂·γ + β      u = n Wᵀ

mean and scale belong to the rows for layer norm, to the columns for batch norm. Backwards, with ∂n
what reaches n from elsewhere and g what reaches x,

    h = ∂n + ∂u W      ∂W = ∂uᵀ n      ∂γ = Σ h x̂      ∂β = Σ h
    ∂x = g + scale·(γ h − ⟨γ h⟩ − x̂ ⟨γ h x̂⟩)

where ⟨⟩ is the mean over what mean and scale were taken from: a row, or a column, which is known
only after all rows have been seen. For batch norm h is therefore written first and ∂x in a second
pass.
"""

from typing import Any

import numpy as np

from myosotis.compiled import kernel
from myosotis.linalg.kernels.team import deal_out
from myosotis.nn.kernels.moments import row_moments
from myosotis.nn.kernels.pointwise import combine_columns, scale_back
from myosotis.nn.kernels.products import inner_product
from myosotis.nn.kernels.tiles import (
    TILE,
    add_outer,
    add_times,
    ahead,
    at,
    normed,
    shape_of,
    times,
)

__all__ = ["backward", "combine", "forward"]

_BYTES = np.uint64(4)


@kernel
def forward(
    team: Any, pieces: Any, x: Any, moments: Any, affine: Any, weight: Any, by_row: Any, out: Any
) -> None:
    """Fills out = (n, u), and the moments if they are those of the rows.

    Moments (mean, scale, epsilon), affine (γ, β), weight Wᵀ.
    """
    deal_out(team, pieces, _forward_piece, (x, moments, affine, weight, by_row, out))


@kernel
def backward(
    team: Any,
    pieces: Any,
    rows: Any,
    moments: Any,
    affine: Any,
    weight: Any,
    by_row: Any,
    out: Any,
    sums: Any,
) -> None:
    """Rows (x, g, ∂n, ∂u), weight W; fills out with ∂x if moments belong to rows, with h if not.

    Adds what each piece contributes to sums = (∂W, ∂γ, ∂β), one entry per piece.
    """
    arguments = (rows, moments, affine, weight, by_row, out, sums)
    deal_out(team, pieces, _backward_piece, arguments)


@kernel
def combine(team: Any, pieces: Any, rows: Any, factors: Any, out: Any) -> None:
    """out = g + p·h + q·x + r, for rows (g, h, x) and factors (p, q, r) of the columns."""
    deal_out(team, pieces, _combine_piece, (rows, factors, out))


@kernel
def _forward_piece(
    pieces: Any, x: Any, moments: Any, affine: Any, weight: Any, by_row: Any, out: Any, i: Any
) -> None:
    mean, scale, epsilon = moments
    n, u = out
    centred = np.empty((TILE, x.shape[1]), np.float32)
    for first in range(pieces[i, 0], pieces[i, 1], TILE):
        tile = slice(first, min(first + TILE, pieces[i, 1]))
        x_hat = centred[: tile.stop - tile.start]
        if by_row:
            row_moments(x[tile], epsilon, mean[tile], scale[tile])
        normed(x_hat, n[tile], x[tile], _moments(mean, scale, tile, by_row), affine, by_row)
        later = first + TILE
        times(u[tile], n[tile], weight, (ahead(x, later), ahead(n, later), ahead(u, later)))


@kernel
def _backward_piece(
    pieces: Any,
    rows: Any,
    moments: Any,
    affine: Any,
    weight: Any,
    by_row: Any,
    out: Any,
    sums: Any,
    i: Any,
) -> None:
    x, g, n_gradient, u_gradient = rows
    mean, scale, _ = moments
    weight_sum, gamma_sum, beta_sum = sums
    centred = np.empty((TILE, x.shape[1]), np.float32)
    scaled = np.empty((TILE, x.shape[1]), np.float32)
    for first in range(pieces[i, 0], pieces[i, 1], TILE):
        tile = slice(first, min(first + TILE, pieces[i, 1]))
        x_hat, n = centred[: tile.stop - tile.start], scaled[: tile.stop - tile.start]
        normed(x_hat, n, x[tile], _moments(mean, scale, tile, by_row), affine, by_row)
        add_outer(weight_sum[i], u_gradient[tile], n)
        h = n if by_row else out[tile]  # n is no longer needed
        h[:] = n_gradient[tile]
        later = first + TILE
        next_inputs = (ahead(x, later), ahead(g, later), ahead(n_gradient, later))
        add_times(
            h, u_gradient[tile], weight, (*next_inputs, ahead(u_gradient, later), ahead(out, later))
        )
        sums = (at(beta_sum[i]), at(gamma_sum[i]))
        scale_back((), sums, (at(h), at(x_hat)), (), (), shape_of(h))
        if by_row:
            _norm_back(out[tile], g[tile], h, x_hat, affine[0], scale[tile])


@kernel
def _moments(mean: Any, scale: Any, tile: Any, by_row: Any) -> Any:
    """Those of a tile."""
    whole = slice(0, mean.size)
    rows = tile if by_row else whole
    return mean[rows], scale[rows]


@kernel
def _norm_back(out: Any, g: Any, h: Any, x_hat: Any, gamma: Any, scale: Any) -> None:
    """out = g + scale·(γ h − ⟨γ h⟩ − x̂ ⟨γ h x̂⟩), row by row."""
    columns = np.uint64(h.shape[1])
    gammas = np.uint64(gamma.ctypes.data)
    weighted = np.empty(h.shape[1], np.float32)
    for r in range(h.shape[0]):
        row = np.uint64(r) * columns * _BYTES
        total = inner_product(np.uint64(h.ctypes.data) + row, gammas, columns)
        for j in range(h.shape[1]):
            weighted[j] = h[r, j] * gamma[j]
        along = inner_product(
            np.uint64(weighted.ctypes.data), np.uint64(x_hat.ctypes.data) + row, columns
        )
        total /= np.float32(h.shape[1])
        along /= np.float32(h.shape[1])
        for j in range(h.shape[1]):
            out[r, j] = g[r, j] + scale[r] * (weighted[j] - total - x_hat[r, j] * along)


@kernel
def _combine_piece(pieces: Any, rows: Any, factors: Any, out: Any, i: Any) -> None:
    g, h, x = rows
    p, q, r = factors
    for first in range(pieces[i, 0], pieces[i, 1], TILE):
        tile = slice(first, min(first + TILE, pieces[i, 1]))
        inputs = (at(g[tile]), at(h[tile]), at(x[tile]))
        columns = (at(p), at(q), at(r))
        combine_columns((at(out[tile]),), (), inputs, columns, (), shape_of(out[tile]))
