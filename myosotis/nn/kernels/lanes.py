"""Vectors of numbers in code that is being generated, with the arithmetic of formulas.

The compiler's own vectors are half as wide as the widest registers, and their arithmetic is as
strict as that of single numbers; here products and sums are fused, for every lane alike.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from myosotis.linalg.kernels.vectors import multiply_add
from myosotis.nn.kernels import LANES

__all__ = ["Register", "Vector", "over_vectors"]

_BYTES = 4
_INDEX, _WHOLE = ir.IntType(64), ir.IntType(32)
_REALS, _WHOLES = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(_WHOLE, LANES)


class Vector:
    """`LANES` numbers, float32 or uint32, that the generated code will hold in a register.

    The other operand of an operation is a vector of the same type or a Python number.
    """

    def __init__(self, builder: Any, value: Any) -> None:
        self._builder, self._value = builder, value

    @classmethod
    def repeated(cls, builder: Any, number: Any) -> "Vector":
        """The same number of the generated code in all lanes."""
        kind = ir.VectorType(number.type, LANES)
        undefined = ir.Constant(kind, ir.Undefined)
        one = builder.insert_element(undefined, number, _WHOLE(0))
        return cls(builder, builder.shuffle_vector(one, undefined, ir.Constant(_WHOLES, None)))

    @classmethod
    def counting(cls, builder: Any, first: Any) -> "Vector":
        """first, first + 1, …, a number of the generated code being the first."""
        steps = cls(builder, ir.Constant(_WHOLES, list(range(LANES))))
        return cls.repeated(builder, first) + steps

    @classmethod
    def zero(cls, builder: Any) -> "Vector":
        """Zero in all lanes."""
        return cls(builder, ir.Constant(_REALS, [0.0] * LANES))

    @classmethod
    def load(cls, builder: Any, address: Any) -> "Vector":
        """The float32 numbers at an address."""
        pointer = builder.inttoptr(address, _REALS.as_pointer())
        return cls(builder, builder.load(pointer, align=_BYTES, typ=_REALS))

    def store(self, address: Any) -> None:
        """Writes the numbers to an address."""
        pointer = self._builder.inttoptr(address, self._value.type.as_pointer())
        self._builder.store(self._value, pointer, align=_BYTES)

    def _operand(self, other: "Vector | float") -> Any:
        if isinstance(other, Vector):
            return other._value
        return ir.Constant(self._value.type, [other] * LANES)

    def _new(self, value: Any) -> "Vector":
        return Vector(self._builder, value)

    @property
    def _is_real(self) -> bool:
        return isinstance(self._value.type.element, ir.FloatType)

    def __add__(self, other: "Vector | float") -> "Vector":
        add = self._builder.fadd if self._is_real else self._builder.add
        return self._new(add(self._value, self._operand(other)))

    def __sub__(self, other: "Vector | float") -> "Vector":
        return self._new(self._builder.fsub(self._value, self._operand(other)))

    def __rsub__(self, other: float) -> "Vector":
        return self._new(self._builder.fsub(self._operand(other), self._value))

    def __mul__(self, other: "Vector | float") -> "Vector":
        multiply = self._builder.fmul if self._is_real else self._builder.mul
        return self._new(multiply(self._value, self._operand(other)))

    def __rtruediv__(self, other: float) -> "Vector":
        return self._new(self._builder.fdiv(self._operand(other), self._value))

    def __xor__(self, other: "Vector") -> "Vector":
        return self._new(self._builder.xor(self._value, other._value))

    def __rshift__(self, bits: int) -> "Vector":
        return self._new(self._builder.lshr(self._value, self._operand(bits)))

    def __lshift__(self, bits: int) -> "Vector":
        return self._new(self._builder.shl(self._value, self._operand(bits)))

    def times_plus(self, factor: "Vector | float", summand: "Vector | float") -> "Vector":
        """self · factor + summand, rounded once."""
        numbers = self._value, self._operand(factor), self._operand(summand)
        return self._new(multiply_add(self._builder, *numbers))

    def clamp(self, lowest: float, highest: float) -> "Vector":
        """Numbers outside of a range become its ends; what is no number stays none."""
        value = self._value
        for sign, bound in (("<", lowest), (">", highest)):
            end = self._operand(bound)
            outside = self._builder.fcmp_ordered(sign, value, end)
            value = self._builder.select(outside, end, value)
        return self._new(value)

    def kept_from(self, threshold: "Vector", reals: "Vector") -> "Vector":
        """The lanes of `reals` where the whole numbers here reach a threshold; zero elsewhere."""
        reached = self._builder.icmp_unsigned(">=", self._value, threshold._value)
        zero = ir.Constant(_REALS, [0.0] * LANES)
        return self._new(self._builder.select(reached, reals._value, zero))

    def total(self) -> Any:
        """The sum of the lanes, pairwise, as one number of the generated code."""
        lanes = self._value
        while lanes.type.count > 1:
            half = lanes.type.count // 2
            parts = [
                self._builder.shuffle_vector(
                    lanes,
                    lanes,
                    ir.Constant(ir.VectorType(_WHOLE, half), list(range(start, start + half))),
                )
                for start in (0, half)
            ]
            lanes = self._builder.fadd(*parts)
        return self._builder.extract_element(lanes, _WHOLE(0))

    def as_bits(self) -> "Vector":
        """The bits of real numbers as whole ones."""
        return self._new(self._builder.bitcast(self._value, _WHOLES))

    def as_real(self) -> "Vector":
        """Whole numbers as the real ones with the same bits."""
        return self._new(self._builder.bitcast(self._value, _REALS))


class Register:
    """A vector that changes in the course of a loop; `now` is its value at this point of the code.

    Args:
        first: its value when the code gets here.
    """

    def __init__(self, first: Vector) -> None:
        self._builder = first._builder
        self._place = cgutils.alloca_once_value(self._builder, first._value)

    @property
    def now(self) -> Vector:
        """The vector."""
        return Vector(self._builder, self._builder.load(self._place))

    @now.setter
    def now(self, vector: Vector) -> None:
        self._builder.store(vector._value, self._place)


Formula = Callable[..., tuple[Vector, ...]]


def over_vectors(formula: Formula) -> Any:
    """Make loops out of a formula: `loops(outputs, sums, inputs, columns, settings, shape)`.

    Outputs and inputs are tuples of the addresses of contiguous float32 matrices of one shape,
    (rows, width), the width a multiple of `LANES`; columns and sums are tuples of the addresses of
    `width` numbers. The formula is given the vectors of the inputs, then of the columns, then the
    settings, each repeated in all lanes, and the places of the lanes in the matrix; it returns the
    vectors of the outputs, then those which are added to the sums. An output may be an input.
    """

    def typed(
        typingctx: Any,
        outputs: Any,
        added: Any,
        inputs: Any,
        columns: Any,
        settings: Any,
        shape: Any,
    ) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            to, into, of, along, given, (rows, width) = (
                cgutils.unpack_tuple(builder, t) for t in args
            )
            constants = [Vector.repeated(builder, number) for number in given]
            step = _INDEX(LANES)
            with cgutils.for_range_slice(builder, _INDEX(0), width, step, intp=_INDEX) as (j, _):
                fixed = [Vector.load(builder, _at(builder, address, j)) for address in along]
                totals = [_at(builder, address, j) for address in into]
                sums = [Register(Vector.load(builder, address)) for address in totals]
                with cgutils.for_range(builder, rows, intp=_INDEX) as loop:
                    i = builder.add(builder.mul(loop.index, width), j)
                    vectors = [Vector.load(builder, _at(builder, address, i)) for address in of]
                    place = Vector.counting(builder, builder.trunc(i, _WHOLE))
                    results = formula(*vectors, *fixed, *constants, place)
                    for address, result in zip(to, results[: len(to)], strict=True):
                        result.store(_at(builder, address, i))
                    for total, result in zip(sums, results[len(to) :], strict=True):
                        total.now = total.now + result
                for total, address in zip(sums, totals, strict=True):
                    total.now.store(address)
            return context.get_dummy_value()

        return types.void(outputs, added, inputs, columns, settings, shape), codegen

    typed.__name__ = typed.__qualname__ = formula.__name__
    return intrinsic(typed)


def _at(builder: Any, address: Any, number: Any) -> Any:
    """The address of a number of a matrix."""
    return builder.add(address, builder.mul(number, _INDEX(_BYTES)))
