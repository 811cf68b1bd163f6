"""Diagonal systems with b = 0, such as state space models: no pivots change, one sweep solves.

They are recognised by b being a single zero, broadcast to all nodes and channels. Their factor
holds 1/a, and zeros in place of the rest.
"""

from typing import Any

import numpy as np
from torch import Tensor

from myosotis.linalg.apply import Blocks
from myosotis.linalg.kernels import onesided_sweeps
from myosotis.linalg.kernels.arguments import (
    addresses,
    empty,
    in_memory,
    systems_of,
    tree_arrays,
    unit_of,
    unsigned,
    width_of,
)
from myosotis.linalg.kernels.pieces import GROUP, systems_or_channels
from myosotis.linalg.kernels.threads import run_on_threads
from myosotis.linalg.singular import raise_if_singular
from myosotis.tree import Tree

__all__ = ["factorize", "is_zero", "substitute"]


def is_zero(t: Tensor) -> bool:
    """Whether `t` is one zero, broadcast."""
    one = all(size == 1 or stride == 0 for size, stride in zip(t.shape, t.stride(), strict=True))
    return one and t.numel() > 0 and t.as_strided((), ()).item() == 0


def factorize(tree: Tree, blocks: Blocks) -> list[Tensor]:
    """[1/a, 0, 0], in the shapes of the blocks; what a repeats is not written out."""
    a, b, c = blocks
    distinct = _distinct(a)
    if (distinct == 0).any():
        raise_if_singular(tree, (a == 0).movedim(-2, 0), diagonal=True, ordered=True)
    zero = a.new_zeros(())
    return [distinct.reciprocal().expand(a.shape), zero.expand(b.shape), zero.expand(c.shape)]


def substitute(tree: Tree, inverse: Tensor, c: Tensor, u: Tensor, adjoint: bool) -> Tensor:
    """Solve T x = u, or T^H x = u. inverse, c (*batch, rows, h or 1), u (*batch, L, h)."""
    u = in_memory(u)
    x = empty(u)
    channels = u.shape[-1]
    scale = None if (_distinct(inverse) == 1).all() else _table(inverse, channels)
    factors = _table(c, channels)
    run_on_threads(
        onesided_sweeps.descend if adjoint else onesided_sweeps.climb,
        systems_or_channels(u),
        tree_arrays(tree),
        unit_of(u.dtype),
        None if scale is None else scale[1],
        factors[1],
        systems_of(inverse.shape[:-2], u.shape[:-2]),
        addresses(u, x),
        unsigned(width_of(u), u.element_size()),
        np.uint64(GROUP),
    )
    return x


def _distinct(t: Tensor) -> Tensor:
    """`t` with every axis along which it only repeats cut down to one entry."""
    axes = zip(t.shape, t.stride(), strict=True)
    return t[tuple(slice(0, 1) if n and not step else slice(None) for n, step in axes)]


def _table(t: Tensor, channels: int) -> tuple[Tensor, tuple[Any, ...]]:
    """(Memory, (address, bytes from node to node, bytes from matrix to matrix)) of coefficients.

    What all nodes share stays one row.
    """
    shared = t.stride(-2) == 0 or t.shape[-2] == 1
    rows = t[..., :1, :] if shared else t
    rows = in_memory(rows.expand(*rows.shape[:-1], channels))
    step = 0 if shared else width_of(rows)
    return rows, (*addresses(rows), *unsigned(step, rows.shape[-2] * width_of(rows)))
