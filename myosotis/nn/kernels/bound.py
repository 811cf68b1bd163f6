"""Numbers without bounds to couplings below one in norm and weights above zero.

    q = (1 + |p|²)^(−1/2)      a = p q               ∂p = q (∂a − a ⟨a, ∂a⟩)
    t = tanh(w / r)            d = e^(r t)           ∂w = d (1 − t²) ∂d

Computed in double precision: there are few.
"""

from typing import Any

import numpy as np

from myosotis.compiled import kernel
from myosotis.linalg.kernels.team import deal_out

__all__ = ["backward", "forward"]


@kernel
def forward(team: Any, pieces: Any, tables: Any, r: Any, out: Any) -> None:
    """Fills out = (a, d) from tables = (p (n, parts), w (n)). Pieces: (from, to)."""
    deal_out(team, pieces, _forward_piece, (tables, r, out))


@kernel
def backward(team: Any, pieces: Any, tables: Any, r: Any, gradients: Any, out: Any) -> None:
    """Fills out = (∂p, ∂w) from gradients = (∂a, ∂d)."""
    deal_out(team, pieces, _backward_piece, (tables, r, gradients, out))


@kernel
def _forward_piece(pieces: Any, tables: Any, r: Any, out: Any, i: Any) -> None:
    p, w = tables
    a, d = out
    for n in range(pieces[i, 0], pieces[i, 1]):
        q = _scale(p[n])
        for part in range(p.shape[1]):
            a[n, part] = p[n, part] * q
        d[n] = np.exp(r * np.tanh(w[n] / r))


@kernel
def _backward_piece(pieces: Any, tables: Any, r: Any, gradients: Any, out: Any, i: Any) -> None:
    p, w = tables
    a_gradient, d_gradient = gradients
    p_gradient, w_gradient = out
    for n in range(pieces[i, 0], pieces[i, 1]):
        q, along = _scale(p[n]), 0.0
        for part in range(p.shape[1]):
            along += p[n, part] * q * a_gradient[n, part]
        for part in range(p.shape[1]):
            p_gradient[n, part] = q * (a_gradient[n, part] - p[n, part] * q * along)
        t = np.tanh(w[n] / r)
        w_gradient[n] = np.exp(r * t) * (1.0 - t * t) * d_gradient[n]


@kernel
def _scale(p: Any) -> Any:
    """(1 + |p|²)^(−1/2)."""
    square = 1.0
    for part in range(p.size):
        square += np.float64(p[part]) * np.float64(p[part])
    return 1.0 / np.sqrt(square)
