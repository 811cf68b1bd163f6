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

from myosotis.compiled import kernel
from myosotis.linalg.kernels.rows import combine, combine_away, fence, invert, reduce
from myosotis.linalg.kernels.team import deal_out

__all__ = ["eliminate", "factored_outer", "outer", "sweep"]


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
    system, row, pivot_rows, edge_rows, one = sharing
    n, offset = high - low, low * item
    u, x = ends[0] + offset, ends[1] + offset
    parent, first_child, num_children, levels = tree
    inverse, down, up = tables
    if one is None:
        inverse, down, up = inverse + offset, down + offset, up + offset
    L, zero = uintp(parent.size), uintp(0)
    for g in range(first, last, group):
        stop = min(g + group, last)
        for v in range(L):
            children = num_children[v]
            if children != zero:  # a leaf has ũ = u: nothing to write on the way up
                for b in range(g, stop):
                    table = (up + system[b] * edge_rows * step, step, one, signs[2])
                    base, family = b * L * width, (v, first_child[v], children)
                    receive(family, num_children, row, unit, table, u + base, x + base, width, n)
        level = uintp(levels.size) - uintp(1)
        while level != zero:
            level -= uintp(1)
            for v in range(levels[level], levels[level + uintp(1)]):
                p = parent[v]
                source = u if num_children[v] == zero else x
                for b in range(g, stop):
                    here = (b * L + v) * width
                    pivot = (system[b] * pivot_rows + row[v]) * step
                    own = (inverse + pivot, source + here, signs[0])
                    if p == L:
                        combine(unit, x + here, None, n, (own,), one)
                    else:
                        edge = (system[b] * edge_rows + row[v]) * step
                        above = (down + edge, x + (b * L + p) * width, signs[1])
                        if away and num_children[v] == zero:
                            combine_away(unit, x + here, None, n, (own, above), one)
                        else:
                            combine(unit, x + here, None, n, (own, above), one)
    fence()


@kernel
def receive(family, num_children, row, unit, table, u, x, width, n):
    """ũ_v = u_v + Σ_c up_c ũ_c, four children at a time. family: (v, first child, how many)."""
    v, c, left = family
    up, step, one, sign = table
    zero, four = uintp(0), uintp(4)
    out, start = x + v * width, u + v * width
    while left != zero:
        c1, c2, c3 = c + uintp(1), c + uintp(2), c + uintp(3)
        t0 = (up + row[c] * step, (u if num_children[c] == zero else x) + c * width, sign)
        if left >= four:
            t1 = (up + row[c1] * step, (u if num_children[c1] == zero else x) + c1 * width, sign)
            t2 = (up + row[c2] * step, (u if num_children[c2] == zero else x) + c2 * width, sign)
            t3 = (up + row[c3] * step, (u if num_children[c3] == zero else x) + c3 * width, sign)
            combine(unit, out, start, n, (t0, t1, t2, t3), one)
            c, left = c + four, left - four
        else:
            combine(unit, out, start, n, (t0,), one)
            c, left = c + uintp(1), left - uintp(1)
        start = out


@kernel
def outer(team, pieces, *arguments):
    """Subtract left_v right_v^H, left_v right_p^H, left_p right_v^H, summed over systems.

    For the nodes of each piece, `chunk` at a time: within a chunk every system is read in one go.
    Arguments: parent; unit; system; addresses of left, right; addresses of the three tables
    (·, L, H), (·, edges, H), (·, edges, H); edges; bytes of a row; number of channels; chunk.
    """
    deal_out(team, pieces, outer_piece, arguments)


@kernel
def outer_piece(pieces, parent, unit, system, ends, products, edges, width, n, chunk, i):
    first, last = pieces[i, 0], pieces[i, 1]
    left, right = ends
    diagonal, lower, upper = products
    L, conjugate = uintp(parent.size), -unit.real
    for begin in range(first, last, chunk):
        end = min(begin + chunk, last)
        for b in range(uintp(system.size)):
            for v in range(begin, end):
                here = (b * L + v) * width
                at = diagonal + (system[b] * L + v) * width
                reduce(unit, at, at, n, ((right + here, left + here, conjugate),))
                if v < edges:
                    edge, above = (system[b] * edges + v) * width, (b * L + parent[v]) * width
                    at = lower + edge
                    reduce(unit, at, at, n, ((right + above, left + here, conjugate),))
                    at = upper + edge
                    reduce(unit, at, at, n, ((right + here, left + above, conjugate),))


@kernel
def factored_outer(team, pieces, *arguments):
    """η̄_v right_p + left_p ξ̄_v and −η_v ξ̄_v of the nodes of each piece, summed over systems.

    ξ_v = right_v − ā_v right_p, η_v = left_v − ā_v left_p. Arguments: parent; unit; sharing
    (system, row, rows) of the table a; addresses of a, left, right; of the two tables of sums
    (·, L, H); of two rows of scratch for each piece; bytes of a row; number of channels; chunk.
    """
    deal_out(team, pieces, factored_outer_piece, arguments)


@kernel
def factored_outer_piece(pieces, parent, unit, sharing, tables, sums, scratch, width, n, chunk, i):
    first, last = pieces[i, 0], pieces[i, 1]
    system, row, rows = sharing
    a, left, right = tables
    edge_sums, pivot_sums = sums
    xi = scratch + uintp(2) * i * width
    eta = xi + width
    L, conjugate = uintp(parent.size), -unit.real
    for begin in range(first, last, chunk):
        end = min(begin + chunk, last)
        for b in range(uintp(system.size)):
            for v in range(begin, end):
                here, total = (b * L + v) * width, (system[b] * L + v) * width
                x, lam, pivot = right + here, left + here, pivot_sums + total
                if parent[v] == L:
                    reduce(unit, pivot, pivot, n, ((x, lam, conjugate),))
                    continue
                above, edge = (b * L + parent[v]) * width, edge_sums + total
                x_p, lam_p = right + above, left + above
                a_v = a + (system[b] * rows + row[v]) * width
                reduce(unit, xi, x, n, ((a_v, x_p, conjugate),))
                reduce(unit, eta, lam, n, ((a_v, lam_p, conjugate),))
                reduce(unit, pivot, pivot, n, ((xi, eta, conjugate),))
                combine(unit, edge, edge, n, ((eta, x_p, conjugate), (xi, lam_p, conjugate)), None)
