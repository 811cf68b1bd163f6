"""Kernels for the CPU, compiled by Numba on first use; nothing here is imported before that."""
