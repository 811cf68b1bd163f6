"""`myo bench data`: how fast examples are dealt out and generated."""

from collections.abc import Sequence
from dataclasses import asdict

import typer
from rich.console import Console
from rich.table import Table

from myosotis.bench.data import CASES, Rate, RateCase, run_rate
from myosotis.bench.report import format_seconds
from myosotis.bench.timing import Settings
from myosotis.cli.bench import (
    JsonFile,
    List,
    Only,
    Quick,
    Repeats,
    Strict,
    check_folders,
    origin_of,
    write_json,
)
from myosotis.cli.data import DataDir
from myosotis.data.folder import data_folder
from myosotis.errors import ConfigError

__all__ = ["bench_data"]


def bench_data(
    repeats: Repeats = 5,
    only: Only = "",
    list_only: List = False,
    quick: Quick = False,
    strict: Strict = False,
    json_file: JsonFile = None,
    data_dir: DataDir = None,
) -> None:
    """Time batches and the generators of tasks, against the rates that are asked of them."""
    cases = [case for case in CASES if only in case.name]
    if list_only:
        Console().print(_listing(cases))
        return
    if not cases:
        raise ConfigError(f"no case has {only!r} in its name; --list names them all")
    check_folders(json_file)
    settings, root = Settings(repeats=repeats, warmup=1), data_folder(data_dir)
    rates = [run_rate(case, root, settings, quick=quick) for case in cases]
    if json_file is not None:
        figures = {"settings": asdict(settings), "cases": [rate.as_json() for rate in rates]}
        write_json(json_file, origin_of("data", quick=quick) | figures)
    Console().print(_table(rates))
    if strict and any(rate.met is False for rate in rates):
        raise typer.Exit(1)


def _listing(cases: Sequence[RateCase]) -> Table:
    table = Table("case", "threads", "target")
    for case in cases:
        table.add_row(case.name, str(case.threads), _per_second(case.target, case.unit))
    return table


def _table(rates: Sequence[Rate]) -> Table:
    table = Table("case", "threads", "rate", "quartiles of a call", "target", "met")
    for rate in rates:
        case = rate.case
        target = _per_second(case.target, case.unit)
        if rate.seconds is None or rate.per_second is None:
            table.add_row(case.name, str(case.threads), "–", rate.note, target, "–")
            continue
        quartiles = f"{format_seconds(rate.seconds.lower)} – {format_seconds(rate.seconds.upper)}"
        found = _per_second(rate.per_second, case.unit)
        met = "✓" if rate.met else "✗"
        table.add_row(case.name, str(case.threads), found, quartiles, f"≥ {target}", met)
    return table


def _per_second(rate: float, unit: str) -> str:
    return f"{rate:,.0f} {unit}s/s"
