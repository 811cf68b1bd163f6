"""How loops are compiled."""

from collections.abc import Callable
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
        compiled = numba.njit(cache=True, **settings)(function)
    except RuntimeError:  # numba found no place for its cache
        compiled = numba.njit(**settings)(function)
    return cast(Function, compiled)
