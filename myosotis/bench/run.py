"""Runs one case: prepares its contenders, times them in turn, and measures their memory."""

import gc
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

from myosotis.bench.case import Case, Contender, Work
from myosotis.bench.memory import peak_extra_bytes
from myosotis.bench.timing import Settings, Spread, Timing, time_interleaved

__all__ = ["Measurement", "Result", "run_case"]

Status = Literal["measured", "not installed", "no comparable entry point", "failed"]


@dataclass(frozen=True)
class Measurement:
    """One contender in one case.

    Attributes:
        contender: its name.
        status: whether it ran, and if not why.
        note: what is missing or what went wrong, in one line.
        units: units of the case that one call does.
        seconds: of one call; None if it did not run.
        peak_bytes: extra memory of one call; None if it did not run or cannot be measured.
    """

    contender: str
    status: Status
    note: str = ""
    units: int = 1
    seconds: Spread | None = None
    peak_bytes: int | None = None


@dataclass(frozen=True)
class Result:
    """A case and what was measured, in the order of its contenders."""

    case: Case[Any]
    measurements: tuple[Measurement, ...]

    def cost(self, contender: str) -> float | None:
        """What the ratios of this case compare: seconds per unit, or bytes of a call."""
        (found,) = (m for m in self.measurements if m.contender == contender)
        if self.case.quantity == "memory":
            return found.peak_bytes
        return None if found.seconds is None else found.seconds.median / found.units

    def relative(self, contender: str) -> float | None:
        """Cost of a contender as a multiple of ours."""
        ours, other = self.cost(self.case.contenders[0].name), self.cost(contender)
        return other / ours if ours and other is not None else None

    @property
    def ratio(self) -> float | None:
        """The figure that the target is about; None without a target or without both costs."""
        if self.case.target is None:
            return None
        ours, other = (
            self.cost(n) for n in (self.case.contenders[0].name, self.case.target.against)
        )
        return self.case.target.ratio(ours, other) if ours and other else None

    @property
    def met(self) -> bool | None:
        """Whether the target was met; None if there is none or it could not be measured."""
        ratio = self.ratio
        if self.case.target is None or ratio is None:
            return None
        return self.case.target.met(ratio)


def run_case(
    case: Case[Any], settings: Settings, on_call: Callable[[str], None] = lambda name: None
) -> Result:
    """Measures every contender that can run and accounts for every one that cannot."""
    problem = case.problem(case.shape)
    prepared = {c.name: _prepare(c, problem, on_call) for c in case.contenders}
    works = {name: work for name, work in prepared.items() if isinstance(work, Work)}
    calls = {name: work.call for name, work in works.items()}
    timings = time_interleaved(calls, settings, on_call=on_call)
    gc.collect()  # cycles that die during a call would hide part of its memory
    measured = {name: _measure(name, works[name], timings[name]) for name in works}
    return Result(
        case,
        tuple(
            work if isinstance(work, Measurement) else measured[name]
            for name, work in prepared.items()
        ),
    )


def _prepare(
    contender: Contender[Any], problem: object, on_call: Callable[[str], None]
) -> Work | Measurement:
    if contender.absent:
        return Measurement(contender.name, "no comparable entry point", contender.absent)
    missing = [module for module in contender.requires if find_spec(module) is None]
    if missing:
        return Measurement(contender.name, "not installed", ", ".join(missing))
    on_call(contender.name)
    try:
        return contender.prepare(problem)
    except Exception as error:
        return _failure(contender.name, error)


def _measure(name: str, work: Work, timing: Timing) -> Measurement:
    if timing.error is not None:
        return _failure(name, timing.error)
    spread = Spread.of(timing.seconds)
    peak = peak_extra_bytes(work.call) if work.extra_bytes is None else work.extra_bytes
    return Measurement(name, "measured", "", work.units, spread, peak)


def _failure(name: str, error: Exception) -> Measurement:
    first_line = (str(error).strip().splitlines() or [""])[0]
    return Measurement(name, "failed", f"{type(error).__name__}: {first_line}")
