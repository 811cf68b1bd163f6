"""The vectorised primitives of which every sweep over diagonal blocks is made.

    combine, reduce    out[h] = start[h] ± Σ_i coefficient_i[h] · value_i[h]        h = 0 … n−1
    invert             out[h] = 1 / pivot[h]

Numbers are real or complex, each coefficient conjugated if its sign is −1. The compiler would
vectorise such a loop only behind run-time checks that no two of up to ten ranges overlap, which
cost more than the loop; here the vector instructions are written out, and the caller promises that
`out` is either the same range as another one or disjoint from it.

Ranges are given by their addresses in memory: plain integers, which kernels can compute and choose
between without any of the bookkeeping that arrays bring along.

Products are added term after term, each by a fused multiply-add that is written out, so that an
element has the same bits in whichever lane, remainder or thread it is computed.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from myosotis.linalg.kernels.vectors import Kind, Row

__all__ = ["combine", "fence", "fetch", "invert", "prefetch", "reduce"]


@intrinsic
def combine(typingctx: Any, unit: Any, out: Any, start: Any, n: Any, terms: Any, one: Any) -> Any:
    """out = start + Σ coefficient · value.

    `unit` is any number of the dtype in question; `out` and `start` are addresses, `start` may be
    None; `terms` is a tuple of (address of coefficient, address of value, sign); `one` is None
    unless each coefficient is a single number for all h.
    """
    kind = Kind(subtract=False, spread=one is not types.none, stream=False)
    return types.void(unit, out, start, n, terms, one), _row_loop(unit, start, kind)


@intrinsic
def reduce(typingctx: Any, unit: Any, out: Any, start: Any, n: Any, terms: Any) -> Any:
    """out = start − Σ coefficient · value; otherwise as `combine`."""
    kind = Kind(subtract=True, spread=False, stream=False)
    return types.void(unit, out, start, n, terms), _row_loop(unit, start, kind)


@intrinsic
def invert(typingctx: Any, unit: Any, out: Any, pivot: Any, n: Any, products: Any) -> Any:
    """out = 1/pivot, and −coefficient · out for each (coefficient, where to) of `products`.

    Returns whether a pivot was zero.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, out_address, pivot_address, length, packed = args
        row = Row(context, builder, unit, Kind(subtract=True, spread=False, stream=False))
        pairs = [cgutils.unpack_tuple(builder, t) for t in cgutils.unpack_tuple(builder, packed)]
        return row.invert(length, out_address, pivot_address, pairs)

    return types.boolean(unit, out, pivot, n, products), codegen


@intrinsic
def prefetch(typingctx: Any, address: Any) -> Any:
    """Ask for the memory at an address, which need not be valid, to be in the caches soon."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        fetch(builder, args[0])
        return context.get_dummy_value()

    return types.void(address), codegen


def fetch(builder: Any, address: Any) -> None:
    """Emit the instruction of `prefetch`."""
    pointer, small = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [pointer, small, small, small])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    # Into the second cache: the first one, being small, can wait for few rows at a time.
    read, keep, data = small(0), small(2), small(1)
    builder.call(function, [builder.inttoptr(address, pointer), read, keep, data])


@intrinsic
def fence(typingctx: Any) -> Any:
    """Let nothing written past the caches be overtaken by what follows."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), codegen


def _row_loop(unit: Any, start: Any, kind: Kind) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, out_address, start_address, length, packed = args[:5]
        row = Row(context, builder, unit, kind)
        terms = cgutils.unpack_tuple(builder, packed)
        products = [cgutils.unpack_tuple(builder, term) for term in terms]
        row.combine(length, out_address, None if start is types.none else start_address, products)
        return context.get_dummy_value()

    return codegen
