"""Scans and tridiagonal solvers for chains, as contenders."""

from typing import Any

import numpy as np
from torch import Tensor

from myosotis.bench.case import Contender, Work
from myosotis.bench.systems import DiagonalSystem
from myosotis.bench.xla import compiled, double_precision_jax

__all__ = ["associative_scan", "pscan", "tridiagonal"]


def associative_scan() -> Contender[DiagonalSystem]:
    """JAX's scan of x_k = f_k x_{k-1} + u_k, compiled; f stays shared over the batch."""

    def prepare(s: DiagonalSystem) -> Work:
        jax = double_precision_jax()

        def join(left: Any, right: Any) -> Any:
            return right[0] * left[0], right[0] * left[1] + right[1]

        def states(f: Any, u: Any) -> Any:
            return jax.lax.associative_scan(join, (f, u), axis=-2)[1]

        f, u = _transitions(s)
        f = f.reshape((1,) * (u.ndim - f.ndim) + f.shape)
        return compiled(states, f.numpy(), u.numpy())

    return Contender("JAX associative_scan", prepare, requires=("jax",))


def pscan() -> Contender[DiagonalSystem]:
    """The parallel scan of mambapy, which wants f for every sample."""

    def prepare(s: DiagonalSystem) -> Work:
        from mambapy.pscan import pscan

        f, u = _transitions(s)
        u = u.reshape(-1, *u.shape[-2:])
        f4, u4 = f.expand(u.shape).contiguous().unsqueeze(-1), u.unsqueeze(-1)
        return Work(lambda: pscan(f4, u4))

    return Contender("mambapy pscan", prepare, requires=("mambapy",))


def tridiagonal() -> Contender[DiagonalSystem]:
    """JAX's tridiagonal solver, compiled, on a chain of one channel."""

    def prepare(s: DiagonalSystem) -> Work:
        jax = double_precision_jax()
        a, b, c, u = (t[:, 0].numpy() for t in (s.a, s.b, s.c, s.u))
        lower, upper = np.append(0, c[:-1]), np.append(b[:-1], 0)
        return compiled(jax.lax.linalg.tridiagonal_solve, lower, a, upper, u[:, None])

    return Contender("JAX tridiagonal_solve", prepare, requires=("jax",))


def _transitions(s: DiagonalSystem) -> tuple[Tensor, Tensor]:
    """(f, u) of a recurrence; f_k leads into step k, where the chain keeps it at step k−1."""
    return (-s.c).roll(1, dims=-2), s.u
