"""The cases of `myo bench data`: how many examples a second are dealt out or generated.

Unlike the other benchmarks these have no peers to be held against, only rates to be reached.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from myosotis.bench.provenance import Json
from myosotis.bench.timing import Settings, Spread, time_interleaved
from myosotis.data.pathfinder_settings import PATHFINDER, PATHX
from myosotis.data.pathfinder_settings import Settings as Scene
from myosotis.data.registry import load
from myosotis.errors import DataError

__all__ = ["CASES", "Rate", "RateCase", "deal_out", "run_rate"]

_BATCH = 64


@dataclass(frozen=True)
class RateCase:
    """A rate to be reached.

    Attributes:
        name: unique, and what `--only` looks into.
        unit: what is counted.
        threads: how many it runs on.
        target: units a second.
        units: how many one call does; fewer for a trial.
        prepare: everything that is not timed, up to the call that is, given the data folder and
            the number of units.

    Example:
        >>> CASES[0].name, CASES[0].target
        ('batches of 64, zmnist', 20000)
    """

    name: str
    unit: str
    threads: int
    target: float
    units: int
    prepare: Callable[[Path, int], Callable[[], object]]


@dataclass(frozen=True)
class Rate:
    """What was measured.

    Attributes:
        case: the case.
        units: how many one call did.
        seconds: of one call; None if it could not run.
        note: why not.

    Example:
        >>> Rate(CASES[0], units=50_000, seconds=Spread.of([2.0])).per_second
        25000.0
    """

    case: RateCase
    units: int
    seconds: Spread | None
    note: str = ""

    @property
    def per_second(self) -> float | None:
        """Units a second, in the median."""
        return None if self.seconds is None else self.units / self.seconds.median

    @property
    def met(self) -> bool | None:
        """Whether the target was reached; None if nothing was measured."""
        return None if self.per_second is None else self.per_second >= self.case.target

    def as_json(self) -> Json:
        """Return all figures."""
        case = {key: getattr(self.case, key) for key in ("name", "unit", "threads", "target")}
        seconds = None if self.seconds is None else asdict(self.seconds)
        measured = {"units": self.units, "seconds": seconds, "note": self.note}
        return {**case, **measured, "per_second": self.per_second, "met": self.met}


def run_rate(case: RateCase, root: Path, settings: Settings, *, quick: bool = False) -> Rate:
    """Measure a case, or say why it cannot be.

    Args:
        case: what to measure.
        root: the data folder.
        settings: how often.
        quick: do a fraction of the units: a trial, not a measurement.

    Example:
        >>> case = RateCase(
        ...     "counting", "number", 1, 1e3, 1000, lambda root, n: lambda: sum(range(n))
        ... )
        >>> run_rate(case, Path(), Settings(repeats=3)).met
        True
    """
    units = max(1, case.units // 100) if quick else case.units
    try:
        call = case.prepare(root, units)
    except DataError as error:
        return Rate(case, units, None, str(error))
    timing = time_interleaved({case.name: call}, settings)[case.name]
    if timing.error is not None:
        raise timing.error
    return Rate(case, units, Spread.of(timing.seconds))


def deal_out(task: str) -> Callable[[Path, int], Callable[[], object]]:
    """Prepare to go through shuffled, normalised batches of a task.

    Example:
        >>> deal_out("digits")(Path(), 100)()
    """

    def prepare(root: Path, units: int) -> Callable[[], object]:
        split = load(task, root).train

        def call() -> None:
            seen = 0
            for batch in split.batches(_BATCH, seed=0):
                seen += len(batch.labels)
                if seen >= units:
                    break

        return call

    return prepare


def _listops(root: Path, units: int) -> Callable[[], object]:
    from myosotis.data.listops_generate import generate  # brings Numba, which takes a while

    return lambda: generate(units, seed=0)


def _pathfinder(scene: Scene, threads: int) -> Callable[[Path, int], Callable[[], object]]:
    """Draw a share of the images on each thread."""

    def prepare(root: Path, units: int) -> Callable[[], object]:
        from myosotis.data.pathfinder import generate

        ends = np.linspace(0, units, threads + 1).astype(int).tolist()

        def call() -> None:
            with ThreadPoolExecutor(threads) as pool:
                parts = pool.map(
                    lambda first, last: generate(first, last, settings=scene),
                    ends[:-1],
                    ends[1:],
                )
                list(parts)

        return call

    return prepare


CASES = [
    RateCase("batches of 64, zmnist", "image", 1, 20_000, 50_000, deal_out("zmnist")),
    RateCase("batches of 64, zcifar", "image", 1, 20_000, 40_000, deal_out("zcifar")),
    RateCase("listops, generated", "expression", 1, 2_000, 2_000, _listops),
    RateCase("pathfinder 32×32, generated", "image", 2, 300, 1_000, _pathfinder(PATHFINDER, 2)),
    RateCase("pathfinder 128×128, generated", "image", 2, 15, 100, _pathfinder(PATHX, 2)),
]
