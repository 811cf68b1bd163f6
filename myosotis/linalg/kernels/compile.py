"""How kernels are compiled."""

from collections.abc import Callable
from typing import Any

import numba

__all__ = ["kernel"]


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` on first use, for any dtype, to run without the interpreter lock.

    Arithmetic stays strict IEEE: with nothing reassociated or contracted, every element is
    computed in the same way wherever a loop is split between threads or vector lanes. Machine
    code is kept on disk where some cache directory is writable, and in memory where none is.
    """
    try:
        return numba.njit(nogil=True, error_model="numpy", cache=True)(function)
    except RuntimeError:  # numba found no place for its cache
        return numba.njit(nogil=True, error_model="numpy")(function)
