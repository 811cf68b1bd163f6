"""Elimination and substitution of diagonal systems in one go, where nobody needs the factor.

Every coefficient is read once. What the way down needs, −b/â and û, stays in memory of the
kernel's own, a compact copy of the channels at hand, which is small enough for the caches if these
are few. A finished node sends to its parent: parents follow each other in memory as their children
do, and what was sent is still at hand.

    up      â_v = a_v + Σ_c c_c down_c    ũ_v = u_v + Σ_c up_c ũ_c
            down_v = −b_v / â_v           up_v = −c_v / â_v           û_v = ũ_v / â_v
    down    x_v = û_v + down_v x_p

These are the operations of `diagonal_sweeps`, in an order that leaves the same bits.
"""

from numba import uintp

from myosotis.compiled import kernel
from myosotis.linalg.kernels.rows import combine, combine_away, fence, invert, prefetch
from myosotis.linalg.kernels.team import deal_out

__all__ = ["solve"]

AHEAD = 12  # nodes: rows that are far apart are not fetched ahead by the hardware


@kernel
def solve(team, pieces, *arguments):
    """Solve the systems of each piece in its channels, `tile` channels at a time.

    Arguments: tree; unit; addresses of a, b, c, u, x; (E, rows between systems of b, of c);
    (bytes of a row, of a number); tile; address of aligned memory for the kernel's own use and how
    many bytes of it each piece has, two rows of a tile for each node and two more; whether
    solutions are written past the caches, their rows then being aligned; `singular`, whose element
    becomes 1 if a pivot is zero.
    """
    deal_out(team, pieces, solve_piece, arguments)


@kernel
def solve_piece(
    pieces, tree, unit, tables, sizes, sizes_in_bytes, tile, scratch, away, singular, i
):
    high, systems = pieces[i, 1], (pieces[i, 2], pieces[i, 3])
    own, settings = scratch[0] + uintp(i) * scratch[1], (tables, sizes, sizes_in_bytes, away)
    for low in range(pieces[i, 0], high, tile):
        channels = (low, min(tile, high - low))
        if solve_systems(own, tree, unit, settings, channels, systems):
            singular[0] = 1
    fence()


@kernel
def solve_systems(scratch, tree, unit, settings, channels, systems):
    tables, sizes, sizes_in_bytes, away = settings
    a, b, c, u, x = tables
    E, b_rows, c_rows = sizes
    width, item = sizes_in_bytes
    low, n = channels
    L, step, singular = uintp(tree[0].size), n * item, False
    kept, spare = (scratch, scratch + L * step, step), scratch + uintp(2) * L * step
    for s in range(systems[0], systems[1]):
        nodes, shift, offset = s * L * width + low * item, s * width, low * item
        rows = (a + nodes, b + b_rows * shift + offset, c + c_rows * shift + offset, u + nodes)
        singular |= climb(tree, unit, rows, kept, spare, n, E, width)
        descend(tree, unit, kept, x + nodes, n, E, width, away)
    return singular


@kernel
def climb(tree, unit, rows, kept, inverse, n, E, width):
    """Leave down and û in `kept`; whether a pivot was zero. inverse: two rows of scratch."""
    parent, first_child, num_children, _ = tree
    a, b, c, u = rows
    pivots, sides, step = kept
    L, up, one, singular = uintp(parent.size), inverse + step, unit.real, False
    for v in range(L):
        fetch_ahead(tree, rows, v, step, E, width)
        leaf = num_children[v] == uintp(0)
        at, own = v * width, v * step
        pivot, side = (a + at, u + at) if leaf else (pivots + own, sides + own)
        if v >= E:
            singular |= invert(unit, inverse, pivot, n, ())
        else:
            singular |= invert(unit, inverse, pivot, n, ((b + at, pivots + own), (c + at, up)))
            p = parent[v]
            above, above_side = pivots + p * step, sides + p * step
            start, start_side = above, above_side
            if v == first_child[p]:
                start, start_side = a + p * width, u + p * width
            combine(unit, above, start, n, ((c + at, pivots + own, one),), None)
            combine(unit, above_side, start_side, n, ((up, side, one),), None)
        combine(unit, sides + own, None, n, ((inverse, side, one),), None)
    return singular


@kernel
def fetch_ahead(tree, rows, v, size, E, width):
    """Ask for what the node `AHEAD` places further on will read: `size` bytes of each row."""
    parent, first_child, num_children, _ = tree
    later = v + uintp(AHEAD)
    if later < E:
        p = parent[later]
        at, above = later * width, p * width
        for line in range(uintp(0), size, uintp(64)):
            prefetch(rows[1] + at + line)
            prefetch(rows[2] + at + line)
            if num_children[later] == uintp(0):
                prefetch(rows[0] + at + line)
                prefetch(rows[3] + at + line)
            if first_child[p] == later:
                prefetch(rows[0] + above + line)
                prefetch(rows[3] + above + line)


@kernel
def descend(tree, unit, kept, x, n, E, width, away):
    """x_v = û_v + down_v x_p, for inner nodes in `kept` too."""
    parent, _, num_children, _ = tree
    pivots, sides, step = kept
    v, one = uintp(parent.size), unit.real
    while v != uintp(0):
        v -= uintp(1)
        out, side = x + v * width, sides + v * step
        if v < E:
            above = (pivots + v * step, sides + parent[v] * step, one)
            if num_children[v] != uintp(0):
                combine(unit, side, side, n, (above,), None)
                combine(unit, out, side, n, (), None)
            elif away:
                combine_away(unit, out, side, n, (above,), None)
            else:
                combine(unit, out, side, n, (above,), None)
        else:
            combine(unit, out, side, n, (), None)
