"""Diagonal blocks: from tensors to the compiled sweeps and back."""

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from myosotis.linalg.apply import Blocks, summed_to, without_roots
from myosotis.linalg.kernels import (
    diagonal_sweeps,
    elimination_sweeps,
    fused_sweeps,
    gradient_sweeps,
    onesided,
    scalar_sweeps,
    shared,
)
from myosotis.linalg.kernels.arguments import (
    Signs,
    addresses,
    beyond_caches,
    edge_rows,
    empty,
    in_memory,
    inner_rank,
    own_rows,
    past_caches,
    rows_in_memory,
    sweep_arguments,
    systems_of,
    tree_arrays,
    unit_of,
    unsigned,
    width_of,
)
from myosotis.linalg.kernels.families import stays_near
from myosotis.linalg.kernels.pieces import (
    GROUP,
    by_node,
    crowd,
    subtrees,
    systems_or_channels,
)
from myosotis.linalg.kernels.sum_rows import sum_rows
from myosotis.linalg.kernels.threads import Pieces, run_on_threads, spans, team_for
from myosotis.linalg.singular import raise_if_singular
from myosotis.tree import Tree

__all__ = [
    "Sums",
    "empty_factor",
    "factorize",
    "gradients",
    "slogdet",
    "solve",
    "solve_sweep",
    "substitute",
]

_NEAR = 7 << 17  # bytes of rows of one system that stay in the second cache


class Sums(NamedTuple):
    """Sums to be taken on the way down, of products with another solution.

    Attributes:
        other: the other solution, (*batch, L, h).
        totals: (number of pieces, rows, 3, h), see `gradient_sweeps.add_edge`.
        pieces: as of `systems_or_channels`, the same whatever the number of threads.
    """

    other: Tensor
    totals: Tensor
    pieces: Pieces

    def arguments(self) -> tuple[np.uint64, ...]:
        """As `diagonal_sweeps.sweep` takes them."""
        apart = self.totals[0].numel() * self.totals.element_size()
        return *addresses(self.other, self.totals), *unsigned(apart)


def factorize(tree: Tree, blocks: Blocks) -> list[Tensor]:
    """[1/â, −b/â, −c/â] (*batch, L, h), (*batch, E, h) twice; see `onesided` for b = 0."""
    E, one_channel = tree.num_edges, blocks[0].shape[-1] == 1
    if onesided.is_zero(blocks[1]):
        return onesided.factorize(tree, without_roots(blocks, E, diagonal=True))
    if one_channel:
        blocks = without_roots(blocks, E, diagonal=True)
    a, (b, b_rows), (c, c_rows) = in_memory(blocks[0]), *map(rows_in_memory, blocks[1:])
    edges = (*a.shape[:-2], E, a.shape[-1])
    inverse, down, up = empty(a), empty(b, *edges), empty(c, *edges)
    singular = np.zeros(1, dtype=np.uint8)
    if one_channel:
        inverse.copy_(a)
        flat = [in_memory(t).view(-1).numpy() for t in (b, c, inverse, down, up)]
        pieces = spans(prod(a.shape[:-2]), a.numel())
        run_on_threads(scalar_sweeps.eliminate, pieces, tree_arrays(tree), *flat, singular)
    else:
        tables = addresses(a, b, c, inverse, down, up)
        sizes = unsigned(E, b_rows, c_rows), unsigned(width_of(a), a.element_size())
        tail = past_caches(inverse, up), _address(singular)
        arguments = tree_arrays(tree), unit_of(a.dtype), tables, *sizes, *tail
        subtrees = _subtrees(tree, a, roots=True)
        if subtrees is not None:
            elimination_sweeps.eliminate_by_subtrees(*subtrees, *arguments)
        else:
            run_on_threads(elimination_sweeps.eliminate, systems_or_channels(a), *arguments)
    if singular[0]:
        zeros = ~inverse.isfinite()
        raise_if_singular(tree, zeros.movedim(-2, 0), diagonal=True, ordered=True)
    return [inverse, down, up]


def empty_factor(blocks: Blocks) -> list[Tensor]:
    """Uninitialised tensors of the shapes that `factorize` returns."""
    return [t.new_empty(t.shape) for t in blocks]


def substitute(
    tree: Tree, blocks: Blocks, factor: list[Tensor], u: Tensor, adjoint: bool
) -> Tensor:
    """Solve T x = u, or T^H x = u, for x. u (*batch, L, h)."""
    inverse, down, up = factor
    if onesided.is_zero(down) and onesided.is_zero(up):
        return onesided.substitute(tree, inverse, blocks[2], u, adjoint)
    if adjoint:
        down, up = up, down
    if u.shape[-1] == 1:
        return _scalar_sweep(tree, (inverse, down, up), adjoint, u)
    sign = -1 if adjoint else 1
    return solve_sweep(tree, (inverse, down, up), (sign, sign, sign), own_rows(tree), u)


