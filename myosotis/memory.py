"""What a process does with memory that it has freed."""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["freed_memory_kept", "return_free_pages"]

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


def return_free_pages() -> None:
    """Give the system what was freed but is still held, where that can be asked for.

    Example:
        >>> return_free_pages()
    """
    trim = _function("malloc_trim")
    if trim is not None:
        trim(0)


def _function(name: str) -> Callable[..., int] | None:
    """A function of the C library; None where it has no such one."""
    try:
        return getattr(ctypes.CDLL(None), name, None)
    except TypeError:  # Windows
        return None
