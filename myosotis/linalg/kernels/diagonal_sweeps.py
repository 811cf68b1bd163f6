"""Sweeps over diagonal blocks: every tree straight from its parent array, at streaming speed.

Nodes go in canonical order, so children are done before their parents and lie side by side. A
table holds rows of H channels, `width` bytes each; tables are passed by the address of their first
channel, and indices are unsigned, so that a kernel does nothing but add and multiply.

    right-hand sides    row b·L + v                             of system b, node v
    pivots              row system[b]·pivot_rows + row[v]       coefficients may be shared by
    edges               row system[b]·edge_rows + row[v]        systems (system) and nodes (row)

`tree` is always (parent, first_child, num_children, where levels begin), roots having the parent L;
`unit` is any number of the dtype; `sign` is −1 where a coefficient enters conjugated.
"""

from numba import uintp

from myosotis.compiled import inlined, kernel
from myosotis.linalg.kernels.cutting import cuts, over_strips
from myosotis.linalg.kernels.rows import combine, fence, invert
from myosotis.linalg.kernels.strips import (
    add_product,
    load,
    load_coefficient,
    store,
    store_away,
    subtract_product,
    subtract_real_products,
)
from myosotis.linalg.kernels.team import deal_out

__all__ = ["eliminate", "factored_outer", "outer", "solve", "sweep"]

CROWD = 32  # children that are dealt with together: their rows stay in the first cache


@kernel
def eliminate(team, pieces, *arguments):
    """inverse = 1/â, down = −b/â, up = −c/â, in the channels and systems of each piece.

    Arguments: tree; unit; tables (a, b, c, inverse, down, up); (E, rows between systems of b,
    of c); (bytes of a row, of a number); `singular`, whose element becomes 1 if a pivot is zero.
    """
    deal_out(team, pieces, eliminate_piece, arguments)


@kernel
def eliminate_piece(pieces, tree, unit, tables, sizes, sizes_in_bytes, singular, i):
    low, high, first, last = pieces[i, 0], pieces[i, 1], pieces[i, 2], pieces[i, 3]
    _, first_child, num_children, _ = tree
    a, b, c, inverse, down, up = tables
    edges, b_rows, c_rows = sizes
    width, item = sizes_in_bytes
    L, n, offset = uintp(num_children.size), high - low, low * item
    for s in range(first, last):
        for v in range(L):
            source, pivot = a + (s * L + v) * width + offset, inverse + (s * L + v) * width + offset
            child = first_child[v]
            c_row, down_row = c + (s * c_rows + child) * width, down + (s * edges + child) * width
            family = (c_row + offset, down_row + offset, num_children[v])
            source = collect(unit, pivot, source, n, family, width)
            if v < edges:
                edge, below = (s * edges + v) * width + offset, v * width + offset
                b_row, c_row = b + s * b_rows * width + below, c + s * c_rows * width + below
                zero = invert(unit, pivot, source, n, ((b_row, down + edge), (c_row, up + edge)))
            else:
                zero = invert(unit, pivot, source, n, ())
            if zero:
                singular[0] = 1


@kernel
def collect(unit, out, start, n, family, width):
    """out = start + Σ_c coefficient_c · value_c over rows side by side, four at a time.

    family: (address of the first coefficient, of the first value, how many). Returns where the
    sum is: at `out`, or at `start` if there is nothing to add.
    """
    c, v, left = family
    one, zero, four = unit.real, uintp(0), uintp(4)
    while left != zero:
        if left >= four:
            c1, c2, c3 = c + width, c + uintp(2) * width, c + uintp(3) * width
            v1, v2, v3 = v + width, v + uintp(2) * width, v + uintp(3) * width
            terms = ((c, v, one), (c1, v1, one), (c2, v2, one), (c3, v3, one))
            combine(unit, out, start, n, terms, None)
            c, v, left = c3 + width, v3 + width, left - four
        else:
            combine(unit, out, start, n, ((c, v, one),), None)
            c, v, left = c + width, v + width, left - uintp(1)
        start = out
    return start


@kernel
def sweep(team, pieces, *arguments):
    """Solve the systems of each piece, in its channels, `group` systems at a time.

        up      ũ_p = u_p + Σ_c up_c ũ_c
        down    x_v = inverse_v ũ_v + down_v x_p

    Arguments: tree; unit; addresses of inverse, down, up; sharing (system, row, pivot_rows,
    edge_rows, None unless a row is one number for all channels); signs of inverse, down, up;
    addresses of u, x; (bytes of a row of coefficients, of u, of a number); group; away. A group
    goes through the tree together, so that coefficients which its systems share are read from
    memory once. Within a level nodes ascend both ways: memory is fetched ahead upwards only.
    away: whether leaves are written past the caches; their rows must then be aligned.
    """
    deal_out(team, pieces, sweep_piece, arguments)


