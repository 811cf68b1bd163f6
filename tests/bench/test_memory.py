import numpy as np
import pytest

from myosotis.bench import memory

MIB = 2**20


@pytest.fixture(autouse=True)
def _supported():
    if memory.peak_extra_bytes(lambda: None) is None:
        pytest.skip("this platform cannot reset the peak of the resident size")


def test_a_known_allocation():
    for _ in range(2):  # the second time from pages that the first has given back
        peak = memory.peak_extra_bytes(lambda: np.ones(64 * MIB, dtype=np.uint8))
        assert peak == pytest.approx(64 * MIB, abs=4 * MIB)


def test_the_peak_counts_and_not_what_is_left():
    def call():
        first = np.ones(48 * MIB, dtype=np.uint8)
        return first.sum()

    assert memory.peak_extra_bytes(call) == pytest.approx(48 * MIB, abs=4 * MIB)


def test_none_where_the_peak_cannot_be_reset(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "_RESET", tmp_path / "no" / "such" / "file")
    assert memory.peak_extra_bytes(lambda: None) is None
