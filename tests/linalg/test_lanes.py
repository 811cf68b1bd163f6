"""Blocks of systems side by side, against NumPy's transpose."""

import numpy as np
import pytest
from numba import uintp
from numpy.typing import NDArray

from myosotis.compiled import kernel
from myosotis.linalg.kernels.lanes import interleave, separate
from myosotis.linalg.kernels.vectors import LANES

DTYPES = (np.float32, np.float64, np.complex64, np.complex128)
SHAPES = ((1, 1), (2, 2), (4, 1), (3, 5), (4, 4), (5, 7))
GAP = 3  # numbers between the systems, and between the rows of a panel, that nobody may touch


@kernel
def put_together(unit, panel, shape, systems):
    interleave(unit, panel, shape, systems)


@kernel
def take_apart(unit, panel, shape, systems):
    separate(unit, panel, shape, systems)


def random(*shape: int, dtype: type) -> NDArray[np.generic]:
    values = np.random.default_rng(len(shape)).standard_normal((*shape, 2))
    return (values @ [1, 1j if np.issubdtype(dtype, np.complexfloating) else 0]).astype(dtype)


def arguments(panel: NDArray[np.generic], blocks: NDArray[np.generic], rows: int, columns: int):
    unit, item = panel.dtype.type(1), panel.itemsize
    of_panel = uintp(panel.ctypes.data), uintp(panel.shape[1] * item)
    of_blocks = uintp(blocks.ctypes.data), uintp(blocks.shape[1] * item), uintp(len(blocks))
    return unit, of_panel, (uintp(rows), uintp(columns)), of_blocks


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("systems", [1, LANES - 3, LANES])
def test_there_and_back(dtype: type, shape: tuple[int, int], systems: int) -> None:
    rows, columns = shape
    blocks = random(systems, rows * columns + GAP, dtype=dtype)
    panel = random(rows, columns * LANES + GAP, dtype=dtype)
    before = panel.copy()
    put_together(*arguments(panel, blocks, rows, columns))

    inside = panel[:, : columns * LANES].reshape(rows, columns, LANES)
    used = blocks[:, : rows * columns].reshape(systems, rows, columns)
    lane = np.minimum(np.arange(LANES), systems - 1)
    assert np.array_equal(inside, np.moveaxis(used[lane], 0, -1))
    assert np.array_equal(panel[:, columns * LANES :], before[:, columns * LANES :])

    back = random(*blocks.shape, dtype=dtype)
    untouched = back[:, rows * columns :].copy()
    take_apart(*arguments(panel, back, rows, columns))
    assert np.array_equal(back[:, : rows * columns], blocks[:, : rows * columns])
    assert np.array_equal(back[:, rows * columns :], untouched)
