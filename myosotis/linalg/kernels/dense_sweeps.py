"""Sweeps over small dense blocks, one node at a time, each pivot factored by LU in place.

Blocks are d×d matrices stored row by row; block v of matrix s is number s·L + v, that of an edge
s·E + v. Right-hand sides are counted through the batch and the r columns of u (batch, L, d, r); n
of them that share a matrix go side by side, each node having d rows of n numbers. `system[b]` is
the matrix of sample b. With Ĝ = Â⁻¹ B as `down`:

    T x = u       up   x_v = Â_v⁻¹ (u_v − Σ_c C_c x_c)         down   x_v −= Ĝ_v x_p
    T^H x = u     up   x_v = u_v − Σ_c Ĝ_c^H x_c               down   x_v = Â_v^-H (x_v − C_v^H x_p)

As in `diagonal_sweeps`, `unit` is any number of the dtype, and all sizes are unsigned. Tables are
passed by their addresses; `item` is the number of bytes of a number.
"""

import numpy as np
from numba import uintp

from myosotis.compiled import kernel
from myosotis.linalg.kernels.panels import subtract
from myosotis.linalg.kernels.rows import combine
from myosotis.linalg.kernels.team import deal_out

__all__ = ["eliminate", "outer", "substitute", "substitute_adjoint"]


@kernel
def eliminate(team, pieces, *arguments):
    """LU of Â, its diagonal inverted, in place of A, and Ĝ in place of B, of each piece's matrices.

    Arguments: tree; unit; flat arrays A and B; addresses of A, B, C; (E, d, item); the flat array
    of row exchanges; `singular`, where a node without an inverse pivot is marked.
    """
    deal_out(team, pieces, eliminate_piece, arguments)


@kernel
def eliminate_piece(pieces, tree, unit, A, B, tables, sizes, swaps, singular, i):
    parent = tree[0]
    A_start, B_start, C_start = tables
    E, d, item = sizes
    L, size = uintp(parent.size), d * d * item
    for s in range(pieces[i, 0], pieces[i, 1]):
        for v in range(L):
            node, edge = s * L + v, s * E + v
            lu, G = A_start + node * size, B_start + edge * size
            for k in range(d):
                best = choose_row(A, node * d * d, k, d)
                swaps[node * d + k] = best
                swap_rows(A, (node * d + k) * d, (node * d + best) * d, d)
                if v < E:
                    swap_rows(B, (edge * d + k) * d, (edge * d + best) * d, d)
                singular[node] |= A[(node * d + k) * d + k] == 0
                eliminate_below(unit, A, node * d * d, lu, k, d, item)
            if v < E:
                solve_lu(unit, lu, G, d, d, item)
                above = A_start + (s * L + parent[v]) * size
                subtract_product(unit, above, C_start + edge * size, G, d, d, item)


@kernel
def choose_row(A, m, k, d):
    """The row from k on with the largest entry in column k."""
    best, largest = k, magnitude(A[m + k * d + k])
    for i in range(k + uintp(1), d):
        if magnitude(A[m + i * d + k]) > largest:
            best, largest = i, magnitude(A[m + i * d + k])
    return best


@kernel
def magnitude(z):
    """The size by which pivots are compared, cheaper than the absolute value."""
    return abs(z.real) + abs(z.imag)


@kernel
def swap_rows(X, first, second, n):
    """Exchange n numbers that begin at `first` with those at `second`."""
    if first != second:
        for j in range(n):
            X[first + j], X[second + j] = X[second + j], X[first + j]


@kernel
def eliminate_below(unit, A, m, lu, k, d, item):
    """Invert the k-th pivot of the block at element m and take its row off those below."""
    one = uintp(1)
    inverse = 1 / A[m + k * d + k]
    A[m + k * d + k] = inverse
    right = lu + (k * d + k + one) * item
    for i in range(k + one, d):
        A[m + i * d + k] *= inverse
        factor = lu + (i * d + k) * item
        below = factor + item
        subtract(unit, below, d - k - one, one, (factor, item), (right, item), unit.real)


