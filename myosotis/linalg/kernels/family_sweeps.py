"""Sweeps of many systems with one matrix, which take turns at small parts of the tree.

The tree is cut below one of its levels into parts whose coefficients stay in the caches next to the
core (`pieces.families`). Threads share the parts, and all systems go through one of them before the
next one: coefficients, of which there are three for each number of a right-hand side, are read from
far away once and not by every system. Four systems at a time go side by side in registers, so that
a coefficient is loaded once for all four.

In return right-hand sides are read twice, on the way up and on the way down, so only as many
systems go up before they come down as stay in the third cache. The next ones go up a part of the
tree as soon as these have come down there: threads wait for each other half as often.

The operations are those of `diagonal_sweeps`, in an order that leaves the same bits.
"""

import numpy as np
from numba import uintp

from myosotis.compiled import inlined, kernel
from myosotis.linalg.kernels.cutting import cuts, over_broad_strips, put
from myosotis.linalg.kernels.diagonal_sweeps import (
    climb,
    descend,
    downwards,
    start,
    upwards,
    whole_rows,
)
from myosotis.linalg.kernels.elimination_sweeps import eliminate_by_subtrees
from myosotis.linalg.kernels.rows import fence
from myosotis.linalg.kernels.strips import (
    add_product,
    bytes_of,
    fetch_ahead,
    load,
    load_coefficient,
    plus,
    rolled,
    short,
    store,
)
from myosotis.linalg.kernels.team import deal_out

__all__ = ["climb_piece", "solve", "sweep", "take_turns"]

AHEAD = 1 << 11  # bytes before they are needed that rows are asked for: families are small
CROWD = 8  # children that are dealt with together: four rows of each stay in the first cache


@kernel
def solve(team, parts, counts, coefficients, *arguments):
    """Eliminate and sweep; whether no pivot was zero. Leaves tables for `sweep`.

    coefficients: (addresses of a, b and c), number of edges. All others as for `sweep`.
    """
    segments, tree, unit, tables, _, _, _, sizes_in_bytes, _ = arguments
    (a, b, c), edges = coefficients
    width, _, item = sizes_in_bytes
    singular = np.zeros(1, dtype=np.uint8)
    eliminate_by_subtrees(
        team,
        parts[0],
        parts[1],
        segments,
        tree,
        unit,
        (a, b, c, *tables),
        (edges, uintp(0), uintp(0)),
        (width, item),
        False,
        uintp(singular.ctypes.data),
    )
    sweep(team, parts, counts, *arguments)
    return singular[0] == 0


@kernel
def sweep(team, parts, counts, *arguments):
    """`diagonal_sweeps.sweep` for systems that all have the same matrix.

    parts: (pieces, top) of `pieces.Families`. counts: of systems, and of those that go up and down
    before the next ones do. Arguments: `segments` of the families; then as for
    `diagonal_sweeps.sweep` up to the sizes; away.
    """
    take_turns(team, parts, counts, cross_piece, (arguments,))


@inlined
def take_turns(team, parts, counts, task, rest):
    """Take all systems up and down, those above by task(pieces, above, below, *rest, i).

    rest: the arguments of `sweep` in a tuple, and what else the task wants to know.
    """
    pieces, top = parts
    count, together = counts
    shares, below = uintp(pieces.shape[0]), (uintp(0), uintp(0))
    for g in range(uintp(0), count + together, together):
        above, below = below, (min(g, count), min(g + together, count))
        deal_out(team, pieces, task, (above, below, *rest))
        if below[0] != below[1]:
            deal_out(team, pieces, cross_top, (top, shares, below, rest[0]))


@kernel
def cross_piece(pieces, above, below, arguments, i):
    """Take those systems down that are above the i-th piece, and those up that are below it."""
    descend_piece(pieces, above, arguments, i)
    climb_piece(pieces, below, arguments, i)


