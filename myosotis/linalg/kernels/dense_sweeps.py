"""Sweeps over small dense blocks, one node at a time, each pivot factored by LU in place.

Blocks are arrays (systems, nodes, d, d), right-hand sides (systems, nodes, d, r); `system[b]` is
the matrix of right-hand side b. With B̂ = −Â⁻¹ B as `down`:

    T x = u       up   x_v = Â_v⁻¹ (u_v − Σ_c C_c x_c)         down   x_v += B̂_v x_p
    T^H x = u     up   x_v = u_v + Σ_c B̂_c^H x_c               down   x_v = Â_v^-H (x_v − C_v^H x_p)

Indices are unsigned, which spares the kernels the handling of negative ones.
"""

import numpy as np
from numba import uintp

from myosotis.linalg.kernels.compile import kernel

__all__ = ["eliminate", "outer", "substitute", "substitute_adjoint"]


@kernel
def eliminate(tree, lu, B, C, down, swaps, singular, first, last):
    """LU of Â in place of A, and down = −Â⁻¹ B, for systems first … last.

    Marks pivots without an inverse in `singular` (systems, L).
    """
    _, first_child, num_children, _ = tree
    L, E, d = uintp(lu.shape[1]), uintp(B.shape[1]), uintp(lu.shape[2])
    for s in range(first, last):
        for v in range(L):
            c = first_child[v]
            for _ in range(num_children[v]):
                add_product(lu, s, v, C, s, c, down, s, c, 1, False)
                c += uintp(1)
            singular[s, v] = factor_pivot(lu, swaps, s, v)
            if v < E:
                for i in range(d):
                    for j in range(d):
                        down[s, v, i, j] = -B[s, v, i, j]
                solve_pivot(lu, swaps, s, v, down, s, v)


@kernel
def substitute(tree, system, lu, swaps, C, down, x, first, last):
    """Overwrite the right-hand sides x of systems first … last by the solutions of T x = u."""
    parent, first_child, num_children, _ = tree
    L = uintp(parent.size)
    for b in range(first, last):
        s = system[b]
        for v in range(L):
            c = first_child[v]
            for _ in range(num_children[v]):
                add_product(x, b, v, C, s, c, x, b, c, -1, False)
                c += uintp(1)
            solve_pivot(lu, swaps, s, v, x, b, v)
        v = uintp(down.shape[1])
        while v != uintp(0):
            v -= uintp(1)
            add_product(x, b, v, down, s, v, x, b, parent[v], 1, False)


@kernel
def substitute_adjoint(tree, system, lu, swaps, C, down, x, first, last):
    """Overwrite the right-hand sides x of systems first … last by the solutions of T^H x = u."""
    parent, first_child, num_children, _ = tree
    L = uintp(parent.size)
    for b in range(first, last):
        s = system[b]
        for v in range(L):
            c = first_child[v]
            for _ in range(num_children[v]):
                add_product(x, b, v, down, s, c, x, b, c, 1, True)
                c += uintp(1)
        v = L
        while v != uintp(0):
            v -= uintp(1)
            if parent[v] != L:
                add_product(x, b, v, C, s, v, x, b, parent[v], -1, True)
            solve_pivot_adjoint(lu, swaps, s, v, x, b, v)


@kernel
def add_product(out, a, o, M, s, m, X, b, w, sign, adjoint):
    """out[a, o] += sign · M[s, m] @ X[b, w], with the conjugate transpose of M if adjoint."""
    d, r = uintp(X.shape[2]), uintp(X.shape[3])
    for i in range(d):
        for k in range(d):
            factor = sign * (np.conj(M[s, m, k, i]) if adjoint else M[s, m, i, k])
            for j in range(r):
                out[a, o, i, j] += factor * X[b, w, k, j]