@kernel
def solve_lu(unit, lu, X, d, n, item):
    """X = Â⁻¹ X for d rows of n numbers, already exchanged as the pivots were."""
    row, one, plus = n * item, uintp(1), unit.real
    for i in range(one, d):
        subtract(unit, X + i * row, n, i, (lu + i * d * item, item), (X, row), plus)
    i = d
    while i != uintp(0):
        i -= one
        here, diagonal = X + i * row, lu + (i * d + i) * item
        subtract(unit, here, n, d - i - one, (diagonal + item, item), (here + row, row), plus)
        combine(unit, here, None, n, ((diagonal, here, plus),), True)


@kernel
def solve_lu_adjoint(unit, lu, X, d, n, item):
    """X = (L U)^-H X for d rows of n numbers; the row exchanges are still to be undone."""
    row, one, minus = n * item, uintp(1), -unit.real
    for i in range(d):
        here, column = X + i * row, lu + i * item
        subtract(unit, here, n, i, (column, d * item), (X, row), minus)
        combine(unit, here, None, n, ((column + i * d * item, here, minus),), True)
    i = d - one
    while i != uintp(0):
        i -= one
        here, below = X + i * row, lu + ((i + one) * d + i) * item
        subtract(unit, here, n, d - i - one, (below, d * item), (here + row, row), minus)


@kernel
def subtract_product(unit, out, M, X, d, n, item):
    """out −= M X for d rows of n numbers."""
    for i in range(d):
        coefficients = (M + i * d * item, item)
        subtract(unit, out + i * n * item, n, d, coefficients, (X, n * item), unit.real)


@kernel
def subtract_product_adjoint(unit, out, M, X, d, n, item):
    """out −= M^H X for d rows of n numbers."""
    for i in range(d):
        coefficients = (M + i * item, d * item)
        subtract(unit, out + i * n * item, n, d, coefficients, (X, n * item), -unit.real)


@kernel
def substitute(team, pieces, *arguments):
    """Solve T x = u for the right-hand sides of each piece.

    Arguments: tree; unit; system; addresses of LU, C, Ĝ; (E, d, r, n, item); the flat array of
    row exchanges; flat arrays u, x.
    """
    deal_out(team, pieces, substitute_piece, arguments)


