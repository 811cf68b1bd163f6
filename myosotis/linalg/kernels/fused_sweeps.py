"""Elimination and substitution of diagonal systems in one go, where nobody needs the factor.

What the way down needs of an inner node, −b/â and û, stays in memory of the kernel's own, a compact
copy of the channels at hand, which is small enough for the caches if these are few. For a leaf both
are computed again: reading its three numbers once more is less than writing two and reading them.
A finished node sends to its parent: parents follow each other in memory as their children do, and
what was sent is still at hand.

    up      â_v = a_v + Σ_c c_c down_c    ũ_v = u_v + Σ_c up_c ũ_c
            down_v = −b_v / â_v           up_v = −c_v / â_v           û_v = ũ_v / â_v
    down    x_v = û_v + down_v x_p

These are the operations of `diagonal_sweeps`, in an order that leaves the same bits.
"""

from numba import uintp

from myosotis.compiled import kernel
from myosotis.linalg.kernels.rows import combine, combine_away, fence, invert, prefetch
from myosotis.linalg.kernels.team import deal_out

__all__ = ["SPARE_ROWS", "solve"]

AHEAD = 12  # nodes: rows that are far apart are not fetched ahead by the hardware
SPARE_ROWS = 3  # for the numbers of the node at hand


@kernel
def solve(team, pieces, *arguments):
    """Solve the systems of each piece in its channels, `tile` channels at a time.

    Arguments: tree; the row of each inner node; unit; addresses of a, b, c, u, x; (E, rows between
    systems of b, of c); (bytes of a row, of a number); tile; (address of aligned memory for the
    kernel's own use, how many bytes of it each piece has, which must hold two rows of a tile for
    each inner node and `SPARE_ROWS` more, number of inner nodes); whether solutions are written
    past the caches, their rows then being aligned; `singular`, whose element becomes 1 if a pivot
    is zero.
    """
    deal_out(team, pieces, solve_piece, arguments)


@kernel
def solve_piece(
    pieces, tree, inner, unit, tables, sizes, sizes_in_bytes, tile, memory, away, singular, i
):
    high, systems = pieces[i, 1], (pieces[i, 2], pieces[i, 3])
    own, settings = memory[0] + uintp(i) * memory[1], (tables, sizes, sizes_in_bytes, away)
    for low in range(pieces[i, 0], high, tile):
        channels = (low, min(tile, high - low))
        if solve_systems((own, memory[2]), (tree, inner), unit, settings, channels, systems):
            singular[0] = 1
    fence()


@kernel
def solve_systems(memory, places, unit, settings, channels, systems):
    tables, sizes, sizes_in_bytes, away = settings
    a, b, c, u, x = tables
    E, b_rows, c_rows = sizes
    width, item = sizes_in_bytes
    low, n = channels
    own, num_inner = memory
    tree, inner = places
    L, step, singular = uintp(inner.size), n * item, False
    kept, spare = (own, own + num_inner * step, step), own + uintp(2) * num_inner * step
    for s in range(systems[0], systems[1]):
        nodes, shift, offset = s * L * width + low * item, s * width, low * item
        rows = (a + nodes, b + b_rows * shift + offset, c + c_rows * shift + offset, u + nodes)
        singular |= climb(tree, inner, unit, rows, kept, spare, n, E, width)
        descend(tree, inner, unit, rows, kept, spare, x + nodes, n, E, width, away)
    return singular


@kernel
def climb(tree, inner, unit, rows, kept, inverse, n, E, width):
    """Leave down and û of inner nodes in `kept`; whether a pivot was zero. inverse: spare rows."""
    parent, first_child, num_children, _ = tree
    a, b, c, u = rows
    pivots, sides, step = kept
    L, up, one, singular = uintp(parent.size), inverse + step, unit.real, False
    for v in range(L):
        fetch_ahead(tree, rows, v, step, E, width)
        leaf = num_children[v] == uintp(0)
        at, own = v * width, inner[v] * step
        pivot, side = (a + at, u + at) if leaf else (pivots + own, sides + own)
        if v >= E:
            singular |= invert(unit, inverse, pivot, n, ())
        else:
            down = up + step if leaf else pivots + own
            singular |= invert(unit, inverse, pivot, n, ((b + at, down), (c + at, up)))
            p = parent[v]
            above, above_side = pivots + inner[p] * step, sides + inner[p] * step
            start, start_side = above, above_side
            if v == first_child[p]:
                start, start_side = a + p * width, u + p * width
            combine(unit, above, start, n, ((c + at, down, one),), None)
            combine(unit, above_side, start_side, n, ((up, side, one),), None)
        if not leaf:
            combine(unit, side, None, n, ((inverse, side, one),), None)
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
def descend(tree, inner, unit, rows, kept, inverse, x, n, E, width, away):
    """x_v = û_v + down_v x_p, for inner nodes in `kept` too."""
    parent, _, num_children, _ = tree
    a, b, _, u = rows
    pivots, sides, step = kept
    v, down, one = uintp(parent.size), inverse + step, unit.real
    while v != uintp(0):
        v -= uintp(1)
        at, own = v * width, inner[v] * step
        leaf, edge = num_children[v] == uintp(0), v < E
        above = sides + inner[parent[v]] * step if edge else sides
        if leaf:
            fetch_behind(num_children, rows, v, step, width)
            ours = (inverse, u + at, one)
            if not edge:
                invert(unit, inverse, a + at, n, ())
                combine(unit, x + at, None, n, (ours,), None)
                continue
            invert(unit, inverse, a + at, n, ((b + at, down),))
            if away:
                combine_away(unit, x + at, None, n, (ours, (down, above, one)), None)
            else:
                combine(unit, x + at, None, n, (ours, (down, above, one)), None)
        else:
            if edge:
                combine(unit, sides + own, sides + own, n, ((pivots + own, above, one),), None)
            combine(unit, x + at, sides + own, n, (), None)


@kernel
def fetch_behind(num_children, rows, v, size, width):
    """Ask for what the leaf `AHEAD` places before v, if it is one, will read on the way down."""
    if v >= uintp(AHEAD) and num_children[v - uintp(AHEAD)] == uintp(0):
        at = (v - uintp(AHEAD)) * width
        for line in range(uintp(0), size, uintp(64)):
            prefetch(rows[0] + at + line)
            prefetch(rows[1] + at + line)
            prefetch(rows[3] + at + line)
