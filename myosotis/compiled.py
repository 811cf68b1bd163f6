"""How loops are compiled."""

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar, cast

import numba

__all__ = ["inlined", "kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile `function` on first use, for any argument types, to run without the interpreter lock.

    Arithmetic stays strict IEEE: with nothing reassociated or contracted, every element is
    computed in the same way wherever a loop is split between threads or vector lanes, and a seed
    gives the same bytes wherever it is drawn from. Machine code is kept on disk where some cache
    directory is writable, and in memory where none is.

    Example:
        >>> @kernel
        ... def double(x: int) -> int:
        ...     return 2 * x
        >>> double(21)
        42
    """
    return _compiled(function, inline=False)


def inlined(function: Function) -> Function:
    """The same for a part of other kernels, in which it leaves no call: the body of a loop.

    Example:
        >>> @inlined
        ... def double(x: int) -> int:
        ...     return 2 * x
        >>> double(21)
        42
    """
    return _compiled(function, inline=True)


def _compiled(function: Function, inline: bool) -> Function:
    settings: dict[str, Any] = {"nogil": True, "error_model": "numpy", "forceinline": inline}
    try:
        # What is inlined is kept with the kernels that it is a part of.
        compiled = numba.njit(cache=not inline, **settings)(function)
    except RuntimeError:  # numba found no place for its cache
        compiled = numba.njit(**settings)(function)
    kept = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if kept is not None:
        # Numba looks at the file of the function only, and would go on with machine code that
        # contains what another file said when it was compiled.
        with suppress(OSError):  # in an archive, where files do not change one by one
            kept._source_stamp = _stamp(function)
    return cast(Function, compiled)


def _stamp(function: Function) -> tuple[tuple[str, float, int], ...]:
    """Date and size of each file of this package that a kernel is compiled from."""
    to_read, names = [function.__module__], set[str]()
    while to_read:
        name = to_read.pop()
        if name not in names:
            names.add(name)
            to_read += _sources(vars(sys.modules[name]))
    found = ((name, os.stat(str(sys.modules[name].__file__))) for name in sorted(names))
    return tuple((name, stat.st_mtime, stat.st_size) for name, stat in found)


def _sources(namespace: Mapping[str, Any]) -> set[str]:
    """The modules of this package that define the functions of a namespace."""
    package = __name__.partition(".")[0]
    defined_in = (getattr(value, "__module__", None) for value in namespace.values())
    return {name for name in defined_in if name and name.startswith(f"{package}.")}
