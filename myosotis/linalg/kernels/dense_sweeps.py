"""Sweeps over small dense blocks, one node at a time, each pivot factored by LU in place.

All arrays are flat. Blocks are d×d matrices, right-hand sides d×r ones, stored row by row; block v
of matrix s is number s·L + v, that of an edge s·E + v, and `system[b]` is the matrix of right-hand
side b. The sizes d and r come as the lengths of the tuples `block` and `columns`, and flags as None
or not None: both are then known when a kernel is compiled, and its loops are unrolled for them.
With B̂ = −Â⁻¹ B as `down`:

    T x = u       up   x_v = Â_v⁻¹ (u_v − Σ_c C_c x_c)         down   x_v += B̂_v x_p
    T^H x = u     up   x_v = u_v + Σ_c B̂_c^H x_c               down   x_v = Â_v^-H (x_v − C_v^H x_p)
"""

import numpy as np
from numba import uintp

from myosotis.linalg.kernels.compile import kernel

__all__ = ["eliminate", "outer", "substitute", "substitute_adjoint"]


@kernel
def eliminate(tree, block, lu, B, C, down, swaps, singular, first, last):
    """LU of Â in place of A, and down = −Â⁻¹ B, of matrices first … last.

    Marks pivots without an inverse in `singular`.
    """
    parent = tree[0]
    L, dd = uintp(parent.size), uintp(len(block) * len(block))
    E = uintp(B.size) // (uintp(lu.size) // L)
    for s in range(first, last):
        for v in range(L):
            pivot, edge = (s * L + v) * dd, (s * E + v) * dd
            singular[s * L + v] = factor_pivot(lu, swaps, pivot, (s * L + v), block)
            if v < E:
                for i in range(dd):
                    down[edge + i] = -B[edge + i]
                solve_pivot(lu, swaps, pivot, s * L + v, down, edge, block, block)
                above = (s * L + parent[v]) * dd
                add_product(lu, above, C, edge, down, edge, block, block, 1, None)


@kernel
def substitute(tree, block, columns, system, lu, swaps, C, down, x, first, last):
    """Overwrite right-hand sides first … last by the solutions of T x = u."""
    parent, d = tree[0], uintp(len(block))
    L, dd, size = uintp(parent.size), d * d, d * uintp(len(columns))
    E = uintp(down.size) // (uintp(lu.size) // L)
    for b in range(first, last):
        s = system[b]
        for v in range(L):
            here = (b * L + v) * size
            solve_pivot(lu, swaps, (s * L + v) * dd, s * L + v, x, here, block, columns)
            if v < E:
                above = (b * L + parent[v]) * size
                add_product(x, above, C, (s * E + v) * dd, x, here, block, columns, -1, None)
        v = E
        while v != uintp(0):
            v -= uintp(1)
            here, above = (b * L + v) * size, (b * L + parent[v]) * size
            add_product(x, here, down, (s * E + v) * dd, x, above, block, columns, 1, None)


@kernel
def substitute_adjoint(tree, block, columns, system, lu, swaps, C, down, x, first, last):
    """Overwrite right-hand sides first … last by the solutions of T^H x = u."""
    parent, d = tree[0], uintp(len(block))
    L, dd, size = uintp(parent.size), d * d, d * uintp(len(columns))
    E = uintp(down.size) // (uintp(lu.size) // L)
    for b in range(first, last):
        s = system[b]
        for v in range(E):
            here, above = (b * L + v) * size, (b * L + parent[v]) * size
            add_product(x, above, down, (s * E + v) * dd, x, here, block, columns, 1, True)
        v = L
        while v != uintp(0):
            v -= uintp(1)
            here = (b * L + v) * size
            if v < E:
                above = (b * L + parent[v]) * size
                add_product(x, here, C, (s * E + v) * dd, x, above, block, columns, -1, True)
            solve_pivot_adjoint(lu, swaps, (s * L + v) * dd, s * L + v, x, here, block, columns)


@kernel
def add_product(out, o, M, m, X, w, block, columns, sign, adjoint):
    """out += sign · M @ X, or M^H @ X; o, m and w are where the blocks begin."""
    d, r = uintp(len(block)), uintp(len(columns))
    for i in range(d):
        add_rows(out, o + i * r, M, m, i, X, w, uintp(0), d, block, columns, sign, adjoint)


