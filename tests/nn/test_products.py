"""Products in registers, with the panels of every kind of processor, against NumPy."""

from typing import Any

import numpy as np
import pytest
from numba import njit

from myosotis.nn.kernels import products

PANELS = (products.WIDE_PANELS, products.NARROW_PANELS)
SIZES = ((64, 64, 64), (63, 16, 144), (5, 48, 80), (1, 17, 16), (11, 1, 32))
ITEM = np.uint64(4)


def compiled(panels: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """out = left right, total += leftᵀ out; the panels are read while it is compiled."""
    monkeypatch.setattr(products, "PANELS", panels)
    product, add_product = products.product, products.add_product

    @njit
    def multiply(out, total, left, right):  # type: ignore[no-untyped-def]
        rows, inner = np.uint64(left.shape[0]), np.uint64(left.shape[1])
        n = np.uint64(right.shape[1])
        start, row = np.uint64(left.ctypes.data), inner * ITEM
        result = (np.uint64(out.ctypes.data), n * ITEM)
        other = (np.uint64(right.ctypes.data), n * ITEM)
        product(result, (rows, inner, n), (start, row, ITEM), other, ())
        sums = (np.uint64(total.ctypes.data), n * ITEM)
        add_product(sums, (inner, rows, n), (start, ITEM, row), result, ())

    return multiply


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_products_and_their_bits(
    size: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, inner, columns = size
    generator = np.random.default_rng(0)
    left, right, before = (
        generator.normal(size=shape).astype(np.float32)
        for shape in ((rows, inner), (inner, columns), (inner, columns))
    )
    found = []
    for panels in PANELS:
        out, total = np.empty((rows, columns), np.float32), before.copy()
        compiled(panels, monkeypatch)(out, total, left, right)
        np.testing.assert_allclose(out, left.astype(np.float64) @ right, atol=1e-4)
        expected = before + left.T.astype(np.float64) @ out
        np.testing.assert_allclose(total, expected, atol=1e-3)
        found.append((out, total))
    for wide, narrow in zip(*found, strict=True):
        assert (wide == narrow).all()  # a result does not depend on the processor
