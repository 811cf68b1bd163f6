"""What all contenders written in JAX have in common."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from numpy.typing import NDArray

from myosotis.bench.case import Work

__all__ = ["compiled", "double_precision_jax"]


def double_precision_jax() -> Any:
    """The module `jax`, told not to turn float64 into float32."""
    jax = import_module("jax")
    jax.config.update("jax_enable_x64", True)
    return jax


def compiled(function: Callable[..., Any], *arrays: NDArray[Any]) -> Work:
    """A call of a JAX function on arrays, compiled ahead for their shapes and waited for.

    XLA keeps the pages that it frees, so the memory of a call cannot be seen from outside; the
    size of the buffers that the compiler laid out for it is exact.
    """
    jax = double_precision_jax()
    inputs = [jax.numpy.asarray(array) for array in arrays]
    program = jax.jit(function).lower(*inputs).compile()
    buffers = program.memory_analysis()
    extra = buffers.temp_size_in_bytes + buffers.output_size_in_bytes
    return Work(lambda: program(*inputs).block_until_ready(), extra_bytes=extra)
