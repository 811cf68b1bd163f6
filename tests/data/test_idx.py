import math
import struct

import numpy as np
import pytest

from myosotis.data.idx import parse_idx
from myosotis.errors import DataError


def idx(*shape: int, kind: int = 8, content: bytes | None = None) -> bytes:
    """An idx file as its description has it."""
    header = struct.pack(f">4B{len(shape)}I", 0, 0, kind, len(shape), *shape)
    return header + (bytes(math.prod(shape)) if content is None else content)


def test_axes_and_order():
    content = struct.pack(">4B3I", 0, 0, 8, 3, 2, 3, 4) + bytes(range(24))
    array = parse_idx(content, 3, "file")
    assert array.dtype == np.uint8
    assert array.tolist() == np.arange(24).reshape(2, 3, 4).tolist()


def test_no_items_are_items_too():
    assert parse_idx(idx(0, 28, 28), 3, "file").shape == (0, 28, 28)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "begins with nothing, expected 00000803"),
        (b"\x00\x00", "begins with 0000, expected 00000803"),
        (b"\x1f\x8b\x08\x00" * 9, "begins with 1f8b0800, expected 00000803"),
        (idx(5), "begins with 00000801, expected 00000803"),
        (idx(2, 2, 2, kind=0x0D), "begins with 00000d03"),
        (idx(2, 2, 2)[:10], "header has 10 bytes, expected 16"),
        (idx(2, 2, 2)[:-1], "holds 7 bytes after its header, which promises 2 × 2 × 2 = 8"),
        (idx(2, 2, 2) + b"!", "holds 9 bytes after its header"),
        (idx(2**32 - 1, 2**32 - 1, 2**32 - 1, content=b"abc"), "holds 3 bytes .* promises 4294967"),
    ],
)
def test_anything_else_is_refused(content, message):
    with pytest.raises(DataError, match=rf"^some file .*{message}"):
        parse_idx(content, 3, "some file")
