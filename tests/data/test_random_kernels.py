"""The generators' random numbers, against published values of SplitMix64 and simple statistics."""

import numpy as np
from scipy import stats

from myosotis.data.random_kernels import integer, open_stream, uniform

UNLIKELY = 1e-4


def test_known_values() -> None:
    stream = np.zeros(1, dtype=np.uint64)
    published = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert [uniform(stream) for _ in published] == [(bits >> 11) / 2**53 for bits in published]


def test_neighbouring_streams_are_uniform_and_unrelated() -> None:
    draws = np.array([[uniform(stream) for _ in range(2)] for stream in map(_stream, range(4000))])
    for column in draws.T:
        assert stats.kstest(column, "uniform").pvalue > UNLIKELY
    assert stats.pearsonr(draws[:, 0], draws[:, 1]).pvalue > UNLIKELY
    assert stats.pearsonr(draws[1:, 0], draws[:-1, 0]).pvalue > UNLIKELY


def _stream(index: int) -> np.ndarray:
    return open_stream(11, index)


def test_streams_of_other_seeds_differ() -> None:
    states = {int(open_stream(seed, index)[0]) for seed in range(50) for index in range(50)}
    assert len(states) == 2500


def test_integers_are_uniform() -> None:
    stream = open_stream(0, 0)
    counts = np.bincount([integer(stream, 7) for _ in range(7000)], minlength=7)
    assert len(counts) == 7
    assert stats.chisquare(counts).pvalue > UNLIKELY
