"""How the generators' loops are compiled."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile `function` on first use, to run without the interpreter lock.

    Arithmetic stays strict IEEE, so that a seed gives the same bytes wherever it is drawn from.
    Machine code is kept on disk where some cache directory is writable, else in memory.

    Example:
        >>> @kernel
        ... def double(x: int) -> int:
        ...     return 2 * x
        >>> double(21)
        42
    """
    try:
        compiled = numba.njit(nogil=True, error_model="numpy", cache=True)(function)
    except RuntimeError:  # numba found no place for its cache
        compiled = numba.njit(nogil=True, error_model="numpy")(function)
    return cast(Function, compiled)
