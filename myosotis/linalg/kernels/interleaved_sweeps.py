"""Many systems of small dense blocks at once, each in its own lane of the vector instructions.

`LANES` systems go through the tree together; every entry of their blocks is a vector of as many
numbers. A node takes −C_c [Ĝ_c | û_c] from each of its children and is eliminated by Gauss–Jordan
steps on the rows [Â | ũ | B], each lane choosing its own pivots, which leaves [û | Ĝ] =
Â⁻¹ [ũ | B]; on the way down x_v = û_v − Ĝ_v x_p. Nothing else is kept: the factor is never written.
"""

import numpy as np
from numba import uintp

from myosotis.compiled import kernel
from myosotis.linalg.kernels.lanes import interleave, separate
from myosotis.linalg.kernels.panels import exchange, subtract_each
from myosotis.linalg.kernels.rows import combine, invert
from myosotis.linalg.kernels.strips import raise_flag
from myosotis.linalg.kernels.team import deal_out
from myosotis.linalg.kernels.vectors import LANES

__all__ = ["solve"]

W = LANES


@kernel
def solve(team, pieces, *arguments):
    """Solve the systems of each piece.

    Arguments: tree; unit; addresses of A, B, C; bytes from one matrix to the next in each;
    addresses of u, x; (E, d, r, bytes of a number); address of a byte that becomes 1 if a pivot is
    zero.
    """
    deal_out(team, pieces, solve_piece, arguments)


@kernel
def solve_piece(pieces, tree, unit, blocks, apart, ends, sizes, singular, i):
    first, last = pieces[i, 0], pieces[i, 1]
    _, d, r, item = sizes
    kept = np.empty(uintp(tree[0].size) * d * (d + r) * uintp(W) * item, np.uint8)
    for g in range(first, last, uintp(W)):
        group = (g, min(uintp(W), last - g))
        if climb(tree, unit, blocks, apart, ends[0], kept.ctypes.data, sizes, group):
            raise_flag(singular)
        descend(tree, unit, kept.ctypes.data, ends[1], sizes, group)


@kernel
def climb(tree, unit, blocks, apart, u, kept, sizes, group):
    """Leave [Ĝ | û] of every node in `kept`; whether a pivot was zero."""
    parent, first_child, num_children, _ = tree
    E, d, r, item = sizes
    L, vector, width, singular = uintp(parent.size), uintp(W) * item, d + r, False
    row, panel = width * vector, d * width * vector
    work = np.empty(d * (d + width) * vector, np.uint8)
    edge = np.empty(d * d * vector, np.uint8)
    for v in range(L):
        # In the loop: memory of an array is given back after the last line that names it.
        rows = (work.ctypes.data, (d + width) * vector)
        load_node(unit, rows, blocks, u, apart, group, (v, L, E), sizes)
        for c in range(first_child[v], first_child[v] + num_children[v]):
            sent = (blocks[2] + group[0] * apart[2] + c * d * d * item, apart[2], group[1])
            interleave(unit, (edge.ctypes.data, d * vector), (d, d), sent)
            below = (kept + c * panel, row)
            for k in range(d):
                factors = (edge.ctypes.data + k * d * vector, vector)
                out = rows[0] + k * rows[1]
                subtract_each(unit, out, width * uintp(W), d, factors, below, unit.real)
        edges = d if v < E else uintp(0)
        singular |= reduce_rows(unit, rows, d, width + edges, vector)
        for k in range(d):
            done, target = rows[0] + k * rows[1] + d * vector, kept + v * panel + k * row
            combine(unit, target + d * vector, done, r * uintp(W), (), None)
            combine(unit, target, done + r * vector, edges * uintp(W), (), None)
    return singular


@kernel
def descend(tree, unit, kept, x, sizes, group):
    """x_v = û_v − Ĝ_v x_p, in `kept` and in x."""
    parent = tree[0]
    E, d, r, item = sizes
    L, vector, width = uintp(parent.size), uintp(W) * item, d + r
    row, apart = width * vector, L * d * r * item
    v = L
    while v != uintp(0):
        v -= uintp(1)
        here = kept + v * d * row
        if v < E:
            above = (kept + parent[v] * d * row + d * vector, row)
            for k in range(d):
                factors = (here + k * row, vector)
                out = factors[0] + d * vector
                subtract_each(unit, out, r * uintp(W), d, factors, above, unit.real)
        to = (x + group[0] * apart + v * d * r * item, apart, group[1])
        separate(unit, (here + d * vector, row), (d, r), to)


@kernel
def reduce_rows(unit, rows, d, width, vector):
    """Bring the first d of `width` columns of d rows to the identity; whether a pivot was zero."""
    start, row = rows
    lanes, one = uintp(W), uintp(1)
    singular = False
    for k in range(d):
        diagonal = start + k * row + k * vector
        left = width - k  # columns that are not done
        for i in range(k + one, d):
            exchange(unit, diagonal, diagonal + (i - k) * row, left * lanes)
        singular |= invert(unit, diagonal, diagonal, lanes, ())
        for j in range(one, left):
            entry = diagonal + j * vector
            combine(unit, entry, None, lanes, ((diagonal, entry, unit.real),), None)
        right = diagonal + vector
        for i in range(d):
            if i != k:
                factor = start + i * row + k * vector
                rest = (left - one) * lanes
                subtract_each(
                    unit, factor + vector, rest, one, (factor, row), (right, row), unit.real
                )
    return singular


@kernel
def load_node(unit, rows, blocks, u, apart, group, place, sizes):
    """Fill the rows [A | u | B] of node v; a root has no B."""
    v, L, E = place
    _, d, r, item = sizes
    start, row, vector = rows[0], rows[1], uintp(W) * item
    first, count = group
    sides, block = d * r * item, d * d * item
    A = (blocks[0] + first * apart[0] + v * block, apart[0], count)
    interleave(unit, (start, row), (d, d), A)
    side = (u + first * L * sides + v * sides, L * sides, count)
    interleave(unit, (start + d * vector, row), (d, r), side)
    if v < E:
        B = (blocks[1] + first * apart[1] + v * block, apart[1], count)
        interleave(unit, (start + (d + r) * vector, row), (d, d), B)
