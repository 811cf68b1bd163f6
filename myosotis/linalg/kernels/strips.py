"""Strips of a row that stay in registers: vectors as values of compiled code.

A kernel loads a strip, adds products to it and stores it, so that what several rows have in common
is read once, and memory is met in pieces long enough to be fetched ahead. The arithmetic is that of
`rows`, term after term: an element has the same bits in a strip of any width.

How wide a strip is shows in its type, so another strip tells `load` what to load.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from myosotis.linalg.kernels.vectors import LINE, Kind, Row

__all__ = [
    "NARROW",
    "WIDE",
    "add_product",
    "load",
    "load_coefficient",
    "narrow",
    "single",
    "store",
    "store_away",
    "subtract_product",
    "subtract_real_products",
    "wide",
]

WIDE = 2 * LINE  # bytes: longer strips are hardly faster, shorter ones are not fetched ahead
NARROW = 4  # numbers, of which the short rows of small models consist


class _StripType(types.Type):
    """So many numbers of a dtype."""

    def __init__(self, dtype: Any, lanes: int) -> None:
        self.dtype, self.lanes = dtype, lanes
        super().__init__(name=f"Strip({dtype}, {lanes})")

    @property
    def parts(self) -> tuple[Any, int]:
        """The type of real numbers that a number consists of, and how many."""
        is_complex = isinstance(self.dtype, types.Complex)
        return (self.dtype.underlying_float, 2) if is_complex else (self.dtype, 1)


@register_model(_StripType)
class _StripModel(models.PrimitiveModel):
    def __init__(self, manager: Any, strip: _StripType) -> None:
        real, parts = strip.parts
        number = ir.FloatType() if real.bitwidth == 32 else ir.DoubleType()
        super().__init__(manager, strip, ir.VectorType(number, parts * strip.lanes))


@intrinsic
def wide(typingctx: Any, unit: Any) -> Any:
    """A wide strip of zeros; `unit` is any number of the dtype."""
    real, parts = _StripType(unit, 0).parts
    return _blank(unit, 8 * WIDE // (parts * real.bitwidth))


@intrinsic
def narrow(typingctx: Any, unit: Any) -> Any:
    """A narrow strip of zeros."""
    return _blank(unit, NARROW)


@intrinsic
def single(typingctx: Any, unit: Any) -> Any:
    """A strip of one zero."""
    return _blank(unit, 1)


def _blank(unit: Any, lanes: int) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(context.get_value_type(signature.return_type), None)

    return _StripType(unit, lanes)(unit), codegen


@intrinsic
def load(typingctx: Any, like: Any, address: Any) -> Any:
    """The strip at an address, of the width and dtype of another."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row = _row(context, builder, like)
        return row.load(args[1], row.index(0), args[0].type)

    return like(like, address), codegen


@intrinsic
def load_coefficient(typingctx: Any, like: Any, address: Any, one: Any) -> Any:
    """The same, or, unless `one` is None, the number at the address in every place."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row = _row(context, builder, like, spread=one is not types.none)
        return row.load_coefficient(args[1], row.index(0), args[0].type)

    return like(like, address, one), codegen


@intrinsic
def add_product(typingctx: Any, total: Any, coefficient: Any, value: Any, sign: Any) -> Any:
    """total + coefficient · value; conjugate the coefficient if `sign` is −1. total may be None."""
    return value(total, coefficient, value, sign), _accumulating(total, value, subtract=False)


@intrinsic
def subtract_product(typingctx: Any, total: Any, coefficient: Any, value: Any, sign: Any) -> Any:
    """total − coefficient · value; otherwise as `add_product`."""
    return value(total, coefficient, value, sign), _accumulating(total, value, subtract=True)


@intrinsic
def subtract_real_products(typingctx: Any, total: Any, left: Any, right: Any) -> Any:
    """total − left · right, real and imaginary parts each by themselves."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fsub(args[0], builder.fmul(args[1], args[2]))

    return total(total, left, right), codegen


@intrinsic
def store(typingctx: Any, strip: Any, address: Any) -> Any:
    """Write a strip to an address."""
    return types.void(strip, address), _storing(strip, stream=False)


@intrinsic
def store_away(typingctx: Any, strip: Any, address: Any) -> Any:
    """The same past the caches, if it fills lines of them; their addresses must be aligned."""
    return types.void(strip, address), _storing(strip, stream=True)


def _accumulating(total: Any, strip: _StripType, subtract: bool) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        so_far, coefficient, value, sign = args
        row = _row(context, builder, strip, subtract=subtract)
        product = row.product(coefficient, value, sign, value.type)
        return row.accumulate(None if total is types.none else so_far, product)

    return codegen


def _storing(strip: _StripType, stream: bool) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value, address = args
        row = _row(context, builder, strip, stream=stream)
        row.store(value, address, row.index(0), strip.lanes)
        return context.get_dummy_value()

    return codegen


def _row(
    context: Any,
    builder: Any,
    strip: _StripType,
    *,
    subtract: bool = False,
    spread: bool = False,
    stream: bool = False,
) -> Row:
    return Row(context, builder, strip.dtype, Kind(subtract, spread, stream))