@kernel
def factor_pivot(lu, swaps, s, v):
    """LU with partial pivoting of lu[s, v] in place; whether a pivot was zero."""
    d, singular = uintp(lu.shape[2]), False
    for k in range(d):
        best = k
        for i in range(k + uintp(1), d):
            if magnitude(lu[s, v, i, k]) > magnitude(lu[s, v, best, k]):
                best = i
        swaps[s, v, k] = best
        if best != k:
            for j in range(d):
                lu[s, v, k, j], lu[s, v, best, j] = lu[s, v, best, j], lu[s, v, k, j]
        singular |= lu[s, v, k, k] == 0
        for i in range(k + uintp(1), d):
            factor = lu[s, v, i, k] / lu[s, v, k, k]
            lu[s, v, i, k] = factor
            for j in range(k + uintp(1), d):
                lu[s, v, i, j] -= factor * lu[s, v, k, j]
    return singular


@kernel
def magnitude(z):
    """The size by which pivots are compared, cheaper than the absolute value."""
    return abs(z.real) + abs(z.imag)


@kernel
def solve_pivot(lu, swaps, s, v, X, b, w):
    """X[b, w] = Â_v⁻¹ X[b, w]."""
    d, r = uintp(X.shape[2]), uintp(X.shape[3])
    for k in range(d):
        swap_rows(X, b, w, k, uintp(swaps[s, v, k]))
    for i in range(d):
        for k in range(i):
            for j in range(r):
                X[b, w, i, j] -= lu[s, v, i, k] * X[b, w, k, j]
    i = d
    while i != uintp(0):
        i -= uintp(1)
        for k in range(i + uintp(1), d):
            for j in range(r):
                X[b, w, i, j] -= lu[s, v, i, k] * X[b, w, k, j]
        for j in range(r):
            X[b, w, i, j] /= lu[s, v, i, i]


@kernel
def solve_pivot_adjoint(lu, swaps, s, v, X, b, w):
    """X[b, w] = Â_v^-H X[b, w]."""
    d, r = uintp(X.shape[2]), uintp(X.shape[3])
    for i in range(d):
        for k in range(i):
            for j in range(r):
                X[b, w, i, j] -= np.conj(lu[s, v, k, i]) * X[b, w, k, j]
        for j in range(r):
            X[b, w, i, j] /= np.conj(lu[s, v, i, i])
    i = d
    while i != uintp(0):
        i -= uintp(1)
        for k in range(i + uintp(1), d):
            for j in range(r):
                X[b, w, i, j] -= np.conj(lu[s, v, k, i]) * X[b, w, k, j]
    k = d
    while k != uintp(0):
        k -= uintp(1)
        swap_rows(X, b, w, k, uintp(swaps[s, v, k]))


@kernel
def swap_rows(X, b, w, i, k):
    """Exchange rows i and k of X[b, w]."""
    if i != k:
        for j in range(uintp(X.shape[3])):
            X[b, w, i, j], X[b, w, k, j] = X[b, w, k, j], X[b, w, i, j]


@kernel
def outer(parent, system, left, right, A, B, C, first, last):
    """Subtract left_v right_v^H, left_v right_p^H, left_p right_v^H of nodes first … last.

    A (systems, L, d, d), B and C (systems, E, d, d); summed over the right-hand sides of a system.
    """
    E = uintp(B.shape[1])
    for b in range(uintp(system.size)):
        s = system[b]
        for v in range(first, last):
            subtract_outer(A, s, v, left, right, b, v, v)
            if v < E:
                subtract_outer(B, s, v, left, right, b, v, parent[v])
                subtract_outer(C, s, v, left, right, b, parent[v], v)


@kernel
def subtract_outer(out, s, v, left, right, b, i_node, j_node):
    """out[s, v] −= left[b, i_node] @ right[b, j_node]^H."""
    d, r = uintp(left.shape[2]), uintp(left.shape[3])
    for i in range(d):
        for j in range(d):
            total = out[s, v, i, j]
            for k in range(r):
                total -= left[b, i_node, i, k] * np.conj(right[b, j_node, j, k])
            out[s, v, i, j] = total
