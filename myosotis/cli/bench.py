"""`myo bench`: how fast the solver, a layer and a training step are, beside their peers."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from myosotis.bench import layer, report, scaling, solve, train
from myosotis.bench.case import Case
from myosotis.bench.provenance import provenance
from myosotis.bench.run import Result, run_case
from myosotis.bench.scaling import Curves, Scaling
from myosotis.bench.timing import Settings
from myosotis.cli import info
from myosotis.errors import ConfigError
from myosotis.memory import freed_memory_kept
from myosotis.plot.save import save_figure
from myosotis.plot.scaling import Point, show_scaling
from myosotis.plot.theme import require_matplotlib

__all__ = ["app"]

app = typer.Typer(
    help="Measure the solver, a layer or a training step beside their peers.",
    no_args_is_help=True,
)

JsonFile = Annotated[
    Path | None, typer.Option("--json", dir_okay=False, help="Write all figures to this file.")
]
MarkdownFile = Annotated[
    Path | None, typer.Option("--markdown", dir_okay=False, help="Write the table to this file.")
]
PlotFolder = Annotated[
    Path | None,
    typer.Option("--plot", file_okay=False, help="Draw time and memory against size here."),
]
Repeats = Annotated[int, typer.Option(min=1, help="Rounds; the contenders take turns in each.")]
Only = Annotated[str, typer.Option(help="Run the cases whose name contains this.")]
List = Annotated[bool, typer.Option("--list", help="Name the cases and exit.")]
Quick = Annotated[bool, typer.Option("--quick", help="Tiny sizes: a trial, not a measurement.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 1 if a target is missed.")]


@dataclass(frozen=True)
class Options:
    """What the three commands have in common."""

    repeats: int
    only: str
    list_only: bool
    quick: bool
    strict: bool
    json_file: Path | None
    markdown_file: Path | None
    plot_folder: Path | None = None


@app.command("solve")
def bench_solve(
    repeats: Repeats = Settings.repeats,
    only: Only = "",
    list_only: List = False,
    quick: Quick = False,
    strict: Strict = False,
    json_file: JsonFile = None,
    markdown_file: MarkdownFile = None,
    plot_folder: PlotFolder = None,
) -> None:
    """Time the solver alone, against copies, other solvers and scans."""
    options = Options(
        repeats, only, list_only, quick, strict, json_file, markdown_file, plot_folder
    )
    _bench("solve", solve.CASES, scaling.SCALINGS, options)


@app.command("layer")
def bench_layer(
    repeats: Repeats = Settings.repeats,
    only: Only = "",
    list_only: List = False,
    quick: Quick = False,
    strict: Strict = False,
    json_file: JsonFile = None,
    markdown_file: MarkdownFile = None,
) -> None:
    """Time one mixing layer, against layers that do the same job."""
    options = Options(repeats, only, list_only, quick, strict, json_file, markdown_file)
    _bench("layer", layer.CASES, [], options)


@app.command("train")
def bench_train(
    repeats: Repeats = Settings.repeats,
    only: Only = "",
    list_only: List = False,
    quick: Quick = False,
    strict: Strict = False,
    json_file: JsonFile = None,
    markdown_file: MarkdownFile = None,
) -> None:
    """Time a training step, with and without the solve."""
    options = Options(repeats, only, list_only, quick, strict, json_file, markdown_file)
    with freed_memory_kept():  # as `myo train` does
        _bench("train", train.CASES, [], options)


def _bench(name: str, cases: list[Case[Any]], scalings: list[Scaling], options: Options) -> None:
    cases = [case for case in cases if options.only in case.name]
    scalings = [s for s in scalings if options.only in s.name]
    if options.list_only:
        Console().print(_listing(cases, scalings))
        return
    _check(options, bool(cases or (scalings and options.plot_folder)))
    settings = Settings(repeats=options.repeats)
    results, curves = _measure(cases, scalings if options.plot_folder else [], settings, options)
    for curve in curves:
        _draw(curve, options)
    _write(name, results, curves, settings, options)
    if results:
        _print(results)
    if options.strict and any(map(_disappoints, results)):
        raise typer.Exit(1)


def _disappoints(result: Result) -> bool:
    """Whether a target is missed, or our own contender broke down."""
    return result.met is False or result.measurements[0].status == "failed"


def _check(options: Options, something: bool) -> None:
    """Finds the user's mistakes before minutes are spent."""
    if not something:
        raise ConfigError(f"no case has {options.only!r} in its name; --list names them all")
    check_folders(options.json_file, options.markdown_file)
    if options.plot_folder is not None:
        require_matplotlib()
        options.plot_folder.mkdir(parents=True, exist_ok=True)


