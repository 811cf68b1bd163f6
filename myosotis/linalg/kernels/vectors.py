"""Vector instructions for real and complex numbers, as the primitives of the sweeps need them.

A range of numbers is given by its address; complex numbers lie there as pairs (re, im).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core import cgutils

__all__ = ["AVX512", "LANES", "LINE", "Kind", "Row", "multiply_add"]

LANES = 16  # numbers handled at once: one or two vector registers of most machines
LINE = 64  # bytes of a line of the cache
AVX512 = get_host_cpu_features().get("avx512f", False)  # 32 registers of 64 bytes, not 16 of 32


def multiply_add(builder: Any, a: Any, b: Any, total: Any) -> Any:
    """Vectors a · b + total, rounded once; a · b if the total is None."""
    if total is None:
        return builder.fmul(a, b)
    number = 32 if isinstance(a.type.element, ir.FloatType) else 64
    kind = ir.FunctionType(a.type, [a.type] * 3)
    name = f"llvm.fma.v{a.type.count}f{number}"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [a, b, total])


class Kind(NamedTuple):
    """What distinguishes the primitives: the sign of the sum, one coefficient, how to store."""

    subtract: bool
    spread: bool
    stream: bool


class Row:
    """Emits the loops: vectors of many numbers, then of few, then what remains one by one."""

    def __init__(self, context: Any, builder: Any, dtype: Any, kind: Kind) -> None:
        self.builder, self.kind = builder, kind
        self.is_complex = isinstance(dtype, types.Complex)
        real = dtype.underlying_float if self.is_complex else dtype
        self.real = context.get_data_type(real)
        self.index = ir.IntType(64)
        self.parts = 2 if self.is_complex else 1  # real numbers in a number
        self.bytes = self.parts * context.get_abi_sizeof(self.real)

    def loop(
        self, n: Any, step: Callable[[Any, int], None], widths: tuple[int, ...] | None = None
    ) -> None:
        """Call step(i, lanes) for i up to n, always with the largest of the widths that fits.

        If no widths are given: as many numbers as fill a line of the cache, more would not stay in
        16 registers; then four, of which the short rows of small models consist; then one.
        """
        first = self.index(0)
        for lanes in widths or sorted({LINE // self.bytes, 4, 1}, reverse=True):
            last = self.builder.and_(n, self.index(-lanes))  # widths are powers of two
            with cgutils.for_range_slice(
                self.builder, first, last, self.index(lanes), intp=self.index
            ) as (i, _):
                step(i, lanes)
            first = last

    def combine(self, n: Any, out: Any, start: Any, products: list[Any]) -> None:
        """out = start ± Σ coefficient · value over products (coefficient, value, sign)."""

        def step(i: Any, lanes: int) -> None:
            vector = self.vector(lanes)
            total = None if start is None else self.load(start, i, vector)
            for coefficient, value, sign in products:
                c = self.load_coefficient(coefficient, i, vector)
                v = self.load(value, i, vector)
                total = self.accumulate(total, c, v, sign)
            self.store(total, out, i, lanes)

        self.loop(n, step)

    def invert(self, n: Any, out: Any, pivot: Any, products: list[Any]) -> Any:
        """out = 1/pivot and −coefficient · out for each product; whether a pivot was zero."""
        builder, one = self.builder, self.real(1.0)
        singular = cgutils.alloca_once_value(builder, cgutils.false_bit)

        def step(i: Any, lanes: int) -> None:
            inverse, zeros = self.reciprocal(self.load(pivot, i, self.vector(lanes)))
            bits = builder.bitcast(zeros, ir.IntType(zeros.type.count))
            found = builder.or_(builder.load(singular), cgutils.is_not_null(builder, bits))
            builder.store(found, singular)
            self.store(inverse, out, i, lanes)
            for coefficient, target in products:
                c = self.load(coefficient, i, inverse.type)
                self.store(self.accumulate(None, c, inverse, one), target, i, lanes)

        self.loop(n, step)
        return builder.load(singular)

    def vector(self, lanes: int) -> Any:
        """The type of `lanes` numbers."""
        return ir.VectorType(self.real, lanes * self.parts)

    def store(self, value: Any, address: Any, i: Any, lanes: int) -> None:
        """Write numbers i, i+1, … of the range at `address`."""
        stream = self.kind.stream and lanes * self.bytes >= LINE  # what remains is not aligned
        pointer = self.pointer(address, i, value.type)
        store = self.builder.store(value, pointer, align=LINE if stream else 4)
        if stream:
            once = self.builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])
            store.set_metadata("nontemporal", once)

    def pointer(self, address: Any, i: Any, vector: Any) -> Any:
        """To number i of the range at `address`, as a vector."""
        shifted = self.builder.add(address, self.builder.mul(i, self.index(self.bytes)))
        return self.builder.inttoptr(shifted, vector.as_pointer())

    def load(self, address: Any, i: Any, vector: Any) -> Any:
        """Numbers i, i+1, … of the range at `address`."""
        return self.builder.load(self.pointer(address, i, vector), align=4, typ=vector)

    def load_coefficient(self, address: Any, i: Any, vector: Any) -> Any:
        """The same, or the first number of the range in every lane."""
        if not self.kind.spread:
            return self.load(address, i, vector)
        number = self.load(address, self.index(0), ir.VectorType(self.real, self.parts))
        return self.shuffle(number, [*range(self.parts)] * (vector.count // self.parts))

    def accumulate(self, total: Any, c: Any, v: Any, sign: Any) -> Any:
        """The sum so far, or None, plus or minus c · v, or c̄ · v if the sign is −1.

        Without a sign, real and imaginary parts are multiplied apart.
        """
        builder = self.builder
        if self.kind.subtract:
            c = builder.fneg(c)
        if not self.is_complex or sign is None:
            return multiply_add(builder, c, v, total)
        # (cr·vr − ±ci·vi, cr·vi + ±ci·vr) for pairs (re, im) side by side
        c_re, c_im = self.halves(c)
        pairs = range(0, v.type.count, 2)
        alternating = ir.Constant(v.type, [self.real(x) for _ in pairs for x in (-1.0, 1.0)])
        crossing = builder.fmul(c_im, builder.fmul(alternating, self.splat(sign, v.type)))
        straight = multiply_add(builder, c_re, v, total)
        return multiply_add(builder, crossing, self.swap(v), straight)

    def swap(self, v: Any) -> Any:
        """(im, re) for each pair (re, im)."""
        return self.shuffle(v, [j for i in range(0, v.type.count, 2) for j in (i + 1, i)])

    def reciprocal(self, p: Any) -> tuple[Any, Any]:
        """(1/p, where p is zero); complex p is scaled so that no square over- or underflows."""
        builder = self.builder
        one, zero = (ir.Constant(p.type, [x] * p.type.count) for x in (1.0, 0.0))
        if not self.is_complex:
            return builder.fdiv(one, p), builder.fcmp_ordered("==", p, zero)
        re, im = self.halves(p)
        size = self.larger(self.magnitude(re), self.magnitude(im))
        scale = builder.fdiv(one, size)
        re, im = builder.fmul(re, scale), builder.fmul(im, scale)
        square = builder.fadd(builder.fmul(re, re), builder.fmul(im, im))
        factor = builder.fdiv(scale, square)
        re, im = builder.fmul(re, factor), builder.fneg(builder.fmul(im, factor))
        n = p.type.count
        inverse = self.shuffle(re, [j for i in range(0, n, 2) for j in (i, n + i)], im)
        return inverse, builder.fcmp_ordered("==", size, zero)

    def magnitude(self, v: Any) -> Any:
        """|v| of real numbers."""
        return self.larger(v, self.builder.fneg(v))

    def larger(self, v: Any, w: Any) -> Any:
        """The larger of two real numbers."""
        return self.builder.select(self.builder.fcmp_ordered(">", v, w), v, w)

    def halves(self, v: Any) -> tuple[Any, Any]:
        """(re, re) and (im, im) for each pair (re, im)."""
        re, im = ([i + part for i in range(0, v.type.count, 2) for _ in "ab"] for part in (0, 1))
        return self.shuffle(v, re), self.shuffle(v, im)

    def shuffle(self, vector: Any, order: list[int], second: Any = None) -> Any:
        """The entries of one vector, or of two in a row, in another order."""
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(order)), order)
        second = ir.Constant(vector.type, ir.Undefined) if second is None else second
        return self.builder.shuffle_vector(vector, second, mask)

    def splat(self, scalar: Any, vector: Any) -> Any:
        """A real number in every place."""
        one = self.builder.insert_element(
            ir.Constant(vector, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0)
        )
        return self.shuffle(one, [0] * vector.count)
