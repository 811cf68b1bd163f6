"""Many systems of small dense blocks at once, each in its own lane of the vector instructions.

Sixteen systems go through the tree together; every entry of their blocks is a vector of as many
numbers. A node is eliminated by Gauss–Jordan steps on the rows [Â | B | ũ], each lane choosing its
own pivots, which leaves [Ĝ | û] = Â⁻¹ [B | ũ]; C_v times that goes to the parent, and on the way
down x_v = û_v − Ĝ_v x_p. Nothing else is kept: the factor is never written down.
"""

import numpy as np
from numba import uintp

from myosotis.compiled import kernel
from myosotis.linalg.kernels.panels import exchange, subtract_each
from myosotis.linalg.kernels.rows import combine, invert, prefetch
from myosotis.linalg.kernels.team import deal_out
from myosotis.linalg.kernels.vectors import LANES

__all__ = ["solve"]

W = LANES
AHEAD = 8  # blocks: so many streams at once are more than the hardware fetches ahead by itself


@kernel
def solve(team, pieces, *arguments):
    """Solve the systems of each piece.

    Arguments: tree; unit; flat arrays A, B, C; elements from one matrix to the next in each; flat
    arrays u, x; (E, d, r); `singular`, whose element becomes 1 if a pivot is zero.
    """
    deal_out(team, pieces, solve_piece, arguments)


@kernel
def solve_piece(pieces, tree, unit, blocks, apart, u, x, sizes, singular, i):
    first, last = pieces[i, 0], pieces[i, 1]
    _, d, r = sizes
    kept = np.empty(uintp(tree[0].size) * d * (d + r) * uintp(W), x.dtype)
    for g in range(first, last, uintp(W)):
        kept[:] = 0
        group = (g, min(g + uintp(W), last))
        if climb(tree, unit, blocks, apart, u, kept, sizes, group):
            singular[0] = 1
        descend(tree, unit, kept, x, sizes, group)


@kernel
def climb(tree, unit, blocks, apart, u, kept, sizes, group):
    """Leave [Ĝ | û] of every node in `kept`, zero before; whether a pivot was zero."""
    parent = tree[0]
    A, B, C = blocks
    E, d, r = sizes
    L, lanes, item = uintp(parent.size), uintp(W), uintp(u.itemsize)
    vector, width, singular = lanes * item, d + r, False
    panel = d * width * lanes
    work, edge = np.empty(d * (d + width) * lanes, u.dtype), np.empty(d * d * lanes, u.dtype)
    for v in range(L):
        here = v * panel
        load_node(work, A, B, u, apart, group, (v, L, E), (d, r))
        add_received(work, kept, here, d, width)
        singular |= reduce_rows(unit, work, d, d + width, vector)
        for k in range(d):
            row, target = (k * (d + width) + d) * lanes, here + k * width * lanes
            for j in range(width * lanes):
                kept[target + j] = work[row + j]
        if v < E:
            load(edge, uintp(0), C, v * d * d, apart[2], group, d * d)
            above = kept.ctypes.data + parent[v] * panel * item
            sent = (kept.ctypes.data + here * item, width * vector)
            for k in range(d):
                factors, out = (
                    (edge.ctypes.data + k * d * vector, vector),
                    above + k * width * vector,
                )
                subtract_each(unit, out, width * lanes, d, factors, sent, unit.real)
    return singular


@kernel
def descend(tree, unit, kept, x, sizes, group):
    """x_v = û_v − Ĝ_v x_p, in `kept` and in x."""
    parent = tree[0]
    E, d, r = sizes
    v, lanes, width = uintp(parent.size), uintp(W), d + r
    vector, apart = lanes * uintp(x.itemsize), v * d * r
    while v != uintp(0):
        v -= uintp(1)
        for k in range(d):
            column = (v * d + k) * width
            if v < E:
                factors = (kept.ctypes.data + column * vector, vector)
                solution = factors[0] + d * vector
                above = kept.ctypes.data + (parent[v] * d * width + d) * vector
                subtract_each(
                    unit, solution, r * lanes, d, factors, (above, width * vector), unit.real
                )
            store(x, (v * d + k) * r, apart, kept, column + d, group, r)


@kernel
def reduce_rows(unit, work, d, width, vector):
    """Bring the first d columns of d rows to the identity; whether a pivot was zero."""
    start, row, lanes, one = work.ctypes.data, width * vector, uintp(W), uintp(1)
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
def load_node(work, A, B, u, apart, group, place, sizes):
    """Fill the rows [A | B | u] of node v; a root has zeros for B."""
    v, L, E = place
    d, r = sizes
    width = uintp(2) * d + r
    for k in range(d):
        row = k * width * uintp(W)
        load(work, row, A, (v * d + k) * d, apart[0], group, d)
        if v < E:
            load(work, row + d * uintp(W), B, (v * d + k) * d, apart[1], group, d)
        else:
            for j in range(d * uintp(W)):
                work[row + d * uintp(W) + j] = 0
        right = row + uintp(2) * d * uintp(W)
        load(work, right, u, (v * d + k) * r, L * d * r, group, r)


@kernel
def add_received(work, kept, here, d, width):
    """Add what children sent to Â and ũ."""
    lanes = uintp(W)
    for k in range(d):
        row, source = k * (d + width) * lanes, here + k * width * lanes
        for j in range(d * lanes):
            work[row + j] += kept[source + j]
        right, source = row + uintp(2) * d * lanes, source + d * lanes
        for j in range((width - d) * lanes):
            work[right + j] += kept[source + j]


@kernel
def load(out, start, source, element, apart, group, count):
    """Put `count` numbers of each system of the group into its lane; spare lanes get the last."""
    first, end = group
    ahead = source.ctypes.data + (element + uintp(AHEAD) * count) * uintp(source.itemsize)
    for lane in range(uintp(W)):
        b = min(first + lane, end - uintp(1))
        prefetch(ahead + b * apart * uintp(source.itemsize))
        for e in range(count):
            out[start + e * uintp(W) + lane] = source[b * apart + element + e]


@kernel
def store(out, element, apart, panel, column, group, count):
    """Take `count` numbers of each system of the group out of its lane."""
    first, end = group
    for b in range(first, end):
        for e in range(count):
            value = panel[(column + e) * uintp(W) + (b - first)]
            out[b * apart + element + e] = value
