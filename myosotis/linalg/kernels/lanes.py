"""Blocks of several systems put side by side, each system in its own lane, and taken apart again.

`LANES` systems with T numbers each are a sequence, system after system. Zipping its halves, the
first number of one with the first of the other and so on, moves the uppermost bit of a number's
place to the bottom; after as many zips as there are bits in the number of a lane, the sequence is
number after number, with the systems side by side. Unzipping undoes that. Either takes a few
instructions for each line of the cache, where numbers moved one by one take several each.
"""

from collections.abc import Callable
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from myosotis.linalg.kernels.rows import fetch
from myosotis.linalg.kernels.vectors import LANES, LINE, Kind, Row

__all__ = ["interleave", "separate"]

_AHEAD = 8  # blocks: so many streams at once are more than the hardware fetches ahead by itself
_ZIPS = LANES.bit_length() - 1
_PLAIN = Kind(subtract=False, spread=False, stream=False)


@intrinsic
def interleave(typingctx: Any, unit: Any, panel: Any, shape: Any, systems: Any) -> Any:
    """Put a block of each system into its lane of a panel; spare lanes get that of the last.

    panel: (address, bytes from one row to the next) of rows of `LANES` numbers for each one of a
    block. shape: (rows, columns) of a block, whose numbers lie one after the other. systems:
    (address of the first one's block, bytes from one system to the next, how many there are).
    """

    def move(tile: _Tile, lanes: list[Any], places: list[Any], ahead: Any) -> None:
        for address in lanes if tile.is_line else ():
            fetch(tile.row.builder, tile.row.builder.add(address, ahead))
        tile.write(places, tile.zipped(tile.read_systems(lanes)))

    return types.void(unit, panel, shape, systems), _moving(unit, move)


@intrinsic
def separate(typingctx: Any, unit: Any, panel: Any, shape: Any, systems: Any) -> Any:
    """Take the blocks of the systems out of a panel; otherwise as `interleave`.

    Spare lanes must hold what the last system has: they are written where that is.
    """

    def move(tile: _Tile, lanes: list[Any], places: list[Any], ahead: Any) -> None:
        tile.write_systems(lanes, tile.unzipped(tile.read(places)))

    return types.void(unit, panel, shape, systems), _moving(unit, move)


class _Tile:
    """Emits the moves of `length` numbers of each system, in vectors of `lanes` numbers."""

    def __init__(self, row: Row, length: int) -> None:
        self.row, self.length, self.lanes = row, length, LINE // row.bytes
        self.is_line = length == self.lanes
        self.zips = _ZIPS if length > 1 else 0

    def zipped(self, vectors: list[Any]) -> list[Any]:
        """System after system → number after number."""
        n, half = self.lanes, len(vectors) // 2
        low = [i for pair in zip(range(n // 2), range(n, 2 * n), strict=False) for i in pair]
        high = [i + n // 2 for i in low]
        for _ in range(self.zips):
            pairs = list(zip(vectors[:half], vectors[half:], strict=True))
            vectors = [self._pick(order, *pair) for pair in pairs for order in (low, high)]
        return vectors

    def unzipped(self, vectors: list[Any]) -> list[Any]:
        """Number after number → system after system."""
        even, odd = (range(first, 2 * self.lanes, 2) for first in (0, 1))
        for _ in range(self.zips):
            pairs = list(zip(vectors[::2], vectors[1::2], strict=True))
            vectors = [self._pick(order, *pair) for order in (even, odd) for pair in pairs]
        return vectors

    def read_systems(self, lanes: list[Any]) -> list[Any]:
        """The numbers of each system, as many systems in a vector as it can hold."""
        parts, n = self._load(lanes, self.length), self.length
        while n < self.lanes:
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts, n = [self._pick(range(2 * n), *pair) for pair in pairs], 2 * n
        return parts

    def write_systems(self, lanes: list[Any], vectors: list[Any]) -> None:
        """What `read_systems` reads."""
        for k, address in enumerate(lanes):
            vector, first = divmod(k * self.length, self.lanes)
            part = self._pick(range(first, first + self.length), vectors[vector], None)
            self._store(part, address, self.length)

    def read(self, places: list[Any]) -> list[Any]:
        """The numbers at places in a panel."""
        return self._load(places, self.lanes)

    def write(self, places: list[Any], vectors: list[Any]) -> None:
        """Put numbers at places in a panel."""
        for place, vector in zip(places, vectors, strict=True):
            self._store(vector, place, self.lanes)

    def _load(self, addresses: list[Any], count: int) -> list[Any]:
        start, vector = self.row.index(0), self.row.vector(count)
        return [self.row.load(address, start, vector) for address in addresses]

    def _store(self, vector: Any, address: Any, count: int) -> None:
        self.row.store(vector, address, self.row.index(0), count)

    def _pick(self, order: Any, vector: Any, second: Any) -> Any:
        parts = range(self.row.parts)
        return self.row.shuffle(vector, [i * len(parts) + p for i in order for p in parts], second)


def _moving(unit: Any, move: Callable[[_Tile, list[Any], list[Any], Any], None]) -> Any:
    """Walk through a block in tiles; move(tile, addresses in the systems, in the panel, ahead)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row = Row(context, builder, unit, _PLAIN)
        panel, shape, systems = (cgutils.unpack_tuple(builder, packed) for packed in args[1:])
        size = builder.mul(builder.mul(*shape), row.index(row.bytes))
        ahead = builder.mul(size, row.index(_AHEAD))
        starts = _starts(row, *systems)
        walk = _Walk(row, panel, shape[1])

        def step(i: Any, length: int) -> None:
            shift = builder.mul(i, row.index(row.bytes))
            lanes = [builder.add(start, shift) for start in starts]
            places = [place for _ in range(length) for place in walk.next()]
            move(_Tile(row, length), lanes, places, ahead)

        row.loop(builder.mul(*shape), step)
        return context.get_dummy_value()

    return codegen


def _starts(row: Row, first: Any, apart: Any, count: Any) -> list[Any]:
    """Where the block of each lane begins."""
    builder, last = row.builder, row.builder.sub(count, row.index(1))
    numbers = [row.index(lane) for lane in range(LANES)]
    used = [builder.select(builder.icmp_unsigned("<", n, last), n, last) for n in numbers]
    return [builder.add(first, builder.mul(n, apart)) for n in used]


class _Walk:
    """Goes from number to number of a panel, row after row."""

    def __init__(self, row: Row, panel: list[Any], columns: Any) -> None:
        self.row, builder = row, row.builder
        (start, apart), width = panel, row.index(LANES * row.bytes)
        self.at = cgutils.alloca_once_value(builder, start)
        self.column = cgutils.alloca_once_value(builder, row.index(0))
        self.last = builder.sub(columns, row.index(1))
        self.width = width
        self.to_next_row = builder.sub(apart, builder.mul(self.last, width))

    def next(self) -> list[Any]:
        """Addresses of the vectors of a number, and one step on."""
        builder, index = self.row.builder, self.row.index
        at, column = builder.load(self.at), builder.load(self.column)
        ends = builder.icmp_unsigned("==", column, self.last)
        step = builder.select(ends, self.to_next_row, self.width)
        builder.store(builder.add(at, step), self.at)
        advanced = builder.add(column, index(1))
        builder.store(builder.select(ends, index(0), advanced), self.column)
        return [builder.add(at, index(i)) for i in range(0, LANES * self.row.bytes, LINE)]
