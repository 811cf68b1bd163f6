"""λ = T^-H g for many systems with one matrix, and the gradients of its coefficients, in one go.

Gradients are sums over systems. In the order of `family_sweeps`, in which threads share nodes
instead of systems, each has its place: on the way down λ is multiplied where it is made, instead of
being read again, and sums stay in registers while systems take turns.

The operations are those of `diagonal_sweeps` and `gradient_sweeps.outer`, in an order that leaves
the same bits.
"""

import numpy as np
from numba import uintp

from myosotis.compiled import inlined, kernel
from myosotis.linalg.kernels.cutting import cuts, over_strips, put
from myosotis.linalg.kernels.diagonal_sweeps import whole_rows
from myosotis.linalg.kernels.family_sweeps import climb_piece, take_turns
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

TURNS = 8  # systems that take turns at a family: their rows stay in the first cache
AHEAD = 1 << 10  # bytes before they are needed that rows are asked for: families are small


@kernel
def solve(team, parts, counts, crown, gradients, *arguments):
    """Leave λ, and the gradients of all three tables.

    crown: pieces of the nodes that are in no piece as children, and how many of these go together,
    as for `gradient_sweeps.outer`. gradients: (address of x, addresses of the gradients, number of
    edges and rows of the tables, likewise). All others as for `family_sweeps.sweep`.
    """
    _, tree, unit, _, sharing, _, ends, sizes_in_bytes, _ = arguments
    x, products, edges = gradients
    _, width, item = sizes_in_bytes
    take_turns(team, parts, counts, cross_piece, (arguments, (x, products)))
    begins = np.zeros(sharing[0].size, dtype=np.bool_)
    begins[0] = True
    above = (tree[0], unit, (sharing[0], begins), (ends[1], x), products, edges)
    deal_out(team, crown[0], outer_piece, (*above, width, item, crown[1], False))


@kernel
def cross_piece(pieces, above, below, arguments, products, i):
    """Take those systems down that are above the i-th piece, and those up that are below it."""
    descend_piece(pieces, above, arguments, products, i)
    climb_piece(pieces, below, arguments, i)


@kernel
def descend_piece(pieces, systems, arguments, products, i):
    """Leave λ of the children in a piece, and what the systems add to their gradients."""
    segments, tree, unit, tables, sharing, signs, ends, sizes_in_bytes, away = arguments
    _, first_child, num_children, _ = tree
    inverse, down, _ = tables
    step, width, item, size, across = whole_rows(sharing, sizes_in_bytes)
    table = (inverse, down, step, across, sharing[4], signs, away)
    ends = (ends[0], ends[1], products[0], width, uintp(num_children.size) * width)
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