def check_folders(*files: Path | None) -> None:
    """Raises `ConfigError` if the folder of a file that is to be written does not exist."""
    for file in files:
        if file is not None and not file.resolve().parent.is_dir():
            raise ConfigError(f"cannot write {file}: there is no folder {file.parent}")


def origin_of(name: str, *, quick: bool) -> dict[str, Any]:
    """What a file of figures says of where they come from: commit, versions, machine."""
    machine = asdict(info.describe())
    return {"benchmark": name, "quick": quick, **provenance(), "machine": machine}


def write_json(file: Path, document: dict[str, Any]) -> None:
    """Writes the figures of a benchmark."""
    text = json.dumps(document, indent=2, ensure_ascii=False)
    file.write_text(text + "\n", encoding="utf-8")


def _measure(
    cases: Sequence[Case[Any]], scalings: Sequence[Scaling], settings: Settings, options: Options
) -> tuple[list[Result], list[Curves]]:
    results: list[Result] = []
    curves: list[Curves] = []
    exponents = scaling.TINY_EXPONENTS if options.quick else scaling.EXPONENTS
    with _display(len(cases) + len(scalings)) as display:
        for case in cases:
            display.begin(case.name)
            results.append(
                run_case(case.tiny() if options.quick else case, settings, display.on_call)
            )
        for each in scalings:
            display.begin(each.name)
            few = Settings(repeats=min(settings.repeats, 7), warmup=2, budget=1.0)
            curves.append(scaling.run_scaling(each, exponents, few, on_call=display.on_call))
    return results, curves


class _Display:
    """A bar over the cases on standard error.

    It is redrawn between calls only: a thread that redraws would take time from what is timed.
    """

    def __init__(self, bar: Progress, total: int) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=total, contender="")
        self._begun = 0
        self._drawn = 0.0

    def begin(self, name: str) -> None:
        """Moves on to a case."""
        self._bar.update(self._task, completed=self._begun, description=name)
        self._begun += 1

    def on_call(self, name: str) -> None:
        """Shows whose turn it is, a few times a second at most."""
        now = self._bar.get_time()
        if now - self._drawn > 0.25:
            self._bar.update(self._task, contender=name, refresh=True)
            self._drawn = now


@contextmanager
def _display(total: int) -> Iterator[_Display]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[contender]}"),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
        yield _Display(bar, total)


def _draw(curves: Curves, options: Options) -> None:
    assert options.plot_folder is not None
    points = {
        contender.name: [
            Point(nodes, m.seconds.median, m.peak_bytes)
            for nodes, m in curves.of(contender.name)
            if m.seconds is not None
        ]
        for contender in curves.scaling.contenders
    }
    absent = [
        f"{m.contender}: {m.status}"
        for result in curves.results
        for m in result.measurements
        if not points[m.contender]
    ]
    drawn = {name: found for name, found in points.items() if found}
    figure = show_scaling(curves.scaling.title, drawn, absent)
    for suffix in ("png", "svg"):
        file = options.plot_folder / f"{curves.scaling.name}.{suffix}"
        save_figure(figure, file)
        typer.echo(f"wrote {file}")


def _write(
    name: str,
    results: Sequence[Result],
    curves: Sequence[Curves],
    settings: Settings,
    options: Options,
) -> None:
    if options.json_file is not None:
        document = report.to_json(results, settings, origin_of(name, quick=options.quick))
        scaled = [result for curve in curves for result in curve.results]
        document["scaling"] = report.to_json(scaled, settings, {})["cases"]
        write_json(options.json_file, document)
    if options.markdown_file is not None:
        options.markdown_file.write_text(report.to_markdown(results), encoding="utf-8")


def _print(results: Sequence[Result]) -> None:
    console = Console()
    for result in results:
        case, found = result.case, report.rows(result)
        console.print(f"[bold]{case.name}[/bold]")
        console.print(f"[dim]{case.shape.describe()}; {case.timed}[/dim]")
        table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
        *headings, _, _ = report.HEADINGS  # terminals have no room for the target beside the rest
        for heading in headings:
            table.add_column(heading, overflow="fold")
        for *figures, _, _ in found:
            table.add_row(*figures)
        console.print(table)
        if case.target is not None:
            console.print(f"{found[0].met} {found[0].target}")
        console.print()
    console.print(report.closing_line(results))


def _listing(cases: Sequence[Case[Any]], scalings: Sequence[Scaling]) -> Table:
    table = Table()
    for heading in ("case", "size", "timed", "contenders", "target"):
        table.add_column(heading, overflow="fold")
    for case in cases:
        names = ", ".join(c.name for c in case.contenders)
        target = "" if case.target is None else case.target.describe()
        table.add_row(case.name, case.shape.describe(), case.timed, names, target)
    for each in scalings:
        names = ", ".join(c.name for c in each.contenders)
        table.add_row(each.name, f"{each.title}; drawn by --plot", "forward", names, "")
    return table
