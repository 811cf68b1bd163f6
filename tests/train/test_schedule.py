import math

import pytest

from myosotis.train.schedule import rate_factor


@pytest.mark.parametrize("warmup", [0.0, 0.1, 0.9])
def test_it_rises_in_a_line_and_falls_in_a_cosine(warmup):
    assert rate_factor(warmup, warmup) == 1.0
    assert rate_factor(1.0, warmup) == pytest.approx(0.0, abs=1e-15)
    assert rate_factor(1.5, warmup) == rate_factor(1.0, warmup)
    assert rate_factor((1 + warmup) / 2, warmup) == pytest.approx(0.5)
    third = warmup + (1 - warmup) / 3
    assert rate_factor(third, warmup) == pytest.approx((1 + math.cos(math.pi / 3)) / 2)
    if warmup:
        assert rate_factor(warmup / 4, warmup) == pytest.approx(0.25)
        assert rate_factor(0.0, warmup) == 0.0
