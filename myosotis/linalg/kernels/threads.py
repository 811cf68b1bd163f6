"""Running a kernel on the threads that torch itself uses.

A second pool of threads would fight with torch's for the cores: torch's workers go on spinning for
a while after each of its operations, and others would have to wait for them. Where torch's OpenMP
runtime can be reached (it exports `GOMP_parallel`, the entry that compilers use), kernels run on
that very pool; elsewhere on plain threads. Kernels release the interpreter lock, so nothing else is
needed. How many threads take part follows `torch.set_num_threads`; what they compute does not
depend on it.
"""

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from myosotis.linalg.kernels import plain_threads

__all__ = ["Pieces", "Team", "run_on_threads", "spans", "team_for", "team_or_self"]

Pieces = NDArray[np.uint64]  # (number of pieces, numbers that describe one)
Team = tuple[np.uint64, np.uint64, np.uint64]  # see `team`

_SMALL = 1 << 16  # elements of work below which a second thread costs more than it brings
_ALONE = (np.uint64(0), np.uint64(0), np.uint64(1))  # a team of the calling thread
_PIECES = 4  # for each thread, where there is enough to cut


def spans(length: int, work: int, *, multiple: int = 1, least: int = 1) -> Pieces:
    """Cut 0 … length into nearly equal pieces (low, high), at multiples of `multiple`.

    There is at least one for each thread, if `work` is worth it, and there are more as long as
    none becomes shorter than `least`.
    """
    return _spans(length, _threads_for(work), multiple, least)


def team_for(work: int) -> Team | None:
    """The threads that so much work is worth, if these are several."""
    threads = _threads_for(work)
    return None if threads < 2 else _team(threads)


def team_or_self(work: int) -> Team:
    """The same, or the calling thread alone."""
    return team_for(work) or _ALONE


def _threads_for(work: int) -> int:
    return torch.get_num_threads() if work > _SMALL else 1


@lru_cache(maxsize=256)
def _spans(length: int, threads: int, multiple: int, least: int) -> Pieces:
    parts = max(threads, min(_PIECES * threads, length // least)) if threads > 1 else 1
    blocks = -(-length // multiple)
    inner = [(blocks * i // parts) * multiple for i in range(parts)]
    cuts = np.unique(np.array([*inner, length], dtype=np.uint64))
    return np.ascontiguousarray(np.stack([cuts[:-1], cuts[1:]], axis=1))


def run_on_threads(kernel: Callable[..., Any], pieces: Pieces, *arguments: Any) -> None:
    """Call kernel(team, pieces, *arguments), which deals the pieces out to the team."""
    threads = min(len(pieces), torch.get_num_threads())
    kernel(_ALONE if threads < 2 else _team(threads), pieces, *arguments)


def _team(threads: int) -> Team:
    return *(_openmp() or plain_threads.addresses()), np.uint64(threads)


@lru_cache(maxsize=1)
def _openmp() -> tuple[np.uint64, np.uint64] | None:
    """Addresses of `GOMP_parallel` and `omp_get_thread_num` in the runtime torch has loaded."""
    try:
        library = ctypes.CDLL(None)
        functions = library.GOMP_parallel, library.omp_get_thread_num
    except (AttributeError, OSError, TypeError):  # another runtime; no such library; Windows
        return None
    run, number = (np.uint64(ctypes.cast(f, ctypes.c_void_p).value or 0) for f in functions)
    return run, number
