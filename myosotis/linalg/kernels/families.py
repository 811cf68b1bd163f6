"""How many systems with one matrix share the tree."""

from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from myosotis.linalg.kernels.adjoint_sweeps import TURNS
from myosotis.linalg.kernels.arguments import unsigned
from myosotis.linalg.kernels.pieces import families
from myosotis.linalg.kernels.threads import Pieces, Team, team_or_self
from myosotis.tree import Tree

__all__ = ["Sharing", "share", "stays_near"]

_MANY = 4  # systems from which on it pays to arrange for what they have in common
_SMALL = 1 << 16  # bytes of a table that stays in the caches between two systems
_CHUNK = 3 << 23  # bytes of right-hand sides that stay in the third cache


class Sharing(NamedTuple):
    """How threads and systems share a tree.

    Attributes:
        team: the threads.
        parts: (pieces, top) of `pieces.Families`.
        segments, crown: likewise.
        counts: (systems, how many of them go up before they come down).
    """

    team: Team
    parts: tuple[Pieces, Pieces]
    segments: Pieces
    crown: int
    counts: tuple[np.uint64, ...]


def share(tree: Tree, table: Tensor, u: Tensor) -> Sharing | None:
    """How systems u (*batch, L, h) with this table of coefficients share the tree.

    None unless many systems have one matrix, too large to stay in the caches with each of them,
    some systems stay in the third cache together, and the tree can be cut into families.
    """
    # The last argument is what `team_or_self` depends on besides its own.
    return _share(tree, table.shape, u.shape, u.dtype, torch.get_num_threads())


def stays_near(table: Tensor) -> bool:
    """Whether a table of coefficients stays in the caches from one system to the next."""
    return _near(table.shape, table.element_size())


def _near(table: torch.Size, item: int) -> bool:
    return prod(table[-2:]) * item <= _SMALL


@lru_cache(maxsize=64)
def _share(
    tree: Tree, table: torch.Size, full: torch.Size, dtype: torch.dtype, threads: int
) -> Sharing | None:
    systems, channels, item = prod(full[:-2]), full[-1], dtype.itemsize
    if systems < _MANY or channels == 1 or prod(table[:-2]) > 1 or _near(table, item):
        return None
    width = channels * item
    together = _CHUNK // (tree.num_nodes * width)
    if together < TURNS:
        return None
    found = families(tree, width)
    if found is None:
        return None
    pieces, top, segments, crown = found
    return Sharing(
        team_or_self(prod(full)),
        (pieces, top),
        segments,
        crown,
        unsigned(systems, together - together % TURNS),
    )
