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

from numba import types, uintp
from numba.extending import overload

from myosotis.linalg.kernels.compile import kernel
from myosotis.linalg.kernels.rows import combine, combine_away, fence, reduce

__all__ = ["eliminate", "factored_outer", "outer", "reciprocal", "sweep"]


@kernel
def eliminate(tree, unit, tables, pivots, edges, width, H, low, high, first, last):
    """inverse = 1/â, down = −b/â, up = −c/â in channels low … high of systems first … last.

    tables: addresses of channel `low` of inverse, which holds a at first, b, c, down and up;
    pivots: the table of inverses once more, as a flat array. Returns whether a pivot was zero.
    """
    _, first_child, num_children, _ = tree
    inverse, b, c, down, up = tables
    L, n, singular = uintp(num_children.size), high - low, False
    for s in range(first, last):
        for v in range(L):
            pivot, edge = (s * L + v) * width, (s * edges + v) * width
            child = (s * edges + first_child[v]) * width
            for _ in range(num_children[v]):
                term = (c + child, down + child, unit.real)
                combine(unit, inverse + pivot, inverse + pivot, n, (term,), None)
                child += width
            at = (s * L + v) * H
            singular |= invert(pivots, at + low, at + high)
            if v < edges:
                reduce(unit, down + edge, None, n, ((b + edge, inverse + pivot, unit.real),))
                reduce(unit, up + edge, None, n, ((c + edge, inverse + pivot, unit.real),))
    return singular


@kernel
def invert(pivots, low, high):
    """1/pivot in place; whether one of them was zero."""
    row, zeros = pivots[low:high], 0
    for z in row:
        zeros += z == 0
    for i in range(row.size):
        row[i] = reciprocal(row[i])
    return zeros > 0


def reciprocal(z):
    """1/z, for complex numbers scaled so that no square over- or underflows."""
    raise NotImplementedError


@overload(reciprocal, inline="always")
def _reciprocal(z):
    if not isinstance(z, types.Complex):
        return lambda z: 1 / z

    def complex_reciprocal(z):
        scale = 1 / max(abs(z.real), abs(z.imag))
        re, im = z.real * scale, z.imag * scale
        factor = scale / (re * re + im * im)
        return complex(re * factor, -im * factor)

    return complex_reciprocal


@kernel
def sweep(tree, unit, tables, sharing, signs, u, x, width, n, first, last, group, away):
    """Solve systems first … last in n channels, `group` systems at a time.

        up      ũ_p = u_p + Σ_c up_c ũ_c
        down    x_v = inverse_v ũ_v + down_v x_p

    tables: addresses of inverse, down, up; sharing: (system, row, pivot_rows, edge_rows, bytes of a
    row, None unless a row is one number for all channels); signs: those of inverse, down, up. A
    group goes through the tree together, so that coefficients which its systems share are read
    from memory once. Within a level nodes ascend both ways: memory is fetched ahead upwards only.
    away: whether leaves are written past the caches; their rows must then be aligned.
    """
    parent, first_child, num_children, levels = tree
    inverse, down, up = tables
    system, row, pivot_rows, edge_rows, step, one = sharing
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
def outer(parent, unit, system, left, right, products, edges, width, n, first, last, chunk):
    """Subtract left_v right_v^H, left_v right_p^H, left_p right_v^H, summed over systems.

    For nodes first … last, `chunk` at a time: within a chunk every system is read in one piece.
    products: addresses of the three tables (·, L, H), (·, edges, H), (·, edges, H).
    """
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
def factored_outer(parent, unit, sharing, tables, sums, scratch, width, n, first, last, chunk):
    """η̄_v right_p + left_p ξ̄_v and −η_v ξ̄_v of nodes first … last, summed over systems.

    ξ_v = right_v − ā_v right_p, η_v = left_v − ā_v left_p; sharing: (system, row, rows) of the
    table a; tables: addresses of a, left, right; sums: of the two tables (·, L, H); scratch: of
    two rows.
    """
    system, row, rows = sharing
    a, left, right = tables
    edge_sums, pivot_sums = sums
    xi, eta = scratch, scratch + width
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
