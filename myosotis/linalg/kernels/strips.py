"""Strips of a row that stay in registers: vectors as values of compiled code.

A kernel loads a strip, adds products to it and stores it, so that what several rows have in common
is read once, and memory is met in pieces long enough to be fetched ahead. The arithmetic is that of
`rows`, term after term: an element has the same bits in a strip of any width.

How wide a strip is shows in its type, so another strip tells `load` what to load.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

from myosotis.linalg.kernels.rows import fetch
from myosotis.linalg.kernels.vectors import AVX512, LINE, Kind, Row

__all__ = [
    "AHEAD",
    "NARROW",
    "WIDE",
    "add_product",
    "bytes_of",
    "fetch_ahead",
    "has_zero",
    "is_complex",
    "load",
    "load_coefficient",
    "narrow",
    "plus",
    "raise_flag",
    "reciprocal",
    "rolled",
    "short",
    "single",
    "store",
    "store_away",
    "subtract_product",
    "swapped",
    "wide",
]

# Bytes: shorter strips are not fetched ahead, longer ones do not stay in the registers.
WIDE = LINE * (4 if AVX512 else 2)
AHEAD = 1 << 12  # bytes before they are needed that rows are asked for: a page
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
def short(typingctx: Any, unit: Any) -> Any:
    """A strip of zeros so short that four, and what they are multiplied by, stay in registers."""
    real, parts = _StripType(unit, 0).parts
    return _blank(unit, 8 * (WIDE // parts if AVX512 else LINE) // (parts * real.bitwidth))


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
def bytes_of(typingctx: Any, strip: Any) -> Any:
    """How many bytes a strip fills, known when a kernel is compiled."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(ir.IntType(64), strip.lanes * _row(context, builder, strip).bytes)

    return types.uint64(strip), codegen


@intrinsic
def load(typingctx: Any, like: Any, address: Any) -> Any:
    """The strip at an address, of the width and dtype of another."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row = _row(context, builder, like)
        return row.load(args[1], row.index(0), args[0].type)

    return like(like, address), codegen


@intrinsic
def fetch_ahead(typingctx: Any, like: Any, address: Any) -> Any:
    """Ask for the strip at an address, which need not be valid, to be in the caches soon."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row = _row(context, builder, like)
        for start in range(0, like.lanes * row.bytes, LINE):
            fetch(builder, builder.add(args[1], row.index(start)))
        return context.get_dummy_value()

    return types.void(like, address), codegen


@intrinsic
def load_coefficient(typingctx: Any, like: Any, address: Any, one: Any) -> Any:
    """The same, or, unless `one` is None, the number at the address in every place."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row = _row(context, builder, like, spread=one is not types.none)
        return row.load_coefficient(args[1], row.index(0), args[0].type)

    return like(like, address, one), codegen


@intrinsic
def add_product(typingctx: Any, total: Any, coefficient: Any, value: Any, sign: Any) -> Any:
    """total + coefficient · value; conjugate the coefficient if `sign` is −1. total may be None.

    If `sign` is None, the coefficient is real, given in place of the real and the imaginary part.
    """
    kinds = (total, coefficient, value, sign)
    return value(*kinds), _accumulating(total, value, sign, subtract=False)


@intrinsic
def subtract_product(typingctx: Any, total: Any, coefficient: Any, value: Any, sign: Any) -> Any:
    """total − coefficient · value; otherwise as `add_product`."""
    kinds = (total, coefficient, value, sign)
    return value(*kinds), _accumulating(total, value, sign, subtract=True)


@intrinsic
def plus(typingctx: Any, left: Any, right: Any) -> Any:
    """left + right."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fadd(*args)

    return left(left, right), codegen


@intrinsic
def reciprocal(typingctx: Any, strip: Any) -> Any:
    """One over each number."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _row(context, builder, strip).reciprocal(args[0])[0]

    return strip(strip), codegen


@intrinsic
def has_zero(typingctx: Any, strip: Any) -> Any:
    """Whether a number is zero."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zeros = _row(context, builder, strip).reciprocal(args[0])[1]
        return cgutils.is_not_null(builder, builder.bitcast(zeros, ir.IntType(zeros.type.count)))

    return types.boolean(strip), codegen


@intrinsic
def raise_flag(typingctx: Any, address: Any) -> Any:
    """Set the byte at an address to 1: unlike an array, it takes no counting of references."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte = ir.IntType(8)
        builder.store(byte(1), builder.inttoptr(args[0], byte.as_pointer()))
        return context.get_dummy_value()

    return types.void(address), codegen


@intrinsic
def rolled(typingctx: Any) -> Any:
    """Keep the loop around it from being unrolled, which costs more than short loops take."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        # No instruction, but one that must not be executed under other conditions than here.
        nothing = ir.InlineAsm(ir.FunctionType(ir.VoidType(), []), "", "", side_effect=True)
        builder.call(nothing, []).attributes.add("convergent")
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def swapped(typingctx: Any, strip: Any) -> Any:
    """Real and imaginary parts exchanged; real numbers as they are."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row = _row(context, builder, strip)
        return row.swap(args[0]) if row.is_complex else args[0]

    return strip(strip), codegen


@intrinsic
def is_complex(typingctx: Any, strip: Any) -> Any:
    """Whether a strip consists of complex numbers, known when a kernel is compiled."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return cgutils.bool_t(_row(context, builder, strip).is_complex)

    return types.boolean(strip), codegen


@intrinsic
def store(typingctx: Any, strip: Any, address: Any) -> Any:
    """Write a strip to an address."""
    return types.void(strip, address), _storing(strip, stream=False)


@intrinsic
def store_away(typingctx: Any, strip: Any, address: Any) -> Any:
    """The same past the caches, if it fills lines of them; their addresses must be aligned."""
    return types.void(strip, address), _storing(strip, stream=True)


def _accumulating(total: Any, strip: _StripType, kind_of_sign: Any, subtract: bool) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        so_far, coefficient, value, sign = args
        row = _row(context, builder, strip, subtract=subtract)
        sign = None if kind_of_sign is types.none else sign
        so_far = None if total is types.none else so_far
        return row.accumulate(so_far, coefficient, value, sign)

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
