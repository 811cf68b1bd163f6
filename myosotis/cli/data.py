"""`myo data`: what data there is, how to get it, and whether it is sound."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from myosotis.bench.report import format_bytes
from myosotis.data.check import Report, check, status
from myosotis.data.fetch import fetch
from myosotis.data.folder import data_folder
from myosotis.data.published import SOURCES
from myosotis.data.registry import available, find, load
from myosotis.data.task import SPLITS, Task
from myosotis.plot.samples import show_samples
from myosotis.plot.save import check_picture, save_figure

__all__ = ["app"]

app = typer.Typer(help="List, get and check the data of the tasks.", no_args_is_help=True)

_NUM_SAMPLES = 16

DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", file_okay=False, help="Data folder; else MYOSOTIS_DATA or the user's cache."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Name = Annotated[str, typer.Argument(help="Name of a task, as in 'myo data list'.")]
Picture = Annotated[
    Path | None,
    typer.Option(
        "--picture", dir_okay=False, help="Draw 16 test images into this PNG or SVG file."
    ),
]


@app.command("list")
def list_tasks(data_dir: DataDir = None, as_json: Json = False) -> None:
    """List the tasks: what is here, what can be downloaded, what is generated."""
    root = data_folder(data_dir)
    found = [(entry, status(entry, root)) for entry in available().values()]
    if as_json:
        tasks = [
            {"name": e.name, "summary": e.summary, "origin": e.origin, **asdict(s)}
            for e, s in found
        ]
        typer.echo(json.dumps({"folder": str(root), "tasks": tasks}, indent=2, ensure_ascii=False))
        return
    table = Table(title=f"data folder: {root}", title_justify="left")
    for heading in ("name", "what", "state"):
        table.add_column(heading)
    table.add_column("size", justify="right")
    for entry, state in found:
        size = "" if state.size is None else format_bytes(state.size)
        table.add_row(entry.name, entry.summary, state.state, size)
    Console().print(table)


@app.command("fetch")
def fetch_task(name: Name, data_dir: DataDir = None) -> None:
    """Download or generate what a task needs and does not have yet."""
    root = data_folder(data_dir)
    source = SOURCES[name] if name in SOURCES else find(name).source
    if source is None:
        load(name, root)
        typer.echo(f"{name}: ready")
        return
    fetched = fetch(source, root)
    typer.echo(f"{source.name}: " + (f"fetched {', '.join(fetched)}" if fetched else "complete"))


@app.command("check")
def check_task(
    name: Name, data_dir: DataDir = None, picture: Picture = None, as_json: Json = False
) -> None:
    """Load a task, compare its files with their checksums, and count its examples."""
    if picture is not None:
        check_picture(picture)  # before data is loaded
    root = data_folder(data_dir)
    task = load(name, root)
    report = check(task, find(name), root)
    if picture is not None:
        _draw(task, picture)
    if as_json:
        document = {**asdict(report), "picture": None if picture is None else str(picture)}
        typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return
    Console().print(_table(report))
    if picture is not None:
        typer.echo(f"wrote {picture}")


def _draw(task: Task, picture: Path) -> None:
    labels = task.test.labels[:_NUM_SAMPLES]
    images = task.images("test", range(len(labels)))
    captions = [str(label) for label in labels]
    save_figure(show_samples(f"{task.name}: test images", images, captions), picture)


def _table(report: Report) -> Table:
    table = Table(show_header=False)
    table.add_row("task", f"[bold]{report.name}[/bold]")
    table.add_row("source", report.provenance.source)
    table.add_row("license", report.provenance.license)
    for file in report.provenance.files:
        table.add_row("file", f"{file.path}, {format_bytes(file.size)}, sha256 {file.sha256[:16]}…")
    table.add_row(
        "leaves", "each has its own tree" if report.leaves is None else f"{report.leaves:,}"
    )
    if report.vocabulary:
        table.add_row("tokens", f"{report.vocabulary:,}")
    else:
        table.add_row("channels", str(report.channels))
    for split in SPLITS:
        balance = " ".join(f"{count:,}" for count in report.balance[split])
        table.add_row(split, f"{report.examples[split]:,} examples; classes: {balance}")
    return table
