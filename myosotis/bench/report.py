"""Results as rows for a table, as Markdown and as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import NamedTuple

from myosotis.bench.provenance import Json
from myosotis.bench.run import Measurement, Result
from myosotis.bench.timing import Settings

__all__ = ["HEADINGS", "Row", "closing_line", "format_bytes", "format_seconds"]
__all__ += ["rows", "to_json", "to_markdown"]


class Row(NamedTuple):
    """One contender of one case, in words."""

    contender: str
    median: str
    spread: str
    memory: str
    relative: str
    target: str
    met: str


HEADINGS = Row("contender", "median", "quartiles", "memory", "relative", "target", "met")


def rows(result: Result) -> list[Row]:
    """One row for every contender of a case; the target stands in the first."""
    found = [_row(result, m) for m in result.measurements]
    target, ratio = result.case.target, result.ratio
    if target is not None:
        figure = "–" if ratio is None else _significant(ratio)
        met = {None: "–", True: "✓", False: "✗"}[result.met]
        found[0] = found[0]._replace(target=f"{figure} ({target.describe()})", met=met)
    return found


def closing_line(results: Sequence[Result]) -> str:
    """How many of the targets were met.

    Example:
        >>> closing_line([])
        '0 of 0 targets met'
    """
    verdicts = [r.met for r in results if r.case.target is not None]
    line = f"{verdicts.count(True)} of {len(verdicts)} targets met"
    unknown = verdicts.count(None)
    return f"{line}, {unknown} not measurable here" if unknown else line


def to_markdown(results: Sequence[Result]) -> str:
    """One table for all cases."""
    lines = [_markdown_line(["case", *HEADINGS]), "|---" * (len(HEADINGS) + 1) + "|"]
    for result in results:
        case = f"{result.case.name} ({result.case.shape.describe()}; {result.case.timed})"
        for row in rows(result):
            lines.append(_markdown_line([case, *row]))
            case = ""
    return "\n".join([*lines, "", closing_line(results) + ".", ""])


def to_json(results: Sequence[Result], settings: Settings, origin: Json) -> Json:
    """Everything that was measured, in seconds and bytes, with where it comes from."""
    return {**origin, "settings": asdict(settings), "cases": [_case_json(r) for r in results]}


def format_seconds(seconds: float) -> str:
    """Three digits and a unit.

    Example:
        >>> format_seconds(0.00123456), format_seconds(75.0)
        ('1.23 ms', '75 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{_significant(seconds / size)} {unit}"
    return f"{_significant(seconds / 1e-9)} ns"


def format_bytes(count: float) -> str:
    """Three digits and a binary unit.

    Example:
        >>> format_bytes(22_364_160)
        '21.3 MiB'
    """
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{_significant(count / size)} {unit}"
    return f"{count:.0f} B"


def _row(result: Result, m: Measurement) -> Row:
    relative = result.relative(m.contender)
    shown = "" if relative is None else _significant(relative)
    if m.seconds is None:
        return Row(m.contender, m.status, m.note, "", shown, "", "")
    unit = result.case.unit
    median = format_seconds(m.seconds.median / m.units)
    if unit != "call":
        median += f" per {unit}"
    if unit == "sample":
        median += f", {_significant(m.units / m.seconds.median)} samples/s"
    spread = f"{format_seconds(m.seconds.lower / m.units)} – "
    spread += format_seconds(m.seconds.upper / m.units)
    memory = "" if m.peak_bytes is None else format_bytes(m.peak_bytes)
    return Row(m.contender, median, spread, memory, shown, "", "")


def _case_json(result: Result) -> Json:
    case = result.case
    target = None
    if case.target is not None:
        target = {**asdict(case.target), "ratio": result.ratio, "met": result.met}
    dtype = str(case.shape.dtype).removeprefix("torch.")
    return {
        "name": case.name,
        "timed": case.timed,
        "shape": {**asdict(case.shape), "dtype": dtype},
        "unit": case.unit,
        "quantity": case.quantity,
        "target": target,
        "contenders": [
            {**asdict(m), "relative": result.relative(m.contender)} for m in result.measurements
        ],
    }


def _significant(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _markdown_line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
