"""The vectorised primitive of which every sweep over diagonal blocks is made.

    out[h] = start[h] + Σ_i coefficient_i[h] · value_i[h]        h = 0 … n−1

Numbers are real or complex, each coefficient conjugated if its sign is −1. The compiler would
vectorise such a loop only behind run-time checks that no two of up to ten ranges overlap, which
cost more than the loop; here the vector instructions are written out, and the caller promises that
`out` is either the same range as another one or disjoint from it.

Ranges are given by their addresses in memory: plain integers, which kernels can compute and choose
between without any of the bookkeeping that arrays bring along.

Products are rounded before they are summed (no fused multiply-add), term after term, so that an
element has the same bits in whichever lane, remainder or thread it is computed.
"""

from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["combine", "combine_away", "fence", "reduce"]

_LANES = 16  # numbers handled at once: one or two vector registers of any machine


@intrinsic
def combine(typingctx: Any, unit: Any, out: Any, start: Any, n: Any, terms: Any, one: Any) -> Any:
    """out = start + Σ coefficient · value.

    `unit` is any number of the dtype in question; `out` and `start` are addresses, `start` may be
    None; `terms` is a tuple of (address of coefficient, address of value, sign); `one` is None
    unless each coefficient is a single number for all h.
    """
    kind = _Kind(subtract=False, spread=one is not types.none, stream=False)
    return types.void(unit, out, start, n, terms, one), _row_loop(unit, start, kind)


@intrinsic
def combine_away(
    typingctx: Any, unit: Any, out: Any, start: Any, n: Any, terms: Any, one: Any
) -> Any:
    """As `combine`, written past the caches: `out`, 64-byte aligned, will not be read soon."""
    kind = _Kind(subtract=False, spread=one is not types.none, stream=True)
    return types.void(unit, out, start, n, terms, one), _row_loop(unit, start, kind)


@intrinsic
def reduce(typingctx: Any, unit: Any, out: Any, start: Any, n: Any, terms: Any) -> Any:
    """out = start − Σ coefficient · value; otherwise as `combine`."""
    kind = _Kind(subtract=True, spread=False, stream=False)
    return types.void(unit, out, start, n, terms), _row_loop(unit, start, kind)


@intrinsic
def fence(typingctx: Any) -> Any:
    """Let nothing written past the caches be overtaken by what follows."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), codegen


class _Kind(NamedTuple):
    """What distinguishes the primitives: the sign of the sum, one coefficient, how to store."""

    subtract: bool
    spread: bool
    stream: bool


def _row_loop(unit: Any, start: Any, kind: _Kind) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, out_address, start_address, length, packed = args[:5]
        row = _Row(context, builder, unit, kind)
        terms = cgutils.unpack_tuple(builder, packed)
        products = [cgutils.unpack_tuple(builder, term) for term in terms]
        row.loop(length, out_address, None if start is types.none else start_address, products)
        return context.get_dummy_value()

    return codegen


class _Row:
    """Emits the loop: vectors of `_LANES` numbers, then what remains one by one."""

    def __init__(self, context: Any, builder: Any, dtype: Any, kind: _Kind) -> None:
        self.builder, self.kind = builder, kind
        self.is_complex = isinstance(dtype, types.Complex)
        real = dtype.underlying_float if self.is_complex else dtype
        self.real = context.get_data_type(real)
        self.index = ir.IntType(64)
        self.parts = 2 if self.is_complex else 1  # real numbers in a number
        self.bytes = self.parts * context.get_abi_sizeof(self.real)

    def loop(self, n: Any, out: Any, start: Any, products: list[Any]) -> None:
        builder = self.builder
        whole = builder.mul(builder.udiv(n, self.index(_LANES)), self.index(_LANES))
        for first, last, lanes in ((self.index(0), whole, _LANES), (whole, n, 1)):
            with cgutils.for_range_slice(
                builder, first, last, self.index(lanes), intp=self.index
            ) as (i, _):
                self.step(i, lanes, out, start, products)

    def step(self, i: Any, lanes: int, out: Any, start: Any, products: list[Any]) -> None:
        builder = self.builder
        vector = ir.VectorType(self.real, lanes * self.parts)
        total = None if start is None else self.load(start, i, vector)
        for coefficient, value, sign in products:
            c = self.load_coefficient(coefficient, i, vector)
            v = self.load(value, i, vector)
            product = self.product(c, v, sign, vector)
            total = self.accumulate(total, product)
        stream = self.kind.stream and lanes > 1
        store = builder.store(total, self.pointer(out, i, vector), align=64 if stream else 4)
        if stream:
            once = builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])
            store.set_metadata("nontemporal", once)

    def pointer(self, address: Any, i: Any, vector: Any) -> Any:
        shifted = self.builder.add(address, self.builder.mul(i, self.index(self.bytes)))
        return self.builder.inttoptr(shifted, vector.as_pointer())

    def load(self, address: Any, i: Any, vector: Any) -> Any:
        return self.builder.load(self.pointer(address, i, vector), align=4, typ=vector)

    def load_coefficient(self, address: Any, i: Any, vector: Any) -> Any:
        if not self.kind.spread:
            return self.load(address, i, vector)
        number = self.load(address, self.index(0), ir.VectorType(self.real, self.parts))
        return self.shuffle(number, [*range(self.parts)] * (vector.count // self.parts))

    def accumulate(self, total: Any, product: Any) -> Any:
        builder = self.builder
        if total is None:
            return builder.fneg(product) if self.kind.subtract else product
        return builder.fsub(total, product) if self.kind.subtract else builder.fadd(total, product)

    def product(self, c: Any, v: Any, sign: Any, vector: Any) -> Any:
        builder = self.builder
        if not self.is_complex:
            return builder.fmul(c, v)
        # (cr·vr − ±ci·vi, cr·vi + ±ci·vr) for pairs (re, im) side by side
        pairs = range(0, vector.count, 2)
        c_re = self.shuffle(c, [j for i in pairs for j in (i, i)])
        c_im = self.shuffle(c, [j for i in pairs for j in (i + 1, i + 1)])
        swapped = self.shuffle(v, [j for i in pairs for j in (i + 1, i)])
        alternating = ir.Constant(vector, [self.real(x) for _ in pairs for x in (-1.0, 1.0)])
        signs = builder.fmul(alternating, self.splat(sign, vector))
        crossed = builder.fmul(builder.fmul(c_im, signs), swapped)
        return builder.fadd(builder.fmul(c_re, v), crossed)

    def shuffle(self, vector: Any, order: list[int]) -> Any:
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(order)), order)
        return self.builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)

    def splat(self, scalar: Any, vector: Any) -> Any:
        one = self.builder.insert_element(
            ir.Constant(vector, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0)
        )
        return self.shuffle(one, [0] * vector.count)
