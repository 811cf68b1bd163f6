"""What a process does with memory that it has freed."""

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["freed_memory_kept", "return_free_pages", "reusable"]

_ALIGNMENT = 64  # bytes, a line of the cache, as torch aligns its own tensors
_STEP = 1 << 21  # bytes, a huge page: sizes are rounded up to multiples of it
_MOST = 1 << 30  # bytes that are held for reuse: x of a million rows, and what its solve keeps

_held: dict[int, list["_Block"]] = {}  # by size, those freed last at the end
_lock = threading.RLock()  # a block may be freed in the middle of anything, also of `reusable`

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # names of settings in glibc's malloc.h
_LARGEST = 1 << 25  # bytes: the most that glibc takes for the second of them
_NEVER = (1 << 31) - 1


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """While it lasts, freed memory stays with the process; afterwards it is given back.

    A step of training frees the same hundreds of megabytes that the next one asks for. Left to
    itself, the C library of Linux (glibc) returns them to the system and gets them anew, page by
    page, each filled with zeros first. Nothing changes where there is another C library.

    Example:
        >>> with freed_memory_kept():
        ...     pass
    """
    settings = _function("mallopt")
    if settings is None:
        yield
        return
    settings(_MMAP_THRESHOLD, _LARGEST)
    settings(_TRIM_THRESHOLD, _NEVER)
    try:
        yield
    finally:
        # To be set at all ends glibc's own adjustment; this is where that would lead.
        settings(_TRIM_THRESHOLD, 2 * _LARGEST)
        return_free_pages()


class _Block(NamedTuple):
    """Memory for reuse, and the first address in it that is aligned."""

    memory: NDArray[np.uint8]
    address: int
    size: int  # from there on


class _Lease:
    """What arrays refer to as long as they use a block."""

    __slots__ = ("__array_interface__", "_block")

    def __init__(self, block: _Block, size: int) -> None:
        data = {"shape": (size,), "typestr": "|u1", "data": (block.address, False), "version": 3}
        self.__array_interface__ = data
        self._block = block

    def __del__(self, finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if not finalizing():  # else there may be nothing left to hold it with
            _hold(self._block)


def reusable(size: int) -> NDArray[np.uint8]:
    """So many bytes, with anything in them; when nobody has them any more, a later call may.

    New memory costs more than to write to it: the system clears it, page by page. A gibibyte
    at most is held back for later calls, and `return_free_pages` gives it up.

    Example:
        >>> reusable(1 << 22).nbytes
        4194304
    """
    rounded = -(-size // _STEP) * _STEP
    with _lock:
        blocks = _held.get(rounded)
        block = blocks.pop() if blocks else None
    return np.asarray(_Lease(block or _new(rounded), size))


def _new(size: int) -> _Block:
    memory = np.empty(size + _ALIGNMENT, dtype=np.uint8)  # NumPy asks for huge pages
    return _Block(memory, memory.ctypes.data + -memory.ctypes.data % _ALIGNMENT, size)


def _hold(block: _Block) -> None:
    with _lock:
        # The size that was freed last goes to the end; what is let go has not been used for long.
        _held[block.size] = [*_held.pop(block.size, []), block]
        while sum(size * len(blocks) for size, blocks in _held.items()) > _MOST:
            oldest = next(iter(_held))
            del _held[oldest][0]
            if not _held[oldest]:
                del _held[oldest]


def return_free_pages() -> None:
    """Give the system what was freed but is still held, where that can be asked for.

    Example:
        >>> return_free_pages()
    """
    with _lock:
        _held.clear()
    trim = _function("malloc_trim")
    if trim is not None:
        trim(0)


def _function(name: str) -> Callable[..., int] | None:
    """A function of the C library; None where it has no such one."""
    try:
        return getattr(ctypes.CDLL(None), name, None)
    except TypeError:  # Windows
        return None
