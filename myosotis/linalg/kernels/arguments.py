"""Arguments as the compiled sweeps want them."""

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from torch import Tensor

from myosotis.linalg.apply import Blocks
from myosotis.memory import reusable
from myosotis.tree import Tree

__all__ = [
    "Index",
    "Signs",
    "addresses",
    "beyond_caches",
    "edge_rows",
    "empty",
    "in_memory",
    "inner_rank",
    "numbers",
    "own_rows",
    "past_caches",
    "rows_in_memory",
    "sweep_arguments",
    "systems_of",
    "tree_arrays",
    "unit_of",
    "unsigned",
    "width_of",
]

Index = NDArray[np.uint64]
Signs = tuple[int | None, int, int]

_LARGE = 1 << 24  # bytes of a solution that will not stay in the caches anyway
_IN_X = (np.uint64(0), np.uint64(0), None)  # inner nodes have no rows of their own
_KEPT = 1 << 20  # bytes from which on the C library may give memory back as soon as it is freed


def in_memory(t: Tensor) -> Tensor:
    """The tensor as a kernel may read it: contiguous, and no conjugation or sign left to apply."""
    if t.is_contiguous() and not t.is_conj() and not t.is_neg():
        return t
    return t.resolve_conj().resolve_neg().contiguous()


def rows_in_memory(t: Tensor) -> tuple[Tensor, int]:
    """The tensor (…, rows, h), or a copy, and how many rows lie from one matrix to the next.

    All rows lie side by side, but the last ones of each matrix may have been left out.
    """
    if t.is_conj() or t.is_neg():
        t = t.resolve_conj().resolve_neg()
    if t.is_contiguous():
        return t, t.shape[-2]
    apart, rest = divmod(t.stride(-3), t.shape[-1]) if t.ndim > 2 else (0, 0)
    full = (*t.shape[:-2], apart, t.shape[-1])
    if apart >= t.shape[-2] and not rest and t.stride() == _contiguous_strides(full):
        return t, apart
    return t.contiguous(), t.shape[-2]


def _contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(shape[i + 1 :]) for i in range(len(shape)))


def empty(like: Tensor, *shape: int) -> Tensor:
    """An uninitialised contiguous tensor of the same dtype and, unless given, the same shape.

    A large one is in memory that was used before, if possible: getting it new, page by page, can
    take longer than filling it.
    """
    shape = shape or tuple(like.shape)
    size = prod(shape) * like.element_size()
    if size < _KEPT:
        return torch.empty(shape, dtype=like.dtype)
    return torch.from_numpy(reusable(size).view(unit_of(like.dtype).dtype).reshape(shape))


@lru_cache(maxsize=64)
def tree_arrays(tree: Tree) -> tuple[Index, Index, Index, Index]:
    """(parent, first_child, num_children, (first, last) of levels); roots have the parent L."""
    parent = np.where(tree.parent < 0, tree.num_nodes, tree.parent)
    bounds = np.flatnonzero(np.diff(tree.depth, prepend=-1, append=-1)).astype(np.uint64)
    return (
        parent.astype(np.uint64),
        tree.first_child.astype(np.uint64),
        tree.num_children.astype(np.uint64),
        sliding_window_view(bounds, 2),  # no copy: a chain has as many levels as nodes
    )


@lru_cache(maxsize=64)
def own_rows(tree: Tree) -> Index:
    """The row of each node where every node has its own."""
    return np.arange(tree.num_nodes, dtype=np.uint64)


@lru_cache(maxsize=64)
def inner_rank(tree: Tree) -> Index:
    """Which of the inner nodes each one is, counted from 0; of leaves any number."""
    inner = tree.num_children > 0
    return (np.cumsum(inner) - inner).astype(np.uint64)


@lru_cache(maxsize=64)
def systems_of(batch: torch.Size, full: torch.Size) -> Index:
    """For each of the systems counted by `full` the one, counted by `batch`, that it shares."""
    numbers = np.arange(prod(batch), dtype=np.uint64).reshape(batch)
    return np.ascontiguousarray(np.broadcast_to(numbers, full)).reshape(-1)


@lru_cache(maxsize=1024)
def unsigned(*values: int) -> tuple[np.uint64, ...]:
    """Indices and sizes, unsigned so that no kernel has to consider negative ones."""
    return tuple(np.uint64(value) for value in values)


def addresses(*tensors: Tensor) -> tuple[np.uint64, ...]:
    """Where in memory the first elements lie."""
    return tuple(np.uint64(t.data_ptr()) for t in tensors)


def width_of(t: Tensor) -> int:
    """Bytes of a row of channels."""
    return t.shape[-1] * t.element_size()


@lru_cache(maxsize=8)
def unit_of(dtype: torch.dtype) -> Any:
    """The number 1 as a NumPy scalar."""
    return torch.ones((), dtype=dtype).numpy()[()]


def past_caches(*results: Tensor) -> bool:
    """Whether rows of all of these may and should be written past the caches."""
    aligned = all(width_of(t) % 64 == 0 and t.data_ptr() % 64 == 0 for t in results)
    return aligned and beyond_caches(results[0].numel() * results[0].element_size())


def beyond_caches(size: int) -> bool:
    """Whether so many bytes will not stay in the caches anyway."""
    return size >= _LARGE


def edge_rows(tree: Tree, blocks: Blocks) -> tuple[np.uint64, ...]:
    """(E, rows of B, of C): `gradient_sweeps.outer` writes zeros where roots have rows."""
    return unsigned(tree.num_edges, blocks[1].shape[-2], blocks[2].shape[-2])


def sweep_arguments(
    tree: Tree,
    tables: Blocks,
    signs: Signs,
    rows: Index,
    u: Tensor,
    x: Tensor,
    inner: Tensor | None = None,
) -> tuple[Any, ...]:
    """What all sweeps take, see `diagonal_sweeps.sweep`.

    inner: memory (pieces, inner nodes, h) for the rows of inner nodes, if they are not kept in x.
    """
    inverse, down, _ = tables
    shapes = inverse.shape, down.shape[-2], u.shape
    arrays, unit, system, pivot_rows, edge_rows, one, sizes = _fixed(tree, *shapes, u.dtype)
    place: tuple[Any, ...] = _IN_X
    if inner is not None:
        apart = inner.stride(0) * inner.element_size()
        place = *addresses(inner), *unsigned(apart), inner_rank(tree)
    return (
        arrays,
        unit,
        addresses(*tables),
        (system, rows, pivot_rows, edge_rows, one),
        numbers(u.dtype, signs),
        (*addresses(u, x), *place),
        sizes,
    )


@lru_cache(maxsize=256)
def _fixed(
    tree: Tree, table: torch.Size, edges: int, full: torch.Size, dtype: torch.dtype
) -> tuple[Any, ...]:
    """All of that but addresses, signs and rows: looked up in one place, which may be far away."""
    item = dtype.itemsize
    return (
        tree_arrays(tree),
        unit_of(dtype),
        systems_of(table[:-2], full[:-2]),
        *unsigned(table[-2], edges),
        None if table[-1] == full[-1] else True,
        unsigned(table[-1] * item, full[-1] * item, item),
    )


@lru_cache(maxsize=64)
def numbers(dtype: torch.dtype, signs: Signs) -> tuple[Any, ...]:
    """The signs as real numbers of the precision of `dtype`."""
    real = unit_of(dtype).real.dtype.type
    return tuple(None if sign is None else real(sign) for sign in signs)
