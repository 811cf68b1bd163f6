"""Products of small matrices in vector registers, as the fused blocks need them.

A matrix is given by its address and the bytes from one row to the next. Its entries are float32.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from myosotis.linalg.kernels.rows import fetch
from myosotis.linalg.kernels.vectors import AVX512
from myosotis.nn.kernels import LANES
from myosotis.nn.kernels.lanes import Register, Vector

__all__ = ["add_product", "inner_product", "product"]

_BYTES = 4
# Vectors and rows of the result that are held in registers at once: as many sums as hide how long
# one takes, and no more than there are registers. AVX-512 has 32, each for a whole vector; AVX2 has
# 16 for half a vector each, NEON 32 for a quarter.
WIDE_PANELS, NARROW_PANELS = ((4, 4), (2, 8), (1, 8)), ((1, 6),)
PANELS = WIDE_PANELS if AVX512 else NARROW_PANELS
_REAL, _INDEX = ir.FloatType(), ir.IntType(64)


@intrinsic
def product(typingctx: Any, out: Any, size: Any, left: Any, right: Any, ahead: Any) -> Any:
    """out[m, n] = Σ_k left[m, k] · right[k, n].

    `out` and `right` are (address, bytes per row), `left` is (address, bytes from m to m + 1, bytes
    from k to k + 1), `size` is (m, k, n), n a multiple of `LANES`. Meanwhile m rows of each matrix
    of the tuple `ahead`, (address, bytes per row), are brought into the caches for what comes next:
    a core that waits for memory only between products computes for half of its time.
    """
    return types.void(out, size, left, right, ahead), _codegen(accumulate=False)


@intrinsic
def add_product(typingctx: Any, out: Any, size: Any, left: Any, right: Any, ahead: Any) -> Any:
    """out[m, n] += Σ_k left[m, k] · right[k, n]; otherwise as `product`."""
    return types.void(out, size, left, right, ahead), _codegen(accumulate=True)


@intrinsic
def inner_product(typingctx: Any, left: Any, right: Any, n: Any) -> Any:
    """Σ_j left[j] · right[j] of two ranges given by address, n a multiple of `LANES`.

    The lanes are summed pairwise at the end: the same bits wherever it is computed.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        left, right, n = args
        total = Register(Vector.zero(builder))
        with cgutils.for_range_slice(builder, _INDEX(0), n, _INDEX(LANES), intp=_INDEX) as (j, _):
            shift = builder.mul(j, _INDEX(_BYTES))
            a, b = (Vector.load(builder, builder.add(t, shift)) for t in (left, right))
            total.now = a.times_plus(b, total.now)
        return total.now.total()

    return types.float32(left, right, n), codegen


def _codegen(accumulate: bool) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        out, size, left, right, later = (cgutils.unpack_tuple(builder, t) for t in args)
        ahead = [cgutils.unpack_tuple(builder, matrix) for matrix in later]
        m, k, n = size

        def columns(start: Any, vectors: int, together: int) -> None:
            shift = builder.mul(start, _INDEX(_BYTES))
            panels = [(builder.add(address, shift), step) for address, step in (out, right)]
            last = _INDEX(0)
            for rows in sorted({together, 4, 1}, reverse=True):
                first = last
                last = builder.sub(m, builder.urem(builder.sub(m, first), _INDEX(rows)))
                with cgutils.for_range_slice(builder, first, last, _INDEX(rows), intp=_INDEX) as (
                    i,
                    _,
                ):
                    _panel(builder, panels, left, ahead, (i, rows), k, vectors, accumulate)

        first = _INDEX(0)
        for vectors, together in PANELS:
            width = vectors * LANES
            last = builder.and_(n, _INDEX(-width))  # widths are powers of two
            with cgutils.for_range_slice(builder, first, last, _INDEX(width), intp=_INDEX) as (
                j,
                _,
            ):
                columns(j, vectors, together)
            first = last
        return context.get_dummy_value()

    return codegen


def _panel(
    builder: Any,
    panels: list[Any],
    left: Any,
    ahead: list[Any],
    place: Any,
    k: Any,
    vectors: int,
    accumulate: bool,
) -> None:
    """A few rows and vectors of the result, summed over k in registers."""
    (out, out_step), (right, right_step) = panels
    left_address, m_step, k_step = left
    first, rows = place
    row = [builder.add(first, _INDEX(r)) for r in range(rows)]
    targets = [
        [_along(builder, out, [(row[r], out_step)], v) for v in range(vectors)] for r in range(rows)
    ]
    sums = [
        [Register(Vector.load(builder, t) if accumulate else Vector.zero(builder)) for t in line]
        for line in targets
    ]
    fetches = [
        (_along(builder, address, [(first, step)], 0), _share(builder, step, rows, k))
        for address, step in ahead
    ]
    with cgutils.for_range(builder, k, intp=_INDEX) as loop:
        for address, share in fetches:
            fetch(builder, _along(builder, address, [(loop.index, share)], 0))
        values = [
            Vector.load(builder, _along(builder, right, [(loop.index, right_step)], v))
            for v in range(vectors)
        ]
        for r in range(rows):
            place = _along(builder, left_address, [(row[r], m_step), (loop.index, k_step)], 0)
            number = builder.load(
                builder.inttoptr(place, _REAL.as_pointer()), align=_BYTES, typ=_REAL
            )
            factor = Vector.repeated(builder, number)
            for total, value in zip(sums[r], values, strict=True):
                total.now = factor.times_plus(value, total.now)
    for line, totals in zip(targets, sums, strict=True):
        for target, total in zip(line, totals, strict=True):
            total.now.store(target)


def _share(builder: Any, step: Any, rows: int, k: Any) -> Any:
    """Bytes of a few rows for each of k turns, rounded up to whole numbers of 4."""
    total = builder.add(builder.mul(step, _INDEX(rows)), builder.mul(k, _INDEX(_BYTES - 1)))
    return builder.and_(builder.udiv(total, k), _INDEX(-_BYTES))


def _along(builder: Any, address: Any, steps: list[tuple[Any, Any]], vector: int) -> Any:
    for count, step in steps:
        address = builder.add(address, builder.mul(count, step))
    return builder.add(address, _INDEX(vector * LANES * _BYTES))
