"""Benchmarks: declarative cases, interleaved timing, peak memory, and reports of both."""
