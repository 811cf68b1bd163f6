"""Rows cut into strips, wide ones, then narrow ones, then single numbers, and strips put back."""

from numba import uintp

from myosotis.compiled import inlined, kernel
from myosotis.linalg.kernels.strips import (
    NARROW,
    WIDE,
    narrow,
    single,
    store,
    store_away,
    wide,
)

__all__ = ["cuts", "over_strips", "put"]


@kernel
def cuts(size, item):
    """How a row of `size` bytes is cut: ends of the wide, narrow and single strips; `item`."""
    end = size - size % uintp(WIDE)
    return end, size - (size - end) % (uintp(NARROW) * item), size, item


@inlined
def over_strips(unit, cuts, body, arguments):
    """Call body(like, at, *arguments) for every strip of a row, `at` being its place in bytes."""
    wide_end, narrow_end, end, item = cuts
    at = uintp(0)
    while at < wide_end:
        body(wide(unit), at, *arguments)
        at += uintp(WIDE)
    while at < narrow_end:
        body(narrow(unit), at, *arguments)
        at += uintp(NARROW) * item
    while at < end:
        body(single(unit), at, *arguments)
        at += item


@inlined
def put(strip, address, away):
    """Write a strip to an address, past the caches if `away`."""
    if away:
        store_away(strip, address)
    else:
        store(strip, address)
