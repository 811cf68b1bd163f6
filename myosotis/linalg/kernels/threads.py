"""Running a kernel on the threads that torch itself uses.

A second pool of threads would fight with torch's for the cores: torch's workers go on spinning for
a while after each of its operations, and others would have to wait for them. Where torch's OpenMP
runtime can be reached (it exports `GOMP_parallel`, the entry that compilers use), kernels run on
that very pool; elsewhere on a few plain threads. Kernels release the interpreter lock, so nothing
else is needed. How many threads take part follows `torch.set_num_threads`; what they compute does
not depend on it.
"""

import ctypes
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import count, pairwise
from typing import Any, TypeVar

import torch

__all__ = ["run_on_threads", "spans"]

_SMALL = 1 << 18  # elements of work below which a second thread costs more than it brings
_TeamBody = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

Result = TypeVar("Result")


def spans(length: int, work: int, multiple: int = 1) -> list[tuple[int, int]]:
    """Cut 0 … length into one span per thread, nearly equal and at multiples of `multiple`."""
    parts = torch.get_num_threads() if work > _SMALL else 1
    blocks = -(-length // multiple)
    cuts = [min(length, (blocks * i // parts) * multiple) for i in range(parts)] + [length]
    return [(low, high) for low, high in pairwise(cuts) if low < high]


def run_on_threads(
    task: Callable[[int, int], Result], pieces: Sequence[tuple[int, int]]
) -> list[Result]:
    """Run task(low, high) on all pieces at once; the results in the order of the pieces."""
    if len(pieces) < 2:
        return [task(*piece) for piece in pieces]
    parallel = _team_runner()
    if parallel is None:
        pool = _workers(os.getpid(), len(pieces))
        return list(pool.map(lambda piece: task(*piece), pieces))
    done: dict[int, Result] = {}
    failed: list[BaseException] = []
    turn = count()

    def body(_: int | None) -> None:
        try:
            while (i := next(turn)) < len(pieces):
                done[i] = task(*pieces[i])
        except BaseException as error:
            failed.append(error)

    parallel(_TeamBody(body), None, len(pieces), 0)
    if failed:
        raise failed[0]
    return [done[i] for i in range(len(pieces))]


@lru_cache(maxsize=1)
def _team_runner() -> Any | None:
    """`GOMP_parallel(body, data, threads, flags)` of the OpenMP runtime that torch has loaded."""
    try:
        runner = ctypes.CDLL(None).GOMP_parallel
    except (AttributeError, OSError, TypeError):  # another runtime; no such library; Windows
        return None
    runner.argtypes = [_TeamBody, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint]
    runner.restype = None
    return runner


@lru_cache(maxsize=4)
def _workers(process: int, threads: int) -> ThreadPoolExecutor:
    # Keyed by process: threads do not survive a fork, so a forked worker starts its own.
    return ThreadPoolExecutor(threads, thread_name_prefix="myosotis")
