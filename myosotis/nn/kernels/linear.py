"""A linear map of many rows, tile by tile.

    u = x Wᵀ      ∂x = ∂u W      ∂W = ∂uᵀ x

Backwards both products are taken while a tile of ∂u is at hand.
"""

from typing import Any

from myosotis.compiled import kernel
from myosotis.linalg.kernels.team import deal_out
from myosotis.nn.kernels.tiles import TILE, add_outer, ahead, times

__all__ = ["backward", "forward"]


@kernel
def forward(team: Any, pieces: Any, x: Any, weight: Any, out: Any) -> None:
    """Fills out = u from weight Wᵀ."""
    deal_out(team, pieces, _forward_piece, (x, weight, out))


@kernel
def backward(team: Any, pieces: Any, rows: Any, weight: Any, out: Any, sums: Any) -> None:
    """Rows (x, ∂u), weight W; fills out = ∂x and adds to ∂W, one entry per piece."""
    deal_out(team, pieces, _backward_piece, (rows, weight, out, sums))


@kernel
def _forward_piece(pieces: Any, x: Any, weight: Any, out: Any, i: Any) -> None:
    for first in range(pieces[i, 0], pieces[i, 1], TILE):
        tile, later = slice(first, min(first + TILE, pieces[i, 1])), first + TILE
        times(out[tile], x[tile], weight, (ahead(x, later), ahead(out, later)))


@kernel
def _backward_piece(pieces: Any, rows: Any, weight: Any, out: Any, sums: Any, i: Any) -> None:
    x, g = rows
    for first in range(pieces[i, 0], pieces[i, 1], TILE):
        tile, later = slice(first, min(first + TILE, pieces[i, 1])), first + TILE
        add_outer(sums[i], g[tile], x[tile])
        times(out[tile], g[tile], weight, (ahead(x, later), ahead(g, later), ahead(out, later)))
