"""Pixel orders against loops over bits, recursion and plain rows."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from myosotis.errors import TreeError
from myosotis.tree import hilbert_order, morton_order, snake_order
from myosotis.tree.order import morton_codes

sizes = st.integers(1, 20)
every_order = pytest.mark.parametrize("order", [morton_order, snake_order, hilbert_order])


def interleaved(x: int, y: int) -> int:
    return sum((x >> bit & 1) << 2 * bit | (y >> bit & 1) << 2 * bit + 1 for bit in range(8))


def hilbert_curve(num_bits: int) -> list[tuple[int, int]]:
    """Join four smaller curves: transposed, as it is, as it is, transposed the other way."""
    if num_bits == 0:
        return [(0, 0)]
    half = 2 ** (num_bits - 1)
    smaller = hilbert_curve(num_bits - 1)
    upper_left = [(y, x) for x, y in smaller]
    lower_left = [(x, y + half) for x, y in smaller]
    lower_right = [(x + half, y + half) for x, y in smaller]
    upper_right = [(2 * half - 1 - y, half - 1 - x) for x, y in smaller]
    return upper_left + lower_left + lower_right + upper_right


@every_order
@given(height=sizes, width=sizes)
def test_every_pixel_comes_once(order: Callable[..., np.ndarray], height: int, width: int) -> None:
    pixels = order(height, width)
    assert pixels.dtype == np.int64
    assert sorted(pixels.tolist()) == list(range(height * width))


@every_order
def test_images_are_square_by_default(order: Callable[..., np.ndarray]) -> None:
    assert order(6).tolist() == order(6, 6).tolist()


@given(sizes, sizes)
def test_morton_sorts_by_interleaved_bits(height: int, width: int) -> None:
    cells = [(interleaved(x, y), y * width + x) for y in range(height) for x in range(width)]
    assert morton_order(height, width).tolist() == [pixel for _, pixel in sorted(cells)]


def test_morton_has_the_column_in_the_low_bit() -> None:
    assert morton_order(2).tolist() == [0, 1, 2, 3]
    assert morton_order(4)[:8].tolist() == [0, 1, 4, 5, 2, 3, 6, 7]


def test_morton_codes_of_three_axes() -> None:
    codes = morton_codes((2, 2, 4)).reshape(2, 2, 4)
    assert (codes[0, 0, 1], codes[0, 1, 0], codes[1, 0, 0], codes[0, 0, 2]) == (1, 2, 4, 8)
    assert codes[1, 1, 3] == 1 + 2 + 4 + 8


@given(sizes, sizes)
def test_snake_turns_at_every_row(height: int, width: int) -> None:
    rows, columns = np.divmod(snake_order(height, width), width)
    assert rows.tolist() == sorted(rows.tolist())
    assert (np.abs(np.diff(rows)) + np.abs(np.diff(columns)) == 1).all()
    assert columns[0] == 0


@pytest.mark.parametrize("num_bits", range(7))
def test_hilbert_steps_to_neighbours_on_powers_of_two(num_bits: int) -> None:
    side = 2**num_bits
    rows, columns = np.divmod(hilbert_order(side), side)
    assert (np.abs(np.diff(rows)) + np.abs(np.diff(columns)) == 1).all()
    assert (rows[0], columns[0]) == (0, 0)
    assert (rows[-1], columns[-1]) == (0, side - 1)


@pytest.mark.parametrize("num_bits", range(1, 5))
def test_hilbert_fills_quadrant_after_quadrant(num_bits: int) -> None:
    side = 2**num_bits
    rows, columns = np.divmod(hilbert_order(side), side)
    quadrant = 2 * (rows >= side // 2) + (columns >= side // 2)
    assert quadrant.tolist() == np.repeat([0, 2, 3, 1], side * side // 4).tolist()


@pytest.mark.parametrize("num_bits", range(5))
def test_hilbert_is_made_of_four_smaller_curves(num_bits: int) -> None:
    side = 2**num_bits
    expected = [y * side + x for x, y in hilbert_curve(num_bits)]
    assert hilbert_order(side).tolist() == expected


@given(sizes, sizes)
def test_hilbert_is_the_covering_curve_without_missing_pixels(height: int, width: int) -> None:
    side = 32 if max(height, width) > 16 else 16
    while side >= 2 * max(height, width):
        side //= 2
    rows, columns = np.divmod(hilbert_order(side), side)
    exists = (rows < height) & (columns < width)
    expected = (rows * width + columns)[exists]
    assert hilbert_order(height, width).tolist() == expected.tolist()


@every_order
@pytest.mark.parametrize(
    ("height", "width", "message"),
    [
        (0, None, "height must be an integer of at least 1, got 0"),
        (3, -2, "width must be an integer of at least 1, got -2"),
        (2.5, 4, "height must be an integer of at least 1, got 2.5"),
    ],
)
def test_sizes_are_checked(
    order: Callable[..., np.ndarray], height: int, width: int | None, message: str
) -> None:
    with pytest.raises(TreeError, match=message):
        order(height, width)
