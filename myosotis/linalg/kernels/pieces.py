"""How work on diagonal systems is dealt out to threads."""

from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from myosotis.linalg.kernels.threads import Pieces, spans
from myosotis.tree import Tree

__all__ = [
    "GROUP",
    "Families",
    "Subtrees",
    "by_node",
    "by_sum",
    "crowd",
    "families",
    "fixed_systems",
    "subtrees",
    "systems_or_channels",
]

GROUP = 2  # systems that go through the tree together; more do not stay in the second cache
_COLUMN = 1 << 11  # bytes: narrower parts of rows take two threads longer than whole rows one
_NODES = 64  # of the smallest piece, where there is a choice
_SUMMED, _STRETCH = 16, 1 << 14  # systems and nodes that are summed up together, at most
_TOGETHER = 1 << 18  # bytes of sums that stay in the second cache
_BROAD = 256  # nodes of a level whose subtrees can be dealt out evenly
_CACHED = 1 << 21  # bytes of a column of rows that stay in the caches
_NEAR = 1 << 16  # bytes of rows that stay near the core together with all that goes with them
_TOP = 4  # a tree that is cut into families has so many times the nodes that are above them
_SHARES = 8  # pieces of a tree, however small
_PIECES = 8  # that sums are taken in, where there are systems enough


def systems_or_channels(t: Tensor, least: int = GROUP) -> Pieces:
    """Pieces (low channel, high channel, first system, last system) of t (*batch, L, h).

    Whole systems are dealt out if there are several, blocks of channels otherwise. There are more
    pieces than threads only if none has fewer than `least` systems.
    """
    return _systems_or_channels(t.shape, t.element_size(), least, torch.get_num_threads())


