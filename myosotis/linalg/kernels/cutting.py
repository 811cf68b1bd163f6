"""Rows cut into strips, wide ones, then narrow ones, then single numbers, and strips put back."""

from numba import uintp

from myosotis.compiled import inlined, kernel
from myosotis.linalg.kernels.strips import (
    NARROW,
    WIDE,
    bytes_of,
    narrow,
    single,
    store,
    store_away,
    wide,
)

__all__ = ["cuts", "over_broad_strips", "over_strips", "put"]


@kernel
def cuts(size, item, broad=WIDE):
    """How a row of `size` bytes is cut: ends of the broad, narrow and single strips; `item`."""
    end = size - size % uintp(broad)
    return end, size - (size - end) % (uintp(NARROW) * item), size, item


@inlined
def over_strips(unit, cuts, body, arguments):
    """Call body(like, at, *arguments) for every strip of a row, `at` being its place in bytes."""
    over_broad_strips(wide(unit), unit, cuts, body, arguments)


@inlined
def over_broad_strips(broad, unit, cuts, body, arguments):
    """The same with other broad strips, for which the row must be cut too."""
    broad_end, narrow_end, end, item = cuts
    at = uintp(0)
    while at < broad_end:
        body(broad, at, *arguments)
        at += bytes_of(broad)
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