@kernel
def sweep_piece(pieces, tree, unit, tables, sharing, signs, ends, sizes_in_bytes, group, away, i):
    low, high, first, last = pieces[i, 0], pieces[i, 1], pieces[i, 2], pieces[i, 3]
    step, width, item = sizes_in_bytes
    offset, size, across = low * item, (high - low) * item, uintp(1)
    if sharing[4] is not None:  # one coefficient for all channels: it does not move along
        across = uintp(0)
    inverse, down, up = tables
    shift = across * offset
    tables = (inverse + shift, down + shift, up + shift)
    sides, sizes = (ends[0] + offset, ends[1] + offset), (step, width, item, size, across)
    for g in range(first, last, group):
        systems = (g, min(g + group, last))
        climb(tree, unit, tables[2], sharing, signs[2], sides, sizes, systems)
        descend(tree, unit, tables, sharing, signs, sides, sizes, systems, away)
    fence()


@kernel
def climb(tree, unit, up, sharing, sign, sides, sizes, systems):
    """Leave ũ of inner nodes in x. A leaf has ũ = u: it is not written on the way up."""
    _, first_child, num_children, _ = tree
    system, row, _, edge_rows, one = sharing
    step, width, item, size, across = sizes
    L, strips = uintp(num_children.size), cuts(size, item)
    for v in range(L):
        last = first_child[v] + num_children[v]
        for first in range(first_child[v], last, uintp(CROWD)):
            family = (v, first, min(first + uintp(CROWD), last), first == first_child[v])
            for b in range(systems[0], systems[1]):
                table = (up + system[b] * edge_rows * step, step, across, one, sign)
                ends = (sides[0] + b * L * width, sides[1] + b * L * width, width)
                over_strips(unit, strips, receive, (family, num_children, row, table, ends))


@inlined
def receive(like, at, family, num_children, row, table, ends):
    """ũ_v = u_v + Σ_c up_c ũ_c in the strip `at`; family: (v, children from, to, are the first)."""
    v, first, last, begins = family
    up, step, across, one, sign = table
    u, x, width = ends
    total = load(like, (u if begins else x) + v * width + at)
    for c in range(first, last):
        source = u if num_children[c] == uintp(0) else x
        value = load(like, source + c * width + at)
        edge = load_coefficient(like, up + row[c] * step + across * at, one)
        total = add_product(total, edge, value, sign)
    store(total, x + v * width + at)


