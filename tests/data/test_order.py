import numpy as np
import pytest

from myosotis.data.order import example_order, hold_out
from myosotis.errors import ConfigError


@pytest.mark.parametrize("seed", [None, 0, 7])
@pytest.mark.parametrize(("count", "batch_size"), [(10, 3), (9, 3), (2, 5), (0, 4)])
def test_every_example_once(count, batch_size, seed):
    batches = list(example_order(count, batch_size, seed=seed))
    dealt = np.concatenate([*batches, []])
    assert sorted(dealt) == list(range(count))
    assert all(len(batch) == batch_size for batch in batches[:-1])
    full = list(example_order(count, batch_size, seed=seed, drop_last=True))
    assert [b.tolist() for b in full] == [b.tolist() for b in batches if len(b) == batch_size]


def test_seeds_shuffle_and_repeat():
    first, again, other = (
        np.concatenate(list(example_order(1000, 64, seed=seed))) for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert (np.diff(first) < 0).mean() > 0.4  # nowhere near ascending


def test_mistakes_are_found_at_once():
    with pytest.raises(ConfigError, match="batch_size must be at least 1, got 0"):
        example_order(5, 0)
    with pytest.raises(ConfigError, match="seed must not be negative, got -1"):
        example_order(5, 2, seed=-1)


def test_held_out_examples_are_fixed_and_spread():
    kept, held_out = hold_out(60_000, 5_000)
    assert len(kept) == 55_000
    assert sorted([*kept, *held_out]) == list(range(60_000))
    assert (np.diff(kept) > 0).all()
    assert abs(held_out.mean() - 30_000) < 1_000  # 4 standard deviations
    # Anything else would change what published figures were validated on.
    assert held_out[:3].tolist() == [41, 48, 67]
