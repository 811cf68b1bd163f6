"""A team of plain threads, for where torch's own cannot be reached.

To compiled code it looks like an OpenMP runtime: a function that runs another one on so many
threads and waits for them all, and one that tells a thread its number. So nothing else has to know
which of the two there is.
"""

import ctypes
import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache

import numpy as np

__all__ = ["addresses"]

_BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # what a thread runs, on its data
_this = threading.local()


@lru_cache(maxsize=1)
def addresses() -> tuple[np.uint64, np.uint64]:
    """Of what stands for `GOMP_parallel` and for `omp_get_thread_num`."""
    run, number = (ctypes.cast(f, ctypes.c_void_p).value or 0 for f in (_run, _number))
    return np.uint64(run), np.uint64(number)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint)
def _run(body: int, data: int, threads: int, flags: int) -> None:
    call = _BODY(body)

    def work(number: int) -> None:
        _this.number = number
        call(data)

    others: list[Future[None]] = []
    with suppress(RuntimeError):  # no thread starts while Python ends; then the work is all our own
        for number in range(1, threads):
            others += [_pool(os.getpid(), threads).submit(work, number)]
    work(0)
    for other in others:
        other.result()


@ctypes.CFUNCTYPE(ctypes.c_int)
def _number() -> int:
    return getattr(_this, "number", 0)


@lru_cache(maxsize=4)
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    # Keyed by process: threads do not survive a fork, so a forked worker starts its own.
    return ThreadPoolExecutor(threads - 1, thread_name_prefix="myosotis")
