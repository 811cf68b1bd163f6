"""Compiled loops of the blocks on the CPU. Numba is imported with them, on first use."""

__all__ = ["LANES"]

LANES = 16  # numbers in a vector; matrices are multiples of it wide
