import gc

import pytest

from myosotis.bench.timing import Settings, Spread, time_interleaved


class FakeTime:
    """A clock that moves only when a call lets it."""

    def __init__(self):
        self.now = 0.0
        self.order = []

    def call(self, name, seconds):
        def run():
            self.order.append(name)
            self.now += seconds

        return run

    def clock(self):
        return self.now


def test_contenders_take_turns_after_the_warm_up():
    fake = FakeTime()
    calls = {"a": fake.call("a", 1.0), "b": fake.call("b", 2.0)}
    timings = time_interleaved(
        calls, Settings(repeats=3, warmup=2, budget=99, settle=0), clock=fake.clock
    )
    assert "".join(fake.order) == "aabb" + "ababab"
    assert timings["a"].seconds == [1.0] * 3
    assert timings["b"].seconds == [2.0] * 3


def test_a_short_call_is_timed_the_second_time():
    fake = FakeTime()
    calls = {"short": fake.call("s", 0.1), "long": fake.call("l", 1.0)}
    timings = time_interleaved(calls, Settings(repeats=2, warmup=1, settle=0.5), clock=fake.clock)
    assert "".join(fake.order) == "sl" + "sslssl"
    assert len(timings["short"].seconds) == len(timings["long"].seconds) == 2


def test_a_slow_contender_sits_out_after_its_budget():
    fake = FakeTime()
    calls = {"slow": fake.call("s", 10.0), "fast": fake.call("f", 0.1)}
    settings = Settings(repeats=6, warmup=3, budget=5.0, least=2, settle=0)
    timings = time_interleaved(calls, settings, clock=fake.clock)
    assert "".join(fake.order) == "sfff" + "sfsf" + "ffff"
    assert len(timings["slow"].seconds) == 2
    assert len(timings["fast"].seconds) == 6


def test_a_failure_ends_one_contender_and_not_the_others():
    fake = FakeTime()
    attempts = []

    def fail_later():
        attempts.append(1)
        if len(attempts) > 2:
            raise RuntimeError("out of luck")

    def fail_at_once():
        raise ValueError("never worked")

    calls = {"later": fail_later, "once": fail_at_once, "fine": fake.call("f", 1.0)}
    timings = time_interleaved(calls, Settings(repeats=4, warmup=1, settle=0), clock=fake.clock)
    assert isinstance(timings["later"].error, RuntimeError)
    assert isinstance(timings["once"].error, ValueError)
    assert timings["fine"].error is None
    assert len(attempts) == 3
    assert timings["fine"].seconds == [1.0] * 4


def test_the_collector_rests_meanwhile():
    seen = []
    time_interleaved({"a": lambda: seen.append(gc.isenabled())}, Settings(repeats=1, warmup=0))
    assert seen == [False, False]
    assert gc.isenabled()


@pytest.mark.parametrize(
    ("seconds", "spread"),
    [
        ([2.0], Spread(2.0, 2.0, 2.0, 2.0, 1)),
        ([4.0, 1.0, 3.0, 2.0], Spread(2.5, 1.75, 3.25, 1.0, 4)),
    ],
)
def test_spread(seconds, spread):
    assert Spread.of(seconds) == spread