def solve(tree: Tree, blocks: Blocks, u: Tensor, keep: bool) -> tuple[Tensor, list[Tensor]]:
    """Solve T x = u. u (*batch, L, h); the blocks may lack some of its first axes.

    Returns x and, if the caller wants to keep it, the factor, which is that of `factorize`.
    """
    found = None
    if blocks[0].shape[-1] > 1 and not onesided.is_zero(blocks[1]):
        matrices, systems = prod(blocks[0].shape[:-2]), prod(u.shape[:-2])
        if matrices == 1 and systems > 1:
            found = shared.solve(tree, blocks, u) or _solve_together(tree, blocks, u)
        elif matrices == systems and not keep:
            found = _solve_fused(tree, blocks, u)
    if found is None:
        factor = factorize(tree, blocks)
        found = substitute(tree, blocks, factor, u, adjoint=False), factor
    return found


def _solve_together(tree: Tree, blocks: Blocks, u: Tensor) -> tuple[Tensor, list[Tensor]] | None:
    """(x, factor) of systems with one matrix, eliminated by all threads.

    None if the tree is not worth sharing, or if a pivot is zero: `factorize` reports it.
    """
    a, b, c = map(in_memory, blocks)
    subtrees = _subtrees(tree, a, roots=True)
    if subtrees is None:
        return None
    u = in_memory(u)
    x, singular = empty(u), np.zeros(1, dtype=np.uint8)
    inverse, down, up = empty(a, 3, *a.shape)
    team, pieces, top, segments = subtrees
    elimination = (
        segments,
        tree_arrays(tree),
        unit_of(a.dtype),
        addresses(a, b, c, inverse, down, up),
        unsigned(tree.num_edges, 0, 0),
        unsigned(width_of(a), a.element_size()),
        False,
        _address(singular),
    )
    diagonal_sweeps.solve(
        team,
        systems_or_channels(u),
        (pieces, top),
        elimination,
        *sweep_arguments(tree, (inverse, down, up), (1, 1, 1), own_rows(tree), u, x),
        np.uint64(GROUP),
        past_caches(x),
        None,
    )
    return None if singular[0] else (x, [inverse, down, up])


def _solve_fused(tree: Tree, blocks: Blocks, u: Tensor) -> tuple[Tensor, list[Tensor]] | None:
    """(x, no factor) of systems with coefficients of their own.

    None if a pivot is zero: `factorize` reports it.
    """
    a, (b, b_rows), (c, c_rows) = in_memory(blocks[0]), *map(rows_in_memory, blocks[1:])
    u = in_memory(u)
    x = empty(u)
    singular = np.zeros(1, dtype=np.uint8)
    width, item = width_of(u), u.element_size()
    keep = beyond_caches(tree.num_nodes * width)
    rank, kept = own_rows(tree), tree.num_nodes
    if not keep:
        rank, kept = inner_rank(tree), tree.num_nodes - tree.num_leaves
    system = addresses(a, b, c, u, x)
    flags, flag = (keep, past_caches(x)), _address(singular)
    subtrees = _subtrees(tree, u, roots=False)
    if subtrees is not None:
        team, held = subtrees[0], sum_rows(tree, width) if keep else None
        scratch = empty(u, kept + (held.count(team) if held else 0), u.shape[-1])
        memory = scratch.data_ptr()
        fused_sweeps.solve_by_subtrees(
            *subtrees,
            tree_arrays(tree),
            unit_of(u.dtype),
            (np.uint64(item), (*system, np.uint64(width)), unsigned(memory, width)),
            rank,
            np.uint64(tree.num_edges),
            flags,
            held.arguments(team, memory + kept * width, width) if held else None,
            flag,
        )
    else:
        pieces = systems_or_channels(u)
        scratch = empty(u, len(pieces), kept, int((pieces[:, 1] - pieces[:, 0]).max()))
        run_on_threads(
            fused_sweeps.solve,
            pieces,
            tree_arrays(tree),
            unit_of(u.dtype),
            system,
            unsigned(tree.num_edges, b_rows, c_rows),
            unsigned(width, item),
            rank,
            (*addresses(scratch), *unsigned(scratch.stride(0) * item)),
            flags,
            flag,
        )
    return None if singular[0] else (x, [])


