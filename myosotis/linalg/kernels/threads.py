"""Running a kernel on a few plain threads.

Kernels release the interpreter lock, so ordinary threads are enough. They sleep while there is
nothing to do: a second pool of spinning workers would fight with torch's own for the cores. How
many take part follows `torch.set_num_threads`; what they compute does not depend on it.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
from typing import TypeVar

import torch

__all__ = ["run_on_threads", "spans"]

_SMALL = 1 << 14  # elements of work below which a second thread costs more than it brings

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
    """Run task(low, high) on all pieces at once: the first on this thread, others on workers."""
    if len(pieces) < 2:
        return [task(*piece) for piece in pieces]
    pool = _workers(os.getpid(), torch.get_num_threads())
    pending = [pool.submit(task, *piece) for piece in pieces[1:]]
    return [task(*pieces[0])] + [future.result() for future in pending]


@lru_cache(maxsize=8)
def _workers(process: int, threads: int) -> ThreadPoolExecutor:
    # Keyed by process: threads do not survive a fork, so a forked worker starts its own.
    return ThreadPoolExecutor(max(1, threads - 1), thread_name_prefix="myosotis")