@kernel
def add_rows(out, o, M, m, i, X, w, first, last, block, columns, sign, adjoint):
    """Add sign · Σ_k M_ik X_k, k = first … last−1, to the row that begins at o."""
    d, r = uintp(len(block)), uintp(len(columns))
    if len(columns) == 1:  # a single sum stays in a register
        total = out[o]
        for k in range(first, last):
            total += sign * entry(M, m, i, k, d, adjoint) * X[w + k]
        out[o] = total
    else:
        for k in range(first, last):
            factor = sign * entry(M, m, i, k, d, adjoint)
            for j in range(r):
                out[o + j] += factor * X[w + k * r + j]


@kernel
def entry(M, m, i, k, d, adjoint):
    """M_ik, or (M^H)_ik."""
    if adjoint is None:
        return M[m + i * d + k]
    return np.conj(M[m + k * d + i])


@kernel
def factor_pivot(lu, swaps, m, node, block):
    """LU with partial pivoting in place, the diagonal inverted; whether a pivot was zero."""
    d, one, singular = uintp(len(block)), uintp(1), False
    for k in range(d):
        best = k
        for i in range(k + one, d):
            if magnitude(lu[m + i * d + k]) > magnitude(lu[m + best * d + k]):
                best = i
        swaps[node * d + k] = best
        swap_rows(lu, m, k, best, block)
        singular |= lu[m + k * d + k] == 0
        inverse = 1 / lu[m + k * d + k]
        lu[m + k * d + k] = inverse
        for i in range(k + one, d):
            factor = lu[m + i * d + k] * inverse
            lu[m + i * d + k] = factor
            for j in range(k + one, d):
                lu[m + i * d + j] -= factor * lu[m + k * d + j]
    return singular


@kernel
def magnitude(z):
    """The size by which pivots are compared, cheaper than the absolute value."""
    return abs(z.real) + abs(z.imag)


@kernel
def solve_pivot(lu, swaps, m, node, X, w, block, columns):
    """X = Â⁻¹ X."""
    d, r, zero, one = uintp(len(block)), uintp(len(columns)), uintp(0), uintp(1)
    for k in range(d):
        swap_rows(X, w, k, uintp(swaps[node * d + k]), columns)
    for i in range(d):
        add_rows(X, w + i * r, lu, m, i, X, w, zero, i, block, columns, -1, None)
    for back in range(d):
        i = d - one - back
        add_rows(X, w + i * r, lu, m, i, X, w, i + one, d, block, columns, -1, None)
        for j in range(r):
            X[w + i * r + j] *= lu[m + i * d + i]


@kernel
def solve_pivot_adjoint(lu, swaps, m, node, X, w, block, columns):
    """X = Â^-H X."""
    d, r, zero, one = uintp(len(block)), uintp(len(columns)), uintp(0), uintp(1)
    for i in range(d):
        add_rows(X, w + i * r, lu, m, i, X, w, zero, i, block, columns, -1, True)
        for j in range(r):
            X[w + i * r + j] *= np.conj(lu[m + i * d + i])
    for back in range(d):
        i = d - one - back
        add_rows(X, w + i * r, lu, m, i, X, w, i + one, d, block, columns, -1, True)
    for back in range(d):
        k = d - one - back
        swap_rows(X, w, k, uintp(swaps[node * d + k]), columns)


@kernel
def swap_rows(X, w, i, k, columns):
    """Exchange rows i and k of the block that begins at w."""
    r = uintp(len(columns))
    if i != k:
        for j in range(r):
            X[w + i * r + j], X[w + k * r + j] = X[w + k * r + j], X[w + i * r + j]


@kernel
def outer(parent, block, r, system, left, right, A, B, C, first, last):
    """Subtract left_v right_v^H, left_v right_p^H, left_p right_v^H of nodes first … last.

    Summed over the right-hand sides of a matrix; r is their number of columns.
    """
    d = uintp(len(block))
    L, dd, size = uintp(parent.size), d * d, d * r
    E = uintp(B.size) // (uintp(A.size) // L)
    for b in range(uintp(system.size)):
        s = system[b]
        for v in range(first, last):
            here = (b * L + v) * size
            subtract_outer(A, (s * L + v) * dd, left, here, right, here, block, r)
            if v < E:
                above, edge = (b * L + parent[v]) * size, (s * E + v) * dd
                subtract_outer(B, edge, left, here, right, above, block, r)
                subtract_outer(C, edge, left, above, right, here, block, r)


@kernel
def subtract_outer(out, o, left, i_block, right, j_block, block, r):
    """out −= left @ right^H for d×r blocks."""
    d = uintp(len(block))
    for i in range(d):
        for j in range(d):
            total = out[o + i * d + j]
            for k in range(r):
                total -= left[i_block + i * r + k] * np.conj(right[j_block + j * r + k])
            out[o + i * d + j] = total
