"""The sweeps of `diagonal_sweeps` for a single channel, where there is nothing to vectorise.

Flat arrays; node v of system b is element b·L + v, an edge b·E + v; `system[b]` is the matrix of
right-hand side b. Indices are unsigned, which spares the kernels the handling of negative ones.
"""

import numpy as np
from numba import uintp

from myosotis.linalg.kernels.compile import kernel
from myosotis.linalg.kernels.diagonal_sweeps import reciprocal

__all__ = ["eliminate", "sweep"]


@kernel
def eliminate(tree, a, b, c, inverse, down, up, first, last):
    """inverse = 1/â, down = −b/â, up = −c/â; whether a pivot was zero."""
    _, first_child, num_children, _ = tree
    L, singular = uintp(num_children.size), False
    E = uintp(b.size) // (uintp(a.size) // L)
    for s in range(first, last):
        for v in range(L):
            pivot = a[s * L + v]
            child = s * E + first_child[v]
            for _ in range(num_children[v]):
                pivot += c[child] * down[child]
                child += uintp(1)
            singular |= pivot == 0
            inverted = reciprocal(pivot)
            inverse[s * L + v] = inverted
            if v < E:
                down[s * E + v] = -b[s * E + v] * inverted
                up[s * E + v] = -c[s * E + v] * inverted
    return singular


@kernel
def sweep(tree, system, inverse, down, up, conjugate, u, x, first, last):
    """ũ_p = u_p + Σ_c up_c ũ_c, then x_v = inverse_v ũ_v + down_v x_p, for systems first … last."""
    parent, first_child, num_children, _ = tree
    L = uintp(parent.size)
    E = uintp(down.size) // (uintp(inverse.size) // L)
    for b in range(first, last):
        base, pivots, edges = b * L, system[b] * L, system[b] * E
        for v in range(L):
            total = u[base + v]
            child = first_child[v]
            for _ in range(num_children[v]):
                factor = up[edges + child]
                total += (np.conj(factor) if conjugate else factor) * x[base + child]
                child += uintp(1)
            x[base + v] = total
        v = L
        while v != uintp(0):
            v -= uintp(1)
            factor = inverse[pivots + v]
            total = (np.conj(factor) if conjugate else factor) * x[base + v]
            if parent[v] != L:
                factor = down[edges + v]
                total += (np.conj(factor) if conjugate else factor) * x[base + parent[v]]
            x[base + v] = total