@kernel
def cross_top(pieces, top, shares, systems, arguments, i):
    """Take the i-th of so many shares of the systems through what is above all pieces."""
    segments, tree, unit, tables, sharing, signs, ends, sizes_in_bytes, away = arguments
    sizes, some = whole_rows(sharing, sizes_in_bytes), (top[0, 0], top[0, 1])
    first, count = systems[0], systems[1] - systems[0]
    for b in range(first + count * i // shares, first + count * (i + uintp(1)) // shares):
        one = (b, b + uintp(1))
        climb(segments, some, tree, unit, tables[2], sharing, signs[2], ends, sizes, one)
        start(tree, unit, tables, sharing, signs, ends, sizes, one, None, None)
        rest = (tables, sharing, signs, ends, sizes, one, away, None, None)
        descend(segments, some, tree, unit, *rest)
    fence()


@kernel
def climb_piece(pieces, systems, arguments, i):
    """Leave ũ of the inner nodes of the i-th piece in x."""
    segments, tree, unit, tables, sharing, signs, ends, sizes_in_bytes, _ = arguments
    sizes, some = whole_rows(sharing, sizes_in_bytes), (pieces[i, 0], pieces[i, 1])
    b = systems[0]
    while b + uintp(4) <= systems[1]:
        climb_four(segments, some, tree, unit, tables[2], sharing, signs[2], ends, sizes, b)
        b += uintp(4)
    rest = (b, systems[1])
    climb(segments, some, tree, unit, tables[2], sharing, signs[2], ends, sizes, rest)


@kernel
def descend_piece(pieces, systems, arguments, i):
    """Leave x of the children of the nodes of the i-th piece."""
    segments, tree, unit, tables, sharing, signs, ends, sizes_in_bytes, away = arguments
    sizes, some = whole_rows(sharing, sizes_in_bytes), (pieces[i, 0], pieces[i, 1])
    b = systems[0]
    while b + uintp(4) <= systems[1]:
        descend_four(segments, some, tree, unit, tables, sharing, signs, ends, sizes, b, away)
        b += uintp(4)
    rest = (tables, sharing, signs, ends, sizes, (b, systems[1]), away, None, None)
    descend(segments, some, tree, unit, *rest)
    fence()


@kernel
def climb_four(segments, some, tree, unit, up, sharing, sign, sides, sizes, b):
    """`diagonal_sweeps.climb` for the systems b … b + 3, side by side."""
    step, width, item, size, across = sizes
    apart, strips = uintp(tree[2].size) * width, cuts(size, item, bytes_of(short(unit)))
    table = (up, sharing[1], step, across, sharing[4], sign)
    ends = (sides[0] + b * apart, sides[1] + b * apart, width, apart)
    arguments = (unit, strips, tree[2], table, ends)
    upwards(segments, some, tree, CROWD, receive_side_by_side, arguments)


@inlined
def receive_side_by_side(family, unit, strips, num_children, table, ends):
    arguments = (family, num_children, table, ends)
    over_broad_strips(short(unit), unit, strips, receive_four, arguments)


@inlined
def receive_four(like, at, family, num_children, table, ends):
    """`diagonal_sweeps.receive` for four systems."""
    v, first, last, begins, ends_family = family
    up, row, step, across, one, sign = table
    u, x, width, apart = ends
    own = v * width + at
    t0, t1, t2, t3 = like, like, like, like  # zeros
    if not begins:
        t0, t1, t2, t3 = load_four(like, x + own, apart)
    for c in range(first, last):
        rolled()
        below = (u if num_children[c] == uintp(0) else x) + c * width + at
        edge = load_coefficient(like, up + row[c] * step + across * at, one)
        fetch_four(like, below, apart)
        u0, u1, u2, u3 = load_four(like, below, apart)
        t0, t1 = add_product(t0, edge, u0, sign), add_product(t1, edge, u1, sign)
        t2, t3 = add_product(t2, edge, u2, sign), add_product(t3, edge, u3, sign)
    if ends_family:
        u0, u1, u2, u3 = load_four(like, u + own, apart)
        t0, t1, t2, t3 = plus(t0, u0), plus(t1, u1), plus(t2, u2), plus(t3, u3)
    store(t0, x + own)
    store(t1, x + own + apart)
    store(t2, x + own + uintp(2) * apart)
    store(t3, x + own + uintp(3) * apart)


@kernel
def descend_four(segments, some, tree, unit, tables, sharing, signs, sides, sizes, b, away):
    """`diagonal_sweeps.descend` for the systems b … b + 3, side by side."""
    step, width, item, size, across = sizes
    apart, strips = uintp(tree[2].size) * width, cuts(size, item, bytes_of(short(unit)))
    table = (tables[0], tables[1], sharing[1], step, across, sharing[4], signs, away)
    ends = (sides[0] + b * apart, sides[1] + b * apart, width, apart)
    arguments = (unit, strips, tree[2], table, ends)
    downwards(segments, some, tree, CROWD, send_side_by_side, arguments)


@inlined
def send_side_by_side(family, unit, strips, num_children, table, ends):
    arguments = (family, num_children, table, ends)
    over_broad_strips(short(unit), unit, strips, send_four, arguments)


@inlined
def send_four(like, at, family, num_children, table, ends):
    """`diagonal_sweeps.send` for four systems."""
    v, first, last, _, _ = family
    inverse, down, row, step, across, one, signs, away = table
    u, x, width, apart = ends
    p0, p1, p2, p3 = load_four(like, x + v * width + at, apart)
    for c in range(first, last):
        rolled()
        here, shift = c * width + at, row[c] * step + across * at
        leaf = num_children[c] == uintp(0)
        source = (u if leaf else x) + here
        own = load_coefficient(like, inverse + shift, one)
        edge = load_coefficient(like, down + shift, one)
        fetch_four(like, source, apart)
        u0, u1, u2, u3 = load_four(like, source, apart)
        e0, e1 = add_product(None, own, u0, signs[0]), add_product(None, own, u1, signs[0])
        e2, e3 = add_product(None, own, u2, signs[0]), add_product(None, own, u3, signs[0])
        far = away and leaf
        put(add_product(e0, edge, p0, signs[1]), x + here, far)
        put(add_product(e1, edge, p1, signs[1]), x + here + apart, far)
        put(add_product(e2, edge, p2, signs[1]), x + here + uintp(2) * apart, far)
        put(add_product(e3, edge, p3, signs[1]), x + here + uintp(3) * apart, far)


@inlined
def load_four(like, address, apart):
    """The strips at an address of four systems, `apart` bytes one from the other."""
    two = address + uintp(2) * apart
    return (
        load(like, address),
        load(like, address + apart),
        load(like, two),
        load(like, two + apart),
    )


@inlined
def fetch_four(like, address, apart):
    """Ask for what `load_four` will want soon."""
    for b in range(4):
        fetch_ahead(like, address + uintp(b) * apart + uintp(AHEAD))
