"""Elimination of diagonal blocks from leaf to root.

How nodes and tables lie, and what the arguments mean: see `diagonal_sweeps`.
"""

from numba import uintp

from myosotis.compiled import inlined, kernel
from myosotis.linalg.kernels.cutting import cuts, over_strips, put
from myosotis.linalg.kernels.rows import fence
from myosotis.linalg.kernels.strips import (
    add_product,
    has_zero,
    load,
    plus,
    raise_flag,
    reciprocal,
    rolled,
    store,
    subtract_product,
)
from myosotis.linalg.kernels.team import deal_out

__all__ = ["eliminate", "eliminate_by_subtrees"]


@kernel
def eliminate(team, pieces, *arguments):
    """inverse = 1/â, down = −b/â, up = −c/â, in the channels and systems of each piece.

    Arguments: tree; unit; tables (a, b, c, inverse, down, up); (E, rows between systems of b,
    of c); (bytes of a row, of a number); whether inverse and up are written past the caches, their
    rows then being aligned; address of a byte that becomes 1 if a pivot is zero.
    """
    deal_out(team, pieces, eliminate_piece, arguments)


@kernel
def eliminate_piece(pieces, tree, unit, tables, sizes, sizes_in_bytes, away, singular, i):
    """`eliminate` for piece i: (low channel, high channel, first system, last system)."""
    low, high, first, last = pieces[i, 0], pieces[i, 1], pieces[i, 2], pieces[i, 3]
    a, b, c, inverse, down, up = tables
    edges, b_rows, c_rows = sizes
    width, item = sizes_in_bytes
    L, offset, strips = uintp(tree[0].size), low * item, cuts((high - low) * item, item)
    levels, every = tree[3], (uintp(0), uintp(tree[3].shape[0]))
    for s in range(first, last):
        pivots, own = s * L * width + offset, s * edges * width + offset
        b_own, c_own = b + s * b_rows * width + offset, c + s * c_rows * width + offset
        system = (a + pivots, b_own, c_own, inverse + pivots, down + own, up + own)
        eliminate_nodes(levels, every, tree, unit, strips, system, edges, width, away, singular)
    fence()


@kernel
def eliminate_by_subtrees(team, pieces, top, *arguments):
    """`eliminate` for one system, the lower parts of its tree being dealt out to the team.

    pieces, top: of `pieces.Subtrees`. Arguments: its segments, then as for `eliminate`.
    """
    deal_out(team, pieces, eliminate_segments, arguments)
    eliminate_segments(top, *arguments, uintp(0))


@kernel
def eliminate_segments(
    pieces, segments, tree, unit, tables, sizes, sizes_in_bytes, away, singular, i
):
    width, item = sizes_in_bytes
    strips, some = cuts(width, item), (pieces[i, 0], pieces[i, 1])
    eliminate_nodes(segments, some, tree, unit, strips, tables, sizes[0], width, away, singular)
    fence()


@kernel
def eliminate_nodes(segments, some, tree, unit, strips, system, edges, width, away, singular):
    """Leave inverse, down and up of the nodes of some segments: (first, last)."""
    _, first_child, num_children, _ = tree
    for k in range(some[0], some[1]):
        for v in range(segments[k, 0], segments[k, 1]):
            family = (v, first_child[v], first_child[v] + num_children[v], v < edges)
            over_strips(unit, strips, pivot, (unit, family, system, width, away, singular))


@inlined
def pivot(like, at, unit, family, system, width, away, singular):
    """â_v = Σ_c c_c down_c + a_v and what follows from it, in the strip `at`."""
    v, first, last, edge = family
    a, b, c, inverse, down, up = system
    here, one = v * width + at, unit.real
    total = like  # zeros
    for child in range(first, last):
        rolled()
        below = child * width + at
        total = add_product(total, load(like, c + below), load(like, down + below), one)
    total = plus(total, load(like, a + here))
    if has_zero(total):
        raise_flag(singular)
    own = reciprocal(total)
    put(own, inverse + here, away)
    if edge:
        store(subtract_product(None, load(like, b + here), own, one), down + here)
        put(subtract_product(None, load(like, c + here), own, one), up + here, away)
