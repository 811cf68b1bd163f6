"""What follows the solution in a block, tile by tile: nothing in between leaves the caches.

    z = s Wₒᵀ + skip·n      y = z σ(z)      q = y W_gᵀ + bias      out = x + k·y σ(q)

with k the dropout factor of each number, 0 or 1/(1 − rate). Backwards, from g = ∂out,

    e = k·g     ∂q = e y σ(q)(1 − σ(q))     ∂y = e σ(q) + ∂q W_g     ∂z = ∂y σ(z)(1 + z(1 − σ(z)))
    ∂s = ∂z Wₒ    ∂n = skip·∂z    ∂Wₒ = ∂zᵀ s    ∂W_g = ∂qᵀ y    ∂skip = Σ ∂z n    ∂bias = Σ ∂q

z is kept from the way forwards. Sums over nodes are taken piece by piece, and the pieces do not
depend on the number of threads.
"""

from typing import Any

import numpy as np

from myosotis.compiled import kernel
from myosotis.linalg.kernels.team import deal_out
from myosotis.nn.kernels.pointwise import activate, activate_again, activate_back
from myosotis.nn.kernels.tiles import (
    TILE,
    add_outer,
    add_times,
    ahead,
    at,
    gated,
    gated_back,
    shape_of,
    times,
)

__all__ = ["backward", "forward"]


@kernel
def forward(
    team: Any, pieces: Any, rows: Any, weights: Any, vectors: Any, dropout: Any, out: Any
) -> None:
    """Rows (x, n, s), weights (Wₒᵀ, W_gᵀ), vectors (skip, bias), dropout (seed, threshold, factor).

    Fills out = (z, out), all of shape (rows, width).
    """
    deal_out(team, pieces, _forward_piece, (rows, weights, vectors, dropout, out))


@kernel
def backward(
    team: Any, pieces: Any, rows: Any, weights: Any, vectors: Any, dropout: Any, out: Any, sums: Any
) -> None:
    """Rows (g, n, s, z), weights (W_gᵀ, W_g, Wₒ); fills out = (∂s, ∂n).

    Adds what each piece contributes to sums = (∂Wₒ, ∂W_g, ∂skip, ∂bias), one entry per piece.
    """
    deal_out(team, pieces, _backward_piece, (rows, weights, vectors, dropout, out, sums))


@kernel
def _forward_piece(
    pieces: Any, rows: Any, weights: Any, vectors: Any, dropout: Any, out: Any, i: Any
) -> None:
    x, n, s = rows
    to_dim, to_gate = weights
    skip, bias = vectors
    z, result = out
    dim = x.shape[1]
    gate = np.empty((TILE, dim), np.float32)
    y = np.empty((TILE, dim), np.float32)
    for first in range(pieces[i, 0], pieces[i, 1], TILE):
        count = min(TILE, pieces[i, 1] - first)
        tile = slice(first, first + count)
        later = first + TILE
        times(z[tile], s[tile], to_dim, (ahead(n, later), ahead(s, later), ahead(z, later)))
        summed = (at(z[tile]), at(n[tile]))
        outputs = (at(z[tile]), at(y))
        activate(outputs, (), summed, (at(skip),), (), shape_of(z[tile]))
        times(gate[:count], y[:count], to_gate, (ahead(x, later), ahead(result, later)))
        gated(result[tile], x[tile], y[:count], gate[:count], bias, dropout, first)


@kernel
def _backward_piece(
    pieces: Any, rows: Any, weights: Any, vectors: Any, dropout: Any, out: Any, sums: Any, i: Any
) -> None:
    g, n, s, z = rows
    to_gate, gate_back, dim_back = weights
    skip, bias = vectors
    s_gradient, n_gradient = out
    dim_sum, gate_sum, skip_sum, bias_sum = sums
    dim = z.shape[1]
    y = np.empty((TILE, dim), np.float32)
    slope = np.empty((TILE, dim), np.float32)  # of the activation
    y_gradient = np.empty((TILE, dim), np.float32)
    gradient = np.empty((TILE, dim), np.float32)  # of q, then of z
    for first in range(pieces[i, 0], pieces[i, 1], TILE):
        count = min(TILE, pieces[i, 1] - first)
        tile = slice(first, first + count)
        later = first + TILE
        activate_again((at(y), at(slope)), (), (at(z[tile]),), (), (), shape_of(z[tile]))
        q = gradient[:count]
        times(q, y[:count], to_gate, (ahead(z, later), ahead(g, later)))
        gated_back(q, y_gradient[:count], bias_sum[i], g[tile], y[:count], bias, dropout, first)
        add_outer(gate_sum[i], q, y[:count])
        next_inputs = (ahead(n, later), ahead(s, later))
        add_times(y_gradient[:count], q, gate_back, next_inputs)
        activate_back(
            (at(gradient), at(n_gradient[tile])),
            (at(skip_sum[i]),),
            (at(y_gradient), at(slope), at(n[tile])),
            (at(skip),),
            (),
            shape_of(z[tile]),
        )
        add_outer(dim_sum[i], gradient[:count], s[tile])
        next_outputs = (ahead(s_gradient, later), ahead(n_gradient, later))
        times(s_gradient[tile], gradient[:count], dim_back, next_outputs)
