"""`myo train`: train a model on a task, or go on with a run that was interrupted."""

import json
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from myosotis.cli.data import DataDir, Json
from myosotis.errors import ConfigError
from myosotis.plot.theme import require_matplotlib

if TYPE_CHECKING:
    from myosotis.train.config import TrainConfig
    from myosotis.train.result import Result

__all__ = ["RunDir", "SetValues", "require_training", "train"]

RunDir = Annotated[
    Path, typer.Option("--run-dir", file_okay=False, help="Folder in which runs are kept.")
]
Recipe = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Settings in a YAML file, or a recipe that comes with the library, such as "
        "paper/zcifar. By default cpu/TASK.",
    ),
]
SetValues = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Change one setting, such as model.dim=128 or optimiser.lr=1e-3. Can be repeated.",
    ),
]


def train(
    task: Annotated[
        str | None,
        typer.Argument(help="What to learn: a name of 'myo data list'; digits by default."),
    ] = None,
    mixer: Annotated[
        str | None,
        typer.Option(help="Layer that carries information: myo (on the tree), s5, attention, …"),
    ] = None,
    recipe: Recipe = None,
    assignments: SetValues = None,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Go on with the run in this folder, with its settings."),
    ] = None,
    data_dir: DataDir = None,
    run_dir: RunDir = Path("runs"),
    name: Annotated[
        str | None, typer.Option(help="Call the run this instead of by date and time.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Of weights, order of examples and dropout.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the training set.")] = None,
    time_budget: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Stop in time and evaluate: 90s, 30m, 1h30m."),
    ] = None,
    devices: Annotated[
        int | None,
        typer.Option(help="Train on this many devices, each with its own batches; needs --name."),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(help="How Lightning spreads the work over devices, such as ddp or fsdp."),
    ] = None,
    deterministic: Annotated[
        bool, typer.Option("--deterministic", help="Deterministic algorithms only, on any device.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Train a model on a task, and report how well it does on the test set.

    Without arguments it learns to read handwritten digits, in under a minute
    and without a download. Every run is a folder with its settings, metrics,
    checkpoints, result and a picture of its learning curve. Ctrl-C saves;
    --resume goes on.
    """
    require_training()
    from myosotis.train.recipes import resolve_config
    from myosotis.train.runs import create_run

    changes = {
        key: value
        for key, value in (
            ("seed", seed),
            ("epochs", epochs),
            ("time_budget", time_budget),
            ("devices", devices),
            ("strategy", strategy),
            ("deterministic", deterministic or None),
        )
        if value is not None
    }
    if resume is not None:
        if task or mixer or recipe or assignments or name or changes:
            raise ConfigError(
                "--resume goes on with the settings of the run: only --data-dir and --json fit it"
            )
        _train(resume, data_dir, as_json=as_json)
        return
    config = resolve_config(
        task, recipe=recipe, mixer=mixer, changes=changes, assignments=assignments or ()
    )
    _check_task(config, data_dir)
    _train(create_run(config, run_dir, name), data_dir, as_json=as_json)


def require_training() -> None:
    """Raises `ConfigError` if what a training needs is not installed."""
    if any(find_spec(module) is None for module in ("pytorch_lightning", "yaml")):
        raise ConfigError("training needs the extra train: pip install 'myosotis[train]'")
    require_matplotlib()


def _check_task(config: "TrainConfig", data_dir: Path | None) -> None:
    """Finds mistakes in the settings before a folder is made for them."""
    from myosotis.data import load
    from myosotis.nn import Classifier

    Classifier(config.model.classifier(load(config.task, data_dir)))


def _train(folder: Path, data_dir: Path | None, *, as_json: bool) -> None:
    from myosotis.plot.curves import show_run
    from myosotis.plot.save import save_figure
    from myosotis.train.history import read_history
    from myosotis.train.interrupt import InterruptionError
    from myosotis.train.layout import CURVE, METRICS
    from myosotis.train.runs import is_main_process, run

    try:
        result = run(folder, data_dir=data_dir)
    except InterruptionError:
        typer.echo(f"stopped and saved; go on with: myo train --resume {folder}", err=True)
        raise typer.Exit(130) from None
    if not is_main_process():
        return
    title = f"{result.task}, {result.mixer}: test accuracy {result.test_accuracy:.2%}"
    save_figure(show_run(title, read_history(folder / METRICS)), folder / CURVE)
    if as_json:
        typer.echo(json.dumps({"run": str(folder), **asdict(result)}, indent=2))
    else:
        Console().print(_table(folder, result))


def _table(folder: Path, result: "Result") -> Table:
    from myosotis.train.duration import format_duration
    from myosotis.train.layout import CURVE

    table = Table(show_header=False)
    table.add_row("task", result.task)
    table.add_row("mixer", result.mixer)
    table.add_row("test accuracy", f"[bold]{result.test_accuracy:.2%}[/bold]")
    table.add_row(
        "validation accuracy", f"{result.validation_accuracy:.2%}, best after {result.best_epoch}"
    )
    table.add_row("epochs", f"{result.epochs} ({result.steps:,} steps)")
    table.add_row("time", format_duration(result.wall_seconds))
    table.add_row("speed", f"{result.samples_per_second:,.0f} samples/s")
    table.add_row("parameters", f"{result.parameters:,}")
    table.add_row("run", str(folder))
    table.add_row("picture", str(folder / CURVE))
    return table
