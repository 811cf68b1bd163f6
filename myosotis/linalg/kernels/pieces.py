"""How work on diagonal systems is dealt out to threads."""

from functools import lru_cache
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from myosotis.linalg.kernels.threads import Pieces, spans
from myosotis.tree import Tree

__all__ = [
    "GROUP",
    "by_node",
    "by_sum",
    "families_by_level",
    "fixed_systems",
    "has_broad_levels",
    "systems_or_channels",
]

GROUP = 2  # systems that go through the tree together; more do not stay in the second cache
_CHANNELS = 32  # channels are split between threads at multiples of this
_NODES = 64  # of the smallest piece, where there is a choice
_SUMMED, _STRETCH = 16, 1 << 14  # systems and nodes that are summed up together, at most
_BROAD = 64  # nodes of a level, on average, that are worth dealing out
_PIECES = 8  # that sums are taken in, where there are systems enough


def systems_or_channels(t: Tensor, least: int = GROUP) -> Pieces:
    """Pieces (low channel, high channel, first system, last system) of t (*batch, L, h).

    Whole systems are dealt out if there are several, blocks of channels otherwise. There are more
    pieces than threads only if none has fewer than `least` systems.
    """
    systems, channels = prod(t.shape[:-2]), t.shape[-1]
    by_system = systems > 1
    if by_system:
        cuts = spans(systems, t.numel(), least=least)
    else:
        cuts = spans(channels, t.numel(), multiple=_CHANNELS, least=channels)
    pieces = np.empty((len(cuts), 4), dtype=np.uint64)
    pieces[:, 2 if by_system else 0 :][:, :2] = cuts
    pieces[:, 0 if by_system else 2 :][:, :2] = (0, channels if by_system else systems)
    return pieces


@lru_cache(maxsize=64)
def fixed_systems(systems: int, channels: int) -> Pieces:
    """Pieces as of `systems_or_channels`, but the same whatever the number of threads."""
    cuts = _even(systems, _summed(systems))
    return np.array([(0, channels, *cut) for cut in cuts], dtype=np.uint64)


def by_node(x: Tensor) -> Pieces:
    """Pieces (first system, last, first node, last, 0) of x (*batch, L, h): some nodes of all."""
    cuts = spans(x.shape[-2], x.numel(), least=_NODES)
    everything = (0, prod(x.shape[:-2]))
    return np.array([(*everything, *cut, 0) for cut in cuts], dtype=np.uint64)


@lru_cache(maxsize=64)
def by_sum(systems: int, nodes: int) -> Pieces:
    """Pieces (first system, last, first node, last, number), whatever the number of threads."""
    rectangles = [
        (*some, *stretch)
        for some in _even(systems, _summed(systems))
        for stretch in _even(nodes, _STRETCH)
    ]
    return np.array([(*r, i) for i, r in enumerate(rectangles)], dtype=np.uint64)


def has_broad_levels(tree: Tree) -> bool:
    """Whether levels have nodes enough, on average, for threads to wait for each other."""
    return tree.num_nodes >= _BROAD * tree.num_levels


@lru_cache(maxsize=64)
def families_by_level(tree: Tree, threads: int) -> tuple[Pieces, NDArray[np.int64]]:
    """Pieces (first node, last) of each level, and where those of the levels begin and end.

    All children of a parent are in the same one, and for the rest pieces are nearly equal.
    """
    pieces: list[tuple[int, int]] = []
    bounds = [0]
    for level in tree.levels:
        low, high = level.start, level.stop
        wanted = low + (high - low) * np.arange(1, threads) // threads
        if high <= tree.num_edges:
            wanted = tree.first_child[tree.parent[wanted]]
        pieces += pairwise(np.unique([low, *wanted, high]).tolist())
        bounds.append(len(pieces))
    return np.array(pieces, dtype=np.uint64), np.array(bounds)


def _summed(systems: int) -> int:
    """How many systems are summed up together."""
    return min(max(GROUP, systems // _PIECES), _SUMMED)


def _even(length: int, most: int) -> NDArray[np.int64]:
    """0 … length in as few nearly equal pieces (low, high) as there can be."""
    cuts = np.linspace(0, length, -(-length // most) + 1).astype(np.int64)
    return np.stack([cuts[:-1], cuts[1:]], axis=1)
