"""`myo compare`: several mixers on one task, under the same conditions."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from myosotis.bench.memory import peak_extra_bytes
from myosotis.bench.report import format_bytes
from myosotis.cli.data import DataDir, Json
from myosotis.cli.train import Recipe, RunDir, SetValues, require_training

if TYPE_CHECKING:
    from myosotis.train import TrainConfig
    from myosotis.train.result import Result

__all__ = ["compare"]

_UNLIMITED = 1_000_000  # epochs, where time decides


@dataclass(frozen=True)
class Trial:
    """One run of a comparison: its folder, its result, and its highest extra memory if known."""

    folder: Path
    result: "Result"
    peak_bytes: int | None


def compare(
    task: Annotated[str, typer.Argument(help="What to learn: a name of 'myo data list'.")],
    mixers: Annotated[
        str,
        typer.Option(metavar="NAME,NAME,…", help="Layers to compare, such as myo,s5,attention."),
    ],
    time_budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="For each run: 90s, 30m, 1h30m. By default the recipe's epochs."
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each, from different seeds.")] = 1,
    recipe: Recipe = None,
    assignments: SetValues = None,
    data_dir: DataDir = None,
    run_dir: RunDir = Path("runs"),
    as_json: Json = False,
) -> None:
    """Train models that differ in one layer only, and put their results side by side.

    All have the same data, width, depth, optimiser and budget, and all blocks
    work on the whole input (recipes may let 'myo' climb the tree, shift it or
    take it apart, which mixers over sequences cannot). The table gives the mean
    over the seeds and their standard deviation; a picture shows the learning
    curves.
    """
    require_training()
    from myosotis.train.config import ModelConfig
    from myosotis.train.interrupt import InterruptionError
    from myosotis.train.recipes import ON_TREES_ONLY, resolve_config

    plain = ModelConfig()
    changes: dict[str, object] = {f"model.{name}": getattr(plain, name) for name in ON_TREES_ONLY}
    if time_budget is not None:
        changes |= {"time_budget": time_budget, "epochs": _UNLIMITED}
    names = list(dict.fromkeys(name.strip() for name in mixers.split(",")))
    configs = {
        name: resolve_config(
            task, recipe=recipe, mixer=name, changes=changes, assignments=assignments or ()
        )
        for name in names
    }
    _rehearse(configs, data_dir)
    folder = run_dir / f"compare-{task}-{datetime.now():%Y%m%d-%H%M%S}"
    try:
        trials = {
            name: [_trial(config, config.seed + k, folder, data_dir) for k in range(seeds)]
            for name, config in configs.items()
        }
    except InterruptionError:
        typer.echo(f"stopped; the runs so far are in {folder}", err=True)
        raise typer.Exit(130) from None
    _report(task, trials, folder, as_json=as_json)


def _rehearse(configs: Mapping[str, "TrainConfig"], data_dir: Path | None) -> None:
    """Takes one batch through each model.

    That finds a mixer which does not exist or fit before others have trained for hours, and
    compiles what would otherwise count as time and memory of whoever uses it first.
    """
    from torch.nn import functional

    from myosotis.data import load
    from myosotis.nn import Classifier

    for config in configs.values():
        task = load(config.task, data_dir)
        model = Classifier(config.model.classifier(task))
        batch = next(task.train.batches(config.batch_size))
        logits = model(batch.inputs, batch.mask, batch.tree)
        functional.cross_entropy(logits, batch.labels).backward()


def _trial(config: "TrainConfig", seed: int, folder: Path, data_dir: Path | None) -> Trial:
    from myosotis.train.runs import create_run, run

    place = create_run(replace(config, seed=seed), folder, f"seed{seed}")
    typer.echo(f"{config.model.mixer}, seed {seed}", err=True)
    results: list[Result] = []
    peak = peak_extra_bytes(lambda: results.append(run(place, data_dir=data_dir)))
    return Trial(place, results[0], peak)


def _report(
    task: str, trials: Mapping[str, Sequence[Trial]], folder: Path, *, as_json: bool
) -> None:
    from myosotis.plot.curves import Contender, show_compare
    from myosotis.plot.save import save_figure
    from myosotis.train.files import write_file
    from myosotis.train.history import read_history
    from myosotis.train.layout import METRICS

    contenders = {
        name: Contender(
            [read_history(trial.folder / METRICS) for trial in own],
            [trial.result.test_accuracy for trial in own],
        )
        for name, own in trials.items()
    }
    picture, file = folder / "comparison.png", folder / "comparison.json"
    save_figure(show_compare(f"{task}, the same budget for each", contenders), picture)
    document = {"task": task, "mixers": {name: _summary(own) for name, own in trials.items()}}
    text = json.dumps(document, indent=2)
    write_file(file, f"{text}\n".encode())
    if as_json:
        typer.echo(text)
        return
    Console().print(_table(task, trials))
    typer.echo(f"wrote {picture} and {file}")


def _summary(trials: Sequence[Trial]) -> dict[str, object]:
    accuracies = [trial.result.test_accuracy for trial in trials]
    return {
        "test_accuracy_mean": mean(accuracies),
        "test_accuracy_deviation": stdev(accuracies) if len(accuracies) > 1 else None,
        "runs": [
            {"run": str(trial.folder), "peak_bytes": trial.peak_bytes, **asdict(trial.result)}
            for trial in trials
        ],
    }


def _table(task: str, trials: Mapping[str, Sequence[Trial]]) -> Table:
    table = Table(title=task, title_justify="left")
    table.add_column("mixer")
    for heading in ("test %", "validation %", "samples/s", "steps", "parameters", "memory"):
        table.add_column(heading, justify="right")
    for name, own in trials.items():
        results = [trial.result for trial in own]
        peaks = [trial.peak_bytes for trial in own if trial.peak_bytes is not None]
        table.add_row(
            name,
            _percent([result.test_accuracy for result in results]),
            _percent([result.validation_accuracy for result in results]),
            f"{mean(result.samples_per_second for result in results):,.0f}",
            f"{mean(result.steps for result in results):,.0f}",
            f"{results[0].parameters:,}",
            format_bytes(max(peaks)) if peaks else "?",
        )
    return table


def _percent(values: Sequence[float]) -> str:
    spread = f" ± {100 * stdev(values):.2f}" if len(values) > 1 else ""
    return f"{100 * mean(values):.2f}{spread}"
