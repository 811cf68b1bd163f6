"""Gradients of diagonal systems in their coefficients: products of two solutions, summed.

Both solutions, `left` and `right`, hold systems of L rows. A piece is (first system, last, first
node, last, table): what it adds goes to a table of sums of its own, or to rows of one that no other
piece writes to. Within a piece so many nodes go together that their sums stay in the caches while
what each system has of them is read in one go.
"""

from numba import uintp

from myosotis.compiled import inlined, kernel
from myosotis.linalg.kernels.cutting import cuts, over_strips, put
from myosotis.linalg.kernels.rows import fence
from myosotis.linalg.kernels.strips import (
    AHEAD,
    add_product,
    fetch_ahead,
    is_complex,
    load,
    store,
    subtract_product,
    swapped,
)
from myosotis.linalg.kernels.team import deal_out

__all__ = ["SUMS", "add_edge", "add_pivot", "factored_outer", "outer"]

SUMS = 3  # rows of sums for each row of coefficients of `factored_outer`


@kernel
def outer(team, pieces, *arguments):
    """Subtract left_v right_v^H, left_v right_p^H, left_p right_v^H, summed over systems.

    Arguments: parent; unit; (matrix of each system, whether it is the first to have that one and
    so begins its sums); addresses of left, right; of the three tables (·, L, H), (·, ≥E, H),
    (·, ≥E, H); (E, rows of the second, of the third); bytes of a row, of a number; how many nodes
    go together; whether products are written past the caches, each system then having a matrix of
    its own and rows being aligned.
    """
    deal_out(team, pieces, outer_piece, arguments)


@kernel
def outer_piece(pieces, parent, unit, sharing, ends, products, edges, width, item, crowd, away, i):
    first, last, low, high, _ = pieces[i]
    L, strips = uintp(parent.size), cuts(width, item)
    system, begins = sharing
    for begin in range(low, high, crowd):
        end = min(begin + crowd, high)
        for b in range(first, last):
            for v in range(begin, end):
                rows = ((b * L + v) * width, (b * L + parent[v]) * width)
                m = system[b]
                totals = (
                    (m * L + v) * width,
                    (m * edges[1] + v) * width,
                    (m * edges[2] + v) * width,
                )
                rows_of_roots = (edges[1] > edges[0], edges[2] > edges[0])
                kind = (v < edges[0], rows_of_roots, begins[b], away)
                over_strips(unit, strips, outer_strip, (unit, kind, ends, products, rows, totals))
    fence()


@inlined
def outer_strip(like, at, unit, kind, ends, products, rows, totals):
    left, right = ends[0] + at, ends[1] + at
    here, above = rows
    edge, rows_of_roots, begins, away = kind
    lower, upper = products[1] + totals[1] + at, products[2] + totals[2] + at
    own, conjugate = products[0] + totals[0] + at, -unit.real
    fetch_ahead(like, left + here + uintp(AHEAD))
    fetch_ahead(like, right + here + uintp(AHEAD))
    left_v, right_v = load(like, left + here), load(like, right + here)
    so_far = like if begins else load(like, own)  # like: zeros
    put(subtract_product(so_far, right_v, left_v, conjugate), own, away)
    if edge:
        left_p, right_p = load(like, left + above), load(like, right + above)
        so_far = like if begins else load(like, lower)
        put(subtract_product(so_far, right_p, left_v, conjugate), lower, away)
        so_far = like if begins else load(like, upper)
        put(subtract_product(so_far, right_v, left_p, conjugate), upper, away)
    else:
        if rows_of_roots[0]:
            put(like, lower, away)
        if rows_of_roots[1]:
            put(like, upper, away)


@kernel
def factored_outer(team, pieces, *arguments):
    """Sum η̄_v right_p + left_p ξ̄_v and −Re η_v ξ̄_v over systems and nodes with the same row.

    ξ_v = right_v − ā_v right_p, η_v = left_v − ā_v left_p; what a sum consists of, see `add_edge`.
    Arguments: parent; unit; sharing (matrix of each system, row of each node, rows) of the table a;
    (row of each node, rows) of the sums; addresses of a, left, right, sums; bytes from one table of
    sums to the next; bytes of a row, of a number; how many nodes go together.
    """
    deal_out(team, pieces, factored_outer_piece, arguments)


@kernel
def factored_outer_piece(
    pieces, parent, unit, sharing, into, tables, sums, apart, width, item, crowd, i
):
    first, last, low, high, table = pieces[i]
    system, row, rows = sharing
    target, targets = into
    L, strips, sums = uintp(parent.size), cuts(width, item), sums + table * apart
    for begin in range(low, high, crowd):
        end = min(begin + crowd, high)
        for b in range(first, last):
            for v in range(begin, end):
                here, above = (b * L + v) * width, (b * L + parent[v]) * width
                coefficient = (system[b] * rows + row[v]) * width
                total = sums + uintp(SUMS) * (system[b] * targets + target[v]) * width
                places = (here, above, coefficient, total, width)
                edge = parent[v] != L
                over_strips(unit, strips, factored_strip, (unit, edge, tables, places))


@inlined
def factored_strip(like, at, unit, edge, tables, places):
    a, left, right = tables[0] + at, tables[1] + at, tables[2] + at
    here, above, coefficient, total, width = places
    fetch_ahead(like, left + here + uintp(AHEAD))
    fetch_ahead(like, right + here + uintp(AHEAD))
    eta, xi = load(like, left + here), load(like, right + here)
    if edge:
        left_p, right_p = load(like, left + above), load(like, right + above)
        a_v, conjugate = load(like, a + coefficient), -unit.real
        xi = subtract_product(xi, a_v, right_p, conjugate)
        eta = subtract_product(eta, a_v, left_p, conjugate)
        add_edge(like, total + at, width, (eta, xi, left_p, right_p))
    add_pivot(like, total + at, width, eta, xi)


@inlined
def add_edge(like, total, width, terms):
    """Add what becomes η̄ right_p + ξ̄ left_p, in two rows: products of like parts, and of unlike.

    A real part is the sum of the two numbers in its place of the first row, an imaginary part the
    difference of those in the second. So nothing has to be exchanged or conjugated here.
    """
    eta, xi, left_p, right_p = terms
    like_parts = add_product(load(like, total), eta, right_p, None)
    store(add_product(like_parts, xi, left_p, None), total)
    if is_complex(like):
        unlike = total + width
        unlike_parts = add_product(load(like, unlike), eta, swapped(right_p), None)
        store(add_product(unlike_parts, xi, swapped(left_p), None), unlike)


@inlined
def add_pivot(like, total, width, eta, xi):
    """Subtract what becomes Re η ξ̄, in a third row: the sum of the two numbers in a place."""
    pivot = total + uintp(2) * width
    store(subtract_product(load(like, pivot), eta, xi, None), pivot)
