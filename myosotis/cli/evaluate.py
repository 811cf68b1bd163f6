"""`myo eval`: how good a trained model is."""

import json
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from myosotis.cli.data import DataDir, Json
from myosotis.cli.train import require_training

__all__ = ["evaluate_run"]


class SplitName(str, Enum):
    """Splits to evaluate on."""

    test = "test"
    validation = "validation"


def evaluate_run(
    run: Annotated[
        Path,
        typer.Argument(help="Folder of a run, or of a saved model (then --task is needed)."),
    ],
    task: Annotated[
        str | None, typer.Option(help="Another task with inputs and classes of the same kind.")
    ] = None,
    split: Annotated[SplitName, typer.Option(help="Examples to classify.")] = SplitName.test,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Evaluate a trained model: its share of right answers on a split of the data.

    Of a run of 'myo train', the checkpoint with the best validation accuracy is taken.
    """
    require_training()
    from myosotis.data import load
    from myosotis.train.evaluate import evaluate
    from myosotis.train.saved import saved_model

    model, name = saved_model(run, task)
    score = evaluate(model, load(name, data_dir), split.value)
    if as_json:
        document = {"run": str(run), "task": name, "split": split.value, **asdict(score)}
        typer.echo(json.dumps(document, indent=2))
        return
    table = Table(show_header=False)
    table.add_row("run", str(run))
    table.add_row("task", name)
    table.add_row(f"{split.value} accuracy", f"[bold]{score.accuracy:.2%}[/bold]")
    table.add_row(f"{split.value} loss", f"{score.loss:.4f}")
    table.add_row("examples", f"{score.examples:,}")
    Console().print(table)