def _subtrees(tree: Tree, t: Tensor, roots: bool) -> tuple[Any, ...] | None:
    """(Team, pieces, top, segments) if the one system of t (*batch, L, h) is worth sharing."""
    team = team_for(t.numel()) if prod(t.shape[:-2]) == 1 else None
    parts = None if team is None else subtrees(tree, width_of(t), roots)
    return None if parts is None else (team, *parts)


def _address(flag: NDArray[np.uint8]) -> np.uint64:
    return np.uint64(flag.ctypes.data)


def solve_sweep(
    tree: Tree,
    tables: Blocks,
    signs: Signs,
    rows: NDArray[np.uint64],
    u: Tensor,
    sums: Sums | None = None,
) -> Tensor:
    """x_v = inverse_v ũ_v + down_v x_p with ũ_p = u_p + Σ_c up_c ũ_c.

    tables: inverse, down, up (*batch, rows, h or 1), node v reading row rows[v]; each conjugated
    where its sign is −1, or real, real and imaginary parts both holding it, where it is None.
    u (*batch, L, h).
    """
    u = in_memory(u)
    inverse, down, up = (in_memory(t) for t in tables)
    found = shared.sweep(tree, (inverse, down, up), signs, rows, u) if sums is None else None
    if found is not None:
        return found
    x = empty(u)
    away = past_caches(x)
    subtrees = _subtrees(tree, u, roots=True) if sums is None else None
    if subtrees is not None:
        arguments = sweep_arguments(tree, (inverse, down, up), signs, rows, u, x)
        diagonal_sweeps.sweep_by_subtrees(*subtrees, *arguments, away)
    else:
        pieces = systems_or_channels(u) if sums is None else sums.pieces
        one_by_one = stays_near(inverse)
        inner = _inner_rows(tree, u, len(pieces)) if away and one_by_one else None
        run_on_threads(
            diagonal_sweeps.sweep,
            pieces,
            *sweep_arguments(tree, (inverse, down, up), signs, rows, u, x, inner),
            np.uint64(1 if one_by_one else GROUP),
            away,
            None if sums is None else sums.arguments(),
        )
    return x


def _inner_rows(tree: Tree, u: Tensor, pieces: int) -> Tensor | None:
    """Memory for the rows of inner nodes, of one system for each piece, if they stay near with u.

    x, which is written past the caches, then need not be read before it is written.
    """
    inner = tree.num_nodes - tree.num_leaves
    near = (tree.num_nodes + inner) * width_of(u) <= _NEAR
    return empty(u, pieces, inner, u.shape[-1]) if near else None


def _scalar_sweep(tree: Tree, tables: Blocks, adjoint: bool, u: Tensor) -> Tensor:
    """The same for one channel and one row of coefficients per node."""
    x = in_memory(u).clone()
    system = systems_of(tables[0].shape[:-2], u.shape[:-2])
    inverse, down, up, solution = (in_memory(t).view(-1).numpy() for t in (*tables, x))
    arguments = tree_arrays(tree), system, inverse, down, up, adjoint, solution
    run_on_threads(scalar_sweeps.sweep, spans(len(system), u.numel()), *arguments)
    return x


def gradients(tree: Tree, left: Tensor, right: Tensor, blocks: Blocks) -> Blocks:
    """−left right^H where T has its blocks, summed to their shapes."""
    if not left.numel():  # sums begin with the first system, which there may not be
        A, B, C = (t.new_zeros(t.shape) for t in blocks)
        return A, B, C
    left, right = in_memory(left), in_memory(right)
    products = [empty(t, *t.shape[:-1], left.shape[-1]) for t in blocks]
    run_on_threads(
        gradient_sweeps.outer,
        by_node(left),
        tree_arrays(tree)[0],
        unit_of(left.dtype),
        _system_and_first(blocks[0].shape[:-2], left.shape[:-2]),
        addresses(left, right),
        addresses(*products),
        edge_rows(tree, blocks),
        *unsigned(width_of(left), left.element_size(), crowd(width_of(left))),
        prod(blocks[0].shape[:-2]) == prod(left.shape[:-2]) and past_caches(*products),
    )
    return summed_to(blocks, products)


@lru_cache(maxsize=64)
def _system_and_first(batch: torch.Size, full: torch.Size) -> tuple[NDArray[Any], NDArray[Any]]:
    """The matrix of each system, and whether it is the first that has it."""
    system = systems_of(batch, full)
    first = np.zeros(len(system), dtype=np.bool_)
    first[np.unique(system, return_index=True)[1]] = True
    return system, first


def slogdet(factor: list[Tensor]) -> tuple[Tensor, Tensor]:
    """(Sign, log|det T|), each (*batch, h)."""
    inverse = factor[0]
    return inverse.conj().sgn().prod(-2), -inverse.abs().log().sum(-2)
