"""Couplings that depend on the features: what was selected and the tables, added and contracted.

    p = s + t      q = (1 + |p|²)^(−1/2)      a = p q

for the pairs of a complex number; weights are only added. Backwards, from ∂a,

    ∂p = q (∂a − a ⟨a, ∂a⟩)

which goes to s and, added up over the nodes of a row, to its table.
"""

from typing import Any

import numpy as np

from myosotis.compiled import kernel
from myosotis.linalg.kernels.team import deal_out

__all__ = ["backward", "forward"]

_ONE = np.float32(1)


@kernel
def forward(team: Any, pieces: Any, selected: Any, tables: Any, rows: Any, out: Any) -> None:
    """Fills out = (a, weight) from selected (nodes, 3 heads) and tables (coupling, weight)."""
    deal_out(team, pieces, _forward_piece, (selected, tables, rows, out))


@kernel
def backward(
    team: Any,
    pieces: Any,
    selected: Any,
    tables: Any,
    rows: Any,
    gradients: Any,
    out: Any,
    sums: Any,
) -> None:
    """From gradients of (a, weight): fills out with that of `selected`.

    Adds what each piece contributes to sums = those of the tables, one entry per piece.
    """
    deal_out(team, pieces, _backward_piece, (selected, tables, rows, gradients, out, sums))


@kernel
def _forward_piece(pieces: Any, selected: Any, tables: Any, rows: Any, out: Any, i: Any) -> None:
    coupling, weight = tables
    a, w = out
    heads = w.shape[1]
    for node in range(pieces[i, 0], pieces[i, 1]):
        s, t = selected[node], coupling[rows[node % rows.size]]
        b, to, to_weight = weight[rows[node % rows.size]], a[node], w[node]
        for h in range(heads):
            x, y = s[2 * h] + t[2 * h], s[2 * h + 1] + t[2 * h + 1]
            q = _ONE / np.sqrt(_ONE + (x * x + y * y))
            to[2 * h], to[2 * h + 1] = x * q, y * q
        for h in range(heads):
            to_weight[h] = s[2 * heads + h] + b[h]


@kernel
def _backward_piece(
    pieces: Any,
    selected: Any,
    tables: Any,
    rows: Any,
    gradients: Any,
    out: Any,
    sums: Any,
    i: Any,
) -> None:
    coupling = tables[0]
    a_gradient, w_gradient = gradients
    coupling_sum, weight_sum = sums[0][i], sums[1][i]
    heads = w_gradient.shape[1]
    for node in range(pieces[i, 0], pieces[i, 1]):
        row = rows[node % rows.size]
        s, t, g, g_weight, to = (
            selected[node],
            coupling[row],
            a_gradient[node],
            w_gradient[node],
            out[node],
        )
        for h in range(heads):
            x, y = s[2 * h] + t[2 * h], s[2 * h + 1] + t[2 * h + 1]
            q = _ONE / np.sqrt(_ONE + (x * x + y * y))
            along = (x * g[2 * h] + y * g[2 * h + 1]) * q * q
            to[2 * h], to[2 * h + 1] = q * (g[2 * h] - x * along), q * (g[2 * h + 1] - y * along)
        for h in range(heads):
            to[2 * heads + h] = g_weight[h]
            weight_sum[row, h] += g_weight[h]
        for h in range(2 * heads):
            coupling_sum[row, h] += to[h]