@lru_cache(maxsize=256)
def _systems_or_channels(shape: torch.Size, item: int, least: int, threads: int) -> Pieces:
    # `threads` is what `spans` depends on besides its arguments.
    systems, channels, work = prod(shape[:-2]), shape[-1], prod(shape)
    by_system = systems > 1
    if by_system:
        cuts = spans(systems, work, least=least)
    else:
        cuts = spans(channels, work, multiple=_COLUMN // item, least=channels)
    pieces = np.empty((len(cuts), 4), dtype=np.uint64)
    pieces[:, 2 if by_system else 0 :][:, :2] = cuts
    pieces[:, 0 if by_system else 2 :][:, :2] = (0, channels if by_system else systems)
    return pieces


@lru_cache(maxsize=64)
def fixed_systems(systems: int, channels: int) -> Pieces:
    """Pieces as of `systems_or_channels`, but the same whatever the number of threads."""
    cuts = _even(systems, _summed(systems))
    return np.array([(0, channels, *cut) for cut in cuts], dtype=np.uint64)


def by_node(x: Tensor, first: int = 0) -> Pieces:
    """Pieces (first system, last, first node, last, 0) of x (*batch, L, h): some nodes of all.

    first: the node before which there are none.
    """
    return _by_node(x.shape, first, torch.get_num_threads())


@lru_cache(maxsize=256)
def _by_node(shape: torch.Size, first: int, threads: int) -> Pieces:
    cuts = spans(shape[-2] - first, prod(shape), least=_NODES) + np.uint64(first)
    return np.array([(0, prod(shape[:-2]), *cut, 0) for cut in cuts], dtype=np.uint64)


def crowd(width: int) -> int:
    """How many nodes go together while three rows of sums, `width` bytes each, are kept for each.

    The more there are, the longer the stretches of memory that are read in one go.
    """
    return max(1, _TOGETHER // (3 * width))


@lru_cache(maxsize=64)
def by_sum(systems: int, nodes: int) -> Pieces:
    """Pieces (first system, last, first node, last, number), whatever the number of threads."""
    rectangles = [
        (*some, *stretch)
        for some in _even(systems, _summed(systems))
        for stretch in _even(nodes, _STRETCH)
    ]
    return np.array([(*r, i) for i, r in enumerate(rectangles)], dtype=np.uint64)


class Subtrees(NamedTuple):
    """A tree cut below one of its levels.

    Attributes:
        pieces: (first, last) segment of some neighbouring subtrees.
        top: the same, in one row, of all other nodes.
        segments: (first node, last), at most one for each level of a piece, the lowest first.
    """

    pieces: Pieces
    top: Pieces
    segments: Pieces


@lru_cache(maxsize=64)
def subtrees(tree: Tree, width: int, roots: bool) -> Subtrees | None:
    """Parts of the tree for threads to share; None if no level is broad enough to cut below it.

    A piece is no larger than the caches can take, with rows of `width` bytes. The roots of subtrees
    belong to their pieces if nodes gather from their children (`roots`), and to the top if nodes
    send to their parents.
    """
    broad = np.flatnonzero(np.array(tree.level_sizes[1:]) >= _BROAD) + 1
    if not len(broad):
        return None
    cut = int(broad[-1])  # the highest of them; the lowest level has nothing below it
    level = tree.levels[cut]
    nodes = level.stop if roots else level.start
    return _cut_below(tree, cut, roots, min(_CACHED // width, nodes // _SHARES))


class Families(NamedTuple):
    """A tree cut into subtrees so small that their rows stay near the core, and what is above.

    Attributes:
        pieces, top, segments: as of `Subtrees`; the roots of subtrees belong to their pieces.
        crown: the first of the nodes that are no children of others in their piece.
    """

    pieces: Pieces
    top: Pieces
    segments: Pieces
    crown: int


@lru_cache(maxsize=64)
def families(tree: Tree, width: int) -> Families | None:
    """Small parts of the tree for many systems, one after the other, with rows of `width` bytes.

    None if no level cuts the tree into many small parts with little above them.
    """
    most = max(1, _NEAR // width)
    sizes = np.array(tree.level_sizes)
    small = np.flatnonzero(np.cumsum(sizes) <= most * sizes)  # what hangs on a node, on average
    for cut in small[::-1].tolist():
        if cut == 0 or _TOP * sum(tree.level_sizes[cut + 1 :]) > tree.num_nodes:
            break
        parts = _cut_below(tree, cut, True, most // 2)
        ends = np.concatenate([[0], np.cumsum(parts.segments[:, 1] - parts.segments[:, 0])])
        nodes = ends[parts.pieces[:, 1]] - ends[parts.pieces[:, 0]]
        if nodes.max() * _SHARES <= tree.num_nodes:
            return Families(*parts, tree.levels[cut].start)
    return None


def _cut_below(tree: Tree, cut: int, roots: bool, least: int) -> Subtrees:
    """The tree cut below a level, subtrees going together until they have so many nodes."""
    below = _ends_below(tree, cut)
    if roots:
        level = tree.levels[cut]
        below.append(np.arange(level.start, level.stop + 1))
    counts = np.sum([ends - ends[0] for ends in below], axis=0)
    shares = np.arange(0, counts[-1], max(1, least))
    cuts = np.unique([*np.searchsorted(counts, shares), len(counts) - 1])
    segments: list[tuple[int, int]] = []
    pieces = []
    for low, high in pairwise(cuts.tolist()):
        first = len(segments)
        segments += [(ends[low], ends[high]) for ends in below if ends[low] < ends[high]]
        pieces.append((first, len(segments)))
    above = tree.levels[cut + 1 :] if roots else tree.levels[cut:]
    top = (len(segments), len(segments) + len(above))
    segments += [(level.start, level.stop) for level in above]
    return Subtrees(*(np.array(t, dtype=np.uint64) for t in (pieces, [top], segments)))


def _ends_below(tree: Tree, cut: int) -> list[NDArray[np.int64]]:
    """For each level below the cut, the lowest first: where what hangs on its first n nodes ends.

    The nodes that hang on neighbours of one level are neighbours in every other.
    """
    level = tree.levels[cut]
    ends = np.arange(level.stop - level.start + 1)
    below = []
    for lower in tree.levels[cut - 1 :: -1]:
        children = np.concatenate([[0], np.cumsum(tree.num_children[level])])
        ends = children[ends]
        below.append(lower.start + ends)
        level = lower
    return below[::-1]


def _summed(systems: int) -> int:
    """How many systems are summed up together."""
    return min(max(GROUP, systems // _PIECES), _SUMMED)


def _even(length: int, most: int) -> NDArray[np.int64]:
    """0 … length in as few nearly equal pieces (low, high) as there can be."""
    cuts = np.linspace(0, length, -(-length // most) + 1).astype(np.int64)
    return np.stack([cuts[:-1], cuts[1:]], axis=1)