@kernel
def descend(tree, unit, tables, sharing, signs, sides, sizes, systems, away):
    """Leave x of all nodes, those of a family together."""
    _, first_child, num_children, levels = tree
    inverse, down, _ = tables
    system, row, pivot_rows, edge_rows, one = sharing
    step, width, item, size, across = sizes
    L, zero = uintp(num_children.size), uintp(0)
    strips = cuts(size, item)
    level = uintp(levels.size) - uintp(1)
    for v in range(levels[level - uintp(1)], L):  # the roots
        for b in range(systems[0], systems[1]):
            here = (b * L + v) * width
            pivot = inverse + (system[b] * pivot_rows + row[v]) * step
            source = sides[0] if num_children[v] == zero else sides[1]
            own = (pivot, source + here, signs[0])
            combine(unit, sides[1] + here, None, size // item, (own,), one)
    while level != zero:
        level -= uintp(1)
        for v in range(levels[level], levels[level + uintp(1)]):
            last = first_child[v] + num_children[v]
            for first in range(first_child[v], last, uintp(CROWD)):
                family = (v, first, min(first + uintp(CROWD), last))
                for b in range(systems[0], systems[1]):
                    pivots, edges = system[b] * pivot_rows * step, system[b] * edge_rows * step
                    table = (inverse + pivots, down + edges, step, across, one, signs, away)
                    ends = (sides[0] + b * L * width, sides[1] + b * L * width, width)
                    over_strips(unit, strips, send, (family, num_children, row, table, ends))


@inlined
def send(like, at, family, num_children, row, table, ends):
    """x_c = inverse_c ũ_c + down_c x_v in the strip `at`; family: (v, children from, to)."""
    v, first, last = family
    inverse, down, step, across, one, signs, away = table
    u, x, width = ends
    above = load(like, x + v * width + at)
    for c in range(first, last):
        here, shift = c * width + at, row[c] * step + across * at
        leaf = num_children[c] == uintp(0)
        value = load(like, (u if leaf else x) + here)
        own = load_coefficient(like, inverse + shift, one)
        edge = load_coefficient(like, down + shift, one)
        total = add_product(add_product(None, own, value, signs[0]), edge, above, signs[1])
        if away and leaf:
            store_away(total, x + here)
        else:
            store(total, x + here)


@kernel
def solve(team, pieces, *arguments):
    """`eliminate` and `sweep` for systems with the same coefficients, where none needs the factor.

    Each piece has a factor of its own: what one core has written is slow to read for another.
    Arguments: a single piece with all channels of system 0; tree; unit; addresses of a, b, c;
    (address of memory for the kernel's own use, bytes of a table); (E, E, E); (bytes of a row of
    coefficients, of u, of a number); sharing; signs; addresses of u, x; group; away; `singular`.
    """
    deal_out(team, pieces, solve_piece, arguments)


@kernel
def solve_piece(
    pieces,
    all_,
    tree,
    unit,
    blocks,
    scratch,
    edges,
    sizes,
    sharing,
    signs,
    ends,
    group,
    away,
    singular,
    i,
):
    memory, apart = scratch
    inverse = memory + uintp(3) * uintp(i) * apart
    factor = (inverse, inverse + apart, inverse + uintp(2) * apart)
    eliminate_piece(
        all_, tree, unit, (*blocks, *factor), edges, (sizes[0], sizes[2]), singular, uintp(0)
    )
    sweep_piece(pieces, tree, unit, factor, sharing, signs, ends, sizes, group, away, i)


@kernel
def outer(team, pieces, *arguments):
    """Subtract left_v right_v^H, left_v right_p^H, left_p right_v^H, summed over systems.

    For the nodes of each piece, `chunk` at a time: within a chunk every system is read in one go.
    Arguments: parent; unit; system; addresses of left, right; addresses of the three tables
    (·, L, H), (·, edges, H), (·, edges, H); edges; bytes of a row, of a number; chunk.
    """
    deal_out(team, pieces, outer_piece, arguments)


@kernel
def outer_piece(pieces, parent, unit, system, ends, products, edges, width, item, chunk, i):
    first, last = pieces[i, 0], pieces[i, 1]
    L, strips = uintp(parent.size), cuts(width, item)
    for begin in range(first, last, chunk):
        end = min(begin + chunk, last)
        for b in range(uintp(system.size)):
            for v in range(begin, end):
                rows = ((b * L + v) * width, (b * L + parent[v]) * width)
                totals = ((system[b] * L + v) * width, (system[b] * edges + v) * width)
                edge = v < edges
                over_strips(unit, strips, outer_strip, (unit, edge, ends, products, rows, totals))


@inlined
def outer_strip(like, at, unit, edge, ends, products, rows, totals):
    left, right = ends[0] + at, ends[1] + at
    here, above = rows
    own, conjugate = products[0] + totals[0] + at, -unit.real
    left_v, right_v = load(like, left + here), load(like, right + here)
    store(subtract_product(load(like, own), right_v, left_v, conjugate), own)
    if edge:
        left_p, right_p = load(like, left + above), load(like, right + above)
        lower, upper = products[1] + totals[1] + at, products[2] + totals[1] + at
        store(subtract_product(load(like, lower), right_p, left_v, conjugate), lower)
        store(subtract_product(load(like, upper), right_v, left_p, conjugate), upper)


@kernel
def factored_outer(team, pieces, *arguments):
    """η̄_v right_p + left_p ξ̄_v and −Re(η_v ξ̄_v) of the nodes of each piece, summed over systems.

    ξ_v = right_v − ā_v right_p, η_v = left_v − ā_v left_p. Arguments: parent; unit; sharing
    (system, row, rows) of the table a; addresses of a, left, right; of the two tables of sums
    (·, L, H), the second in two terms, from real and from imaginary parts; bytes of a row, of a
    number; chunk.
    """
    deal_out(team, pieces, factored_outer_piece, arguments)


@kernel
def factored_outer_piece(pieces, parent, unit, sharing, tables, sums, width, item, chunk, i):
    first, last = pieces[i, 0], pieces[i, 1]
    system, row, rows = sharing
    L, strips = uintp(parent.size), cuts(width, item)
    for begin in range(first, last, chunk):
        end = min(begin + chunk, last)
        for b in range(uintp(system.size)):
            for v in range(begin, end):
                here, above = (b * L + v) * width, (b * L + parent[v]) * width
                coefficient = (system[b] * rows + row[v]) * width
                places = (here, above, coefficient, (system[b] * L + v) * width)
                edge = parent[v] != L
                over_strips(unit, strips, factored_strip, (unit, edge, tables, sums, places))


@inlined
def factored_strip(like, at, unit, edge, tables, sums, places):
    a, left, right = tables[0] + at, tables[1] + at, tables[2] + at
    here, above, coefficient, total = places
    conjugate, pivot = -unit.real, sums[1] + total + at
    eta, xi = load(like, left + here), load(like, right + here)
    if edge:
        left_p, right_p = load(like, left + above), load(like, right + above)
        a_v = load(like, a + coefficient)
        xi = subtract_product(xi, a_v, right_p, conjugate)
        eta = subtract_product(eta, a_v, left_p, conjugate)
        out = sums[0] + total + at
        sent = add_product(load(like, out), eta, right_p, conjugate)
        store(add_product(sent, xi, left_p, conjugate), out)
    store(subtract_real_products(load(like, pivot), eta, xi), pivot)