@kernel
def substitute_piece(pieces, tree, unit, system, tables, sizes, swaps, u, x, i):
    parent = tree[0]
    lu, C, down = tables
    E, d, r, n, item = sizes
    L, size, width = uintp(parent.size), d * d * item, d * n * item
    sides = np.empty(L * d * n, x.dtype)
    X = sides.ctypes.data
    for g in range(pieces[i, 0], pieces[i, 1], n):
        s = system[g // r]
        starts = side_starts((g, min(g + n, pieces[i, 1])), n, (L, d, r))
        load_sides(sides, u, starts, (L, d, r))
        for v in range(L):
            for k in range(d):
                first, second = (v * d + k) * n, (v * d + swaps[(s * L + v) * d + k]) * n
                swap_rows(sides, first, second, n)
            solve_lu(unit, lu + (s * L + v) * size, X + v * width, d, n, item)
            if v < E:
                above, edge = X + parent[v] * width, C + (s * E + v) * size
                subtract_product(unit, above, edge, X + v * width, d, n, item)
        v = E
        while v != uintp(0):
            v -= uintp(1)
            edge, above = down + (s * E + v) * size, X + parent[v] * width
            subtract_product(unit, X + v * width, edge, above, d, n, item)
        store_sides(x, sides, starts, (L, d, r))


@kernel
def substitute_adjoint(team, pieces, *arguments):
    """As `substitute`, for T^H x = u."""
    deal_out(team, pieces, substitute_adjoint_piece, arguments)


@kernel
def substitute_adjoint_piece(pieces, tree, unit, system, tables, sizes, swaps, u, x, i):
    parent = tree[0]
    lu, C, down = tables
    E, d, r, n, item = sizes
    L, size, width = uintp(parent.size), d * d * item, d * n * item
    sides = np.empty(L * d * n, x.dtype)
    X = sides.ctypes.data
    for g in range(pieces[i, 0], pieces[i, 1], n):
        s = system[g // r]
        starts = side_starts((g, min(g + n, pieces[i, 1])), n, (L, d, r))
        load_sides(sides, u, starts, (L, d, r))
        for v in range(E):
            edge, above = down + (s * E + v) * size, X + parent[v] * width
            subtract_product_adjoint(unit, above, edge, X + v * width, d, n, item)
        v = L
        while v != uintp(0):
            v -= uintp(1)
            here = X + v * width
            if v < E:
                above, edge = X + parent[v] * width, C + (s * E + v) * size
                subtract_product_adjoint(unit, here, edge, above, d, n, item)
            solve_lu_adjoint(unit, lu + (s * L + v) * size, here, d, n, item)
            k = d
            while k != uintp(0):
                k -= uintp(1)
                first, second = (v * d + k) * n, (v * d + swaps[(s * L + v) * d + k]) * n
                swap_rows(sides, first, second, n)
        store_sides(x, sides, starts, (L, d, r))


@kernel
def side_starts(group, n, sizes):
    """Where in u the right-hand sides of a group begin; spare places stand for the last."""
    first, last = group
    L, d, r = sizes
    starts = np.empty(n, np.uint64)
    for j in range(n):
        side = min(first + j, last - uintp(1))
        starts[j] = (side // r) * L * d * r + side % r
    return starts


@kernel
def load_sides(sides, u, starts, sizes):
    """Put right-hand sides side by side."""
    L, d, r = sizes
    n = uintp(starts.size)
    for v in range(L):
        for j in range(n):
            start = starts[j] + v * d * r
            for k in range(d):
                sides[(v * d + k) * n + j] = u[start + k * r]


@kernel
def store_sides(x, sides, starts, sizes):
    """Put solutions where they belong."""
    L, d, r = sizes
    n = uintp(starts.size)
    for v in range(L):
        for j in range(n):
            start = starts[j] + v * d * r
            for k in range(d):
                x[start + k * r] = sides[(v * d + k) * n + j]


@kernel
def outer(team, pieces, *arguments):
    """Subtract left_v right_v^H, left_v right_p^H, left_p right_v^H of the nodes of each piece.

    Summed over the right-hand sides of a matrix. Arguments: parent; (d, columns of left and
    right); system; flat arrays left, right, and those of the three results.
    """
    deal_out(team, pieces, outer_piece, arguments)


@kernel
def outer_piece(pieces, parent, sizes, system, left, right, A, B, C, i):
    d, r = sizes
    L, dd, size = uintp(parent.size), d * d, d * r
    E = uintp(B.size) // (uintp(A.size) // L)
    for b in range(uintp(system.size)):
        s = system[b]
        for v in range(pieces[i, 0], pieces[i, 1]):
            here = (b * L + v) * size
            subtract_outer(A, (s * L + v) * dd, left, here, right, here, d, r)
            if v < E:
                above, edge = (b * L + parent[v]) * size, (s * E + v) * dd
                subtract_outer(B, edge, left, here, right, above, d, r)
                subtract_outer(C, edge, left, above, right, here, d, r)


@kernel
def subtract_outer(out, o, left, i_block, right, j_block, d, r):
    """out −= left @ right^H for d×r blocks."""
    for i in range(d):
        for j in range(d):
            total = out[o + i * d + j]
            for k in range(r):
                total -= left[i_block + i * r + k] * np.conj(right[j_block + j * r + k])
            out[o + i * d + j] = total
