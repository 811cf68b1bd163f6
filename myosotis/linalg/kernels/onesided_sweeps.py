"""Sweeps for b = 0, where nothing comes down the tree: recurrences from the leaves to the root.

    T x = u       up     x_v = (u_v − Σ_c c_c x_c) / a_v
    T^H x = u     down   x_v = (u_v − c̄_v x_p) / ā_v

Rows and arguments are as in `diagonal_sweeps`, but coefficients lie where the caller has them: a
table is (address, bytes from node to node, bytes from matrix to matrix), 0 where all share a row.
"""

from numba import uintp

from myosotis.compiled import kernel
from myosotis.linalg.kernels.rows import combine, reduce
from myosotis.linalg.kernels.team import deal_out

__all__ = ["climb", "descend"]


@kernel
def climb(team, pieces, *arguments):
    """Solve T x = u for the systems of each piece, in its channels, `group` at a time.

    Arguments: tree; unit; tables 1/a and c, the first None if a = 1; system; addresses of u and x;
    (bytes of a row of u, of a number); group.
    """
    deal_out(team, pieces, climb_piece, arguments)


@kernel
def climb_piece(pieces, tree, unit, inverse, c, system, ends, sizes_in_bytes, group, i):
    width, item = sizes_in_bytes
    offset, n = pieces[i, 0] * item, pieces[i, 1] - pieces[i, 0]
    u, x = ends[0] + offset, ends[1] + offset
    _, first_child, num_children, _ = tree
    L, last = uintp(num_children.size), pieces[i, 3]
    for g in range(pieces[i, 2], last, group):
        for v in range(L):
            for b in range(g, min(g + group, last)):
                base, s = x + b * L * width, system[b]
                here, start = base + v * width, u + (b * L + v) * width
                if num_children[v] == uintp(0) and inverse is None:
                    combine(unit, here, start, n, (), None)
                for child in range(first_child[v], first_child[v] + num_children[v]):
                    term = (
                        c[0] + child * c[1] + s * c[2] + offset,
                        base + child * width,
                        unit.real,
                    )
                    reduce(unit, here, start, n, (term,))
                    start = here
                if inverse is not None:
                    own = (inverse[0] + v * inverse[1] + s * inverse[2] + offset, start, unit.real)
                    combine(unit, here, None, n, (own,), None)


@kernel
def descend(team, pieces, *arguments):
    """As `climb`, for T^H x = u."""
    deal_out(team, pieces, descend_piece, arguments)


@kernel
def descend_piece(pieces, tree, unit, inverse, c, system, ends, sizes_in_bytes, group, i):
    width, item = sizes_in_bytes
    offset, n = pieces[i, 0] * item, pieces[i, 1] - pieces[i, 0]
    u, x = ends[0] + offset, ends[1] + offset
    parent, _, _, levels = tree
    L, last, minus = uintp(parent.size), pieces[i, 3], -unit.real
    for g in range(pieces[i, 2], last, group):
        level = uintp(levels.shape[0])
        while level != uintp(0):
            level -= uintp(1)
            for v in range(levels[level, 0], levels[level, 1]):
                for b in range(g, min(g + group, last)):
                    base, s = x + b * L * width, system[b]
                    here, start = base + v * width, u + (b * L + v) * width
                    if parent[v] != L:
                        factor = c[0] + v * c[1] + s * c[2] + offset
                        above = (factor, base + parent[v] * width, minus)
                        reduce(unit, here, start, n, (above,))
                        start = here
                    if inverse is not None:
                        own = inverse[0] + v * inverse[1] + s * inverse[2] + offset
                        combine(unit, here, None, n, ((own, start, minus),), None)
                    elif parent[v] == L:
                        combine(unit, here, start, n, (), None)
