"""Compiled loops of the blocks on the CPU. Numba is imported with them, on first use."""
