"""The sweeps of `diagonal_sweeps` for a single channel, where there is nothing to vectorise.

Flat arrays; node v of system b is element b·L + v, an edge b·E + v; `system[b]` is the matrix of
right-hand side b. Indices are unsigned, which spares the kernels the handling of negative ones.
"""

import numpy as np
from numba import types, uintp
from numba.extending import overload

from myosotis.compiled import kernel
from myosotis.linalg.kernels.team import deal_out

__all__ = ["eliminate", "sweep"]


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
def eliminate(team, pieces, *arguments):
    """inverse, which holds a at first, becomes 1/â; down = −b/â, up = −c/â.

    Arguments: tree; b; c; inverse; down; up; `singular`, whose element becomes 1 if a pivot is
    zero.
    """
    deal_out(team, pieces, eliminate_piece, arguments)


@kernel
def eliminate_piece(pieces, tree, b, c, inverse, down, up, singular, i):
    first, last = pieces[i, 0], pieces[i, 1]
    parent = tree[0]
    L, zeros = uintp(parent.size), 0
    E = uintp(b.size) // (uintp(inverse.size) // L)
    for s in range(first, last):
        base, edges = s * L, s * E
        for v in range(L):
            pivot = inverse[base + v]
            zeros += pivot == 0
            inverted = reciprocal(pivot)
            inverse[base + v] = inverted
            if v < E:
                low = -b[edges + v] * inverted
                down[edges + v] = low
                up[edges + v] = -c[edges + v] * inverted
                inverse[base + parent[v]] += c[edges + v] * low
    if zeros > 0:
        singular[0] = 1


@kernel
def sweep(team, pieces, *arguments):
    """Overwrite u by x: ũ_p = u_p + Σ_c up_c ũ_c, then x_v = inverse_v ũ_v + down_v x_p.

    Nodes send to their parents one by one: a loop over children of ever changing length would
    cost more in mispredicted branches than the arithmetic. Arguments: tree; system; inverse;
    down; up; whether these are conjugated; x.
    """
    deal_out(team, pieces, sweep_piece, arguments)


@kernel
def sweep_piece(pieces, tree, system, inverse, down, up, conjugate, x, i):
    first, last = pieces[i, 0], pieces[i, 1]
    parent = tree[0]
    L = uintp(parent.size)
    E = uintp(down.size) // (uintp(inverse.size) // L)
    for b in range(first, last):
        base, pivots, edges = b * L, system[b] * L, system[b] * E
        for v in range(E):
            factor = np.conj(up[edges + v]) if conjugate else up[edges + v]
            x[base + parent[v]] += factor * x[base + v]
        v = L
        while v != uintp(0):
            v -= uintp(1)
            own = inverse[pivots + v]
            total = (np.conj(own) if conjugate else own) * x[base + v]
            if v < E:
                factor = np.conj(down[edges + v]) if conjugate else down[edges + v]
                total += factor * x[base + parent[v]]
            x[base + v] = total
