"""λ = T^-H g for many systems with one matrix, and the gradients of its coefficients, in one go.

Gradients are sums over systems. So that each has its place, threads share nodes instead of systems:
the tree is cut below one of its levels into parts small enough for the caches next to the core
(`pieces.families`), and some systems at a time take turns at each of them, up and then down. On the
way down λ is multiplied where it is made, instead of being read again, and sums stay in registers
while systems take turns.

The operations are those of `diagonal_sweeps` and `gradient_sweeps.outer`, in an order that leaves
the same bits.
"""

from numba import uintp

from myosotis.compiled import inlined, kernel
from myosotis.linalg.kernels.cutting import cuts, over_strips, put
from myosotis.linalg.kernels.diagonal_sweeps import climb, descend, start, whole_rows
from myosotis.linalg.kernels.gradient_sweeps import outer_piece
from myosotis.linalg.kernels.rows import fence
from myosotis.linalg.kernels.strips import (
    add_product,
    fetch_ahead,
    load,
    load_coefficient,
    rolled,
    store,
    subtract_product,
)
from myosotis.linalg.kernels.team import deal_out

__all__ = ["TURNS", "solve"]

AHEAD = 1 << 10  # bytes before they are needed that rows are asked for: families are small
TURNS = 8  # systems that take turns at a family: their rows stay in the first cache


@kernel
def solve(team, pieces, crown, count, together, above, *arguments):
    """Leave λ, and the gradients of all three tables.

    pieces: of `pieces.Families`. crown: as for `gradient_sweeps.outer`, the nodes that are in no
    piece as children. count: of systems. together: how many of these go up and down before the next
    do, so that they are still in the third cache on the way down. above: arguments of
    `gradient_sweeps.outer`. Arguments: `top` and `segments` of `pieces.Families`; then as for
    `diagonal_sweeps.sweep` up to the sizes, systems all having the same matrix; away; products:
    (address of x, addresses of the gradients).
    """
    for g in range(uintp(0), count, together):
        systems = (g, min(g + together, count))
        deal_out(team, pieces, climb_piece, (systems, arguments))
        deal_out(team, crown, cross_top, (uintp(crown.shape[0]), systems, arguments))
        deal_out(team, pieces, descend_piece, (systems, arguments))
    deal_out(team, crown, outer_piece, above)


@kernel
def climb_piece(pieces, systems, arguments, i):
    _, segments, tree, unit, tables, sharing, signs, ends, sizes_in_bytes, _, _ = arguments
    sizes, some = whole_rows(sharing, sizes_in_bytes), (pieces[i, 0], pieces[i, 1])
    for g in range(systems[0], systems[1], uintp(TURNS)):
        turns = (g, min(g + uintp(TURNS), systems[1]))
        climb(segments, some, tree, unit, tables[2], sharing, signs[2], ends, sizes, turns)


@kernel
def cross_top(shares, parts, systems, arguments, i):
    """Take the i-th of so many parts of the systems through what is above all pieces."""
    top, segments, tree, unit, tables, sharing, signs, ends, sizes_in_bytes, away, _ = arguments
    sizes, some = whole_rows(sharing, sizes_in_bytes), (top[0, 0], top[0, 1])
    first, count = systems[0], systems[1] - systems[0]
    for b in range(first + count * i // parts, first + count * (i + uintp(1)) // parts):
        one = (b, b + uintp(1))
        climb(segments, some, tree, unit, tables[2], sharing, signs[2], ends, sizes, one)
        start(tree, unit, tables, sharing, signs, ends, sizes, one, None, None)
        rest = (tables, sharing, signs, ends, sizes, one, away, None, None)
        descend(segments, some, tree, unit, *rest)
    fence()


@kernel
def descend_piece(pieces, systems, arguments, i):
    """Leave λ of the children in a piece, and what the systems add to their gradients."""
    _, segments, tree, unit, tables, sharing, signs, ends, sizes_in_bytes, away, products = (
        arguments
    )
    _, first_child, num_children, _ = tree
    inverse, down, _ = tables
    step, width, item, size, across = whole_rows(sharing, sizes_in_bytes)
    table = (inverse, down, step, across, sharing[4], signs, away)
    ends = (*ends, products[0], width, uintp(num_children.size) * width)
    strips = cuts(size, item)
    for g in range(systems[0], systems[1], uintp(TURNS)):
        turns = (g, min(g + uintp(TURNS), systems[1]))
        k = pieces[i, 1]
        while k != pieces[i, 0]:
            k -= uintp(1)
            for v in range(segments[k, 0], segments[k, 1]):
                family = (v, first_child[v], first_child[v] + num_children[v])
                arguments = (-unit.real, turns, family, num_children, table, ends, products[1])
                over_strips(unit, strips, send_and_sum, arguments)
    fence()


@inlined
def send_and_sum(like, at, conjugate, turns, family, num_children, table, ends, sums):
    """λ_c = inverse_c ũ_c + down_c λ_v, and its products with x, in the strip `at`.

    family: (v, children from, to). ends: addresses of g, λ and x, bytes of a row, of a system.
    """
    v, first, last = family
    inverse, down, step, across, one, signs, away = table
    g, lam, x, width, apart = ends
    parent = v * width + at
    for c in range(first, last):
        rolled()
        here, shift = c * width + at, c * step + across * at
        leaf = num_children[c] == uintp(0)
        source = g if leaf else lam
        own = load_coefficient(like, inverse + shift, one)
        edge = load_coefficient(like, down + shift, one)
        total, lower, upper = like, like, like  # zeros
        if turns[0] != uintp(0):
            total, lower = load(like, sums[0] + here), load(like, sums[1] + here)
            upper = load(like, sums[2] + here)
        for b in range(turns[0], turns[1]):
            rolled()
            system = b * apart
            fetch_ahead(like, source + system + here + uintp(AHEAD))
            fetch_ahead(like, x + system + here + uintp(AHEAD))
            left_p = load(like, lam + system + parent)
            eta = add_product(None, own, load(like, source + system + here), signs[0])
            left = add_product(eta, edge, left_p, signs[1])
            put(left, lam + system + here, away and leaf)
            right, right_p = load(like, x + system + here), load(like, x + system + parent)
            total = subtract_product(total, right, left, conjugate)
            lower = subtract_product(lower, right_p, left, conjugate)
            upper = subtract_product(upper, right, left_p, conjugate)
        store(total, sums[0] + here)
        store(lower, sums[1] + here)
        store(upper, sums[2] + here)
