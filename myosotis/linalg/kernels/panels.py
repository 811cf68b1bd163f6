"""The vectorised primitives of the sweeps over dense blocks: panels of rows side by side.

A panel holds, for each entry of a block, `LANES` numbers that belong to as many systems or
right-hand sides. As in `rows`, ranges are given by their addresses and results have the same bits
wherever they are computed.
"""

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from myosotis.linalg.kernels.vectors import LANES, Kind, Row

__all__ = ["exchange", "subtract", "subtract_each"]


@intrinsic
def subtract(
    typingctx: Any, unit: Any, out: Any, n: Any, count: Any, coefficient: Any, value: Any, sign: Any
) -> Any:
    """out −= Σ_k coefficient_k · value_k, k = 0 … count−1, rows of n numbers.

    `coefficient` and `value` are (address for k = 0, bytes from one k to the next); a coefficient
    is one number, conjugated if `sign` is −1.
    """
    kind = Kind(subtract=True, spread=True, stream=False)
    signature = types.void(unit, out, n, count, coefficient, value, sign)
    return signature, _subtraction(unit, kind, widths=(LANES, 4, 1))


@intrinsic
def subtract_each(
    typingctx: Any, unit: Any, out: Any, n: Any, count: Any, coefficient: Any, value: Any, sign: Any
) -> Any:
    """As `subtract`, but a coefficient is `LANES` numbers, which serve every `LANES` of the row."""
    kind = Kind(subtract=True, spread=False, stream=False)
    signature = types.void(unit, out, n, count, coefficient, value, sign)
    return signature, _subtraction(unit, kind, widths=(LANES,))


@intrinsic
def exchange(typingctx: Any, unit: Any, upper: Any, lower: Any, n: Any) -> Any:
    """Exchange two rows of n numbers in the lanes where the first number of `lower` is larger."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, upper, lower, n = args
        row = Row(context, builder, unit, Kind(subtract=False, spread=False, stream=False))
        start, vector = row.index(0), row.vector(LANES)
        sizes = [_size(row, row.load(address, start, vector)) for address in (upper, lower)]
        swap = builder.fcmp_ordered("<", *sizes)

        def step(i: Any, lanes: int) -> None:
            a, b = row.load(upper, i, vector), row.load(lower, i, vector)
            row.store(builder.select(swap, b, a), upper, i, lanes)
            row.store(builder.select(swap, a, b), lower, i, lanes)

        row.loop(n, step, widths=(LANES,))
        return context.get_dummy_value()

    return types.void(unit, upper, lower, n), codegen


def _size(row: Row, v: Any) -> Any:
    """What pivots are compared by: |z|, or |re| + |im|."""
    if not row.is_complex:
        return row.magnitude(v)
    return row.builder.fadd(*map(row.magnitude, row.halves(v)))


def _subtraction(unit: Any, kind: Kind, widths: tuple[int, ...]) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, out, n, count, coefficient, value, sign = args
        row = Row(context, builder, unit, kind)
        (c_start, c_step), (v_start, v_step) = (
            cgutils.unpack_tuple(builder, pair) for pair in (coefficient, value)
        )

        def step(i: Any, lanes: int) -> None:
            vector = row.vector(lanes)
            total = cgutils.alloca_once(builder, vector)
            builder.store(row.load(out, i, vector), total)
            with cgutils.for_range(builder, count, intp=row.index) as k:
                c = builder.add(c_start, builder.mul(k.index, c_step))
                v = builder.add(v_start, builder.mul(k.index, v_step))
                # With a coefficient for each lane, the lanes repeat: it is not moved along by i.
                factor = row.load_coefficient(c, row.index(0), vector)
                value = row.load(v, i, vector)
                builder.store(row.accumulate(builder.load(total), factor, value, sign), total)
            row.store(builder.load(total), out, i, lanes)

        row.loop(n, step, widths)
        return context.get_dummy_value()

    return codegen
