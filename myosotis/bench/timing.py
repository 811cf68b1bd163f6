"""Interleaved timing: every contender takes its turn in every round, so that noise hits all.

Within its turn a short call runs twice and the second one counts. The first puts caches, threads
and the allocator into the state that this contender itself leaves them in; without it, a copy
timed after a call that returned its memory to the system would be charged for getting it back.
"""

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

__all__ = ["Settings", "Spread", "Timing", "time_interleaved"]

Clock = Callable[[], float]


@dataclass(frozen=True)
class Settings:
    """How much is measured.

    Attributes:
        repeats: rounds of timed calls.
        warmup: untimed calls of each contender before the first round.
        budget: seconds after which a slow contender sits out the remaining rounds.
        least: timed calls that even a slow contender makes.
        settle: a call that takes fewer seconds than this is preceded by an untimed one.
    """

    repeats: int = 21
    warmup: int = 3
    budget: float = 6.0
    least: int = 3
    settle: float = 0.2


@dataclass(frozen=True)
class Spread:
    """Seconds of a call over the rounds: median, quartiles, fastest, and how many there were."""

    median: float
    lower: float
    upper: float
    fastest: float
    count: int

    @classmethod
    def of(cls, seconds: list[float]) -> "Spread":
        """Summarises the calls.

        Example:
            >>> Spread.of([3.0, 1.0, 2.0, 5.0, 4.0])
            Spread(median=3.0, lower=2.0, upper=4.0, fastest=1.0, count=5)
        """
        lower = upper = seconds[0]
        if len(seconds) > 1:
            lower, _, upper = statistics.quantiles(seconds, n=4, method="inclusive")
        return cls(statistics.median(seconds), lower, upper, min(seconds), len(seconds))


@dataclass
class Timing:
    """What became of one contender.

    Attributes:
        seconds: of its timed calls.
        last: seconds of its latest call, timed or not.
        error: the exception that ended it.
    """

    seconds: list[float] = field(default_factory=list)
    last: float = 0.0
    error: Exception | None = None


def time_interleaved(
    calls: Mapping[str, Callable[[], object]],
    settings: Settings,
    *,
    clock: Clock = time.perf_counter,
    on_call: Callable[[str], None] = lambda name: None,
) -> dict[str, Timing]:
    """Times all calls in turn, `settings.repeats` times over.

    A call that raises is not repeated; the others go on. What a call returns is released after
    the clock has stopped.

    Args:
        calls: what to time, by name.
        settings: how often.
        clock: the time in seconds.
        on_call: told the name before each call.
    """
    timings = {name: Timing() for name in calls}

    def run(name: str) -> None:
        timing = timings[name]
        if timing.error is not None:
            return
        on_call(name)
        try:
            start = clock()
            result = calls[name]()
            timing.last = clock() - start
        except Exception as error:
            timing.error = error
        else:
            del result

    with _without_collector():
        for name, timing in timings.items():
            spent, left = 0.0, settings.warmup
            while left and spent <= settings.budget:
                run(name)
                spent, left = spent + timing.last, left - 1
        for _ in range(settings.repeats):
            for name, timing in timings.items():
                if not _has_turn(timing, settings):
                    continue
                if timing.last < settings.settle:
                    run(name)
                run(name)
                timing.seconds += [timing.last] if timing.error is None else []
    return timings


def _has_turn(timing: Timing, settings: Settings) -> bool:
    return len(timing.seconds) < settings.least or sum(timing.seconds) <= settings.budget


@contextmanager
def _without_collector() -> Iterator[None]:
    """Keeps Python's cycle collector from running inside somebody's turn."""
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
