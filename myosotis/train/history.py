"""What happened in each epoch, as a table."""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import get_type_hints

from myosotis.errors import DataError

__all__ = ["Epoch", "best_epoch", "format_history", "mean_speed", "read_history"]


@dataclass(frozen=True)
class Epoch:
    """One row of `metrics.csv`.

    Attributes:
        epoch: number of passes over the training set, this one included.
        step: number of steps so far.
        train_loss: mean cross entropy over the examples of the epoch, as they were trained on.
        train_accuracy: likewise.
        validation_loss: after the epoch.
        validation_accuracy: likewise.
        lr: learning rate at the end of the epoch.
        seconds: since the beginning of the run, interruptions left out.
        samples_per_second: examples trained on per second, validation left out.

    Example:
        >>> Epoch(1, 20, 0.5, 0.8, 0.6, 0.7, 1e-3, 2.0, 640.0).validation_accuracy
        0.7
    """

    epoch: int
    step: int
    train_loss: float
    train_accuracy: float
    validation_loss: float
    validation_accuracy: float
    lr: float
    seconds: float
    samples_per_second: float


def best_epoch(history: Sequence[Epoch]) -> Epoch:
    """Return the first of the epochs with the highest validation accuracy.

    Example:
        >>> rows = [Epoch(n, n, 0, 0, 0, a, 0, 0, 0) for n, a in ((1, 0.7), (2, 0.8), (3, 0.8))]
        >>> best_epoch(rows).epoch
        2
    """
    return max(history, key=lambda row: row.validation_accuracy)


def mean_speed(history: Sequence[Epoch]) -> float:
    """Return the examples trained on per second, of all epochs together.

    Example:
        >>> mean_speed([Epoch(n, 10 * n, 0, 0, 0, 0, 0, 0, speed) for n, speed in ((1, 2), (2, 6))])
        3.0
    """
    steps = [row.step - before for row, before in zip(history, _steps_before(history), strict=True)]
    shares = zip(steps, history, strict=True)
    return sum(steps) / sum(count / row.samples_per_second for count, row in shares)


def _steps_before(history: Sequence[Epoch]) -> list[int]:
    return [0, *(row.step for row in history[:-1])]


def format_history(history: Sequence[Epoch]) -> str:
    """Return the rows as CSV.

    Example:
        >>> print(format_history([Epoch(1, 20, 0.5, 0.8, 0.6, 0.7, 1e-3, 2.0, 640.0)]))
        epoch,step,train_loss,...
        1,20,0.5,0.8,0.6,0.7,0.001,2.0,640.0
    """
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, [f.name for f in fields(Epoch)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(asdict, history))
    return buffer.getvalue()


def read_history(path: Path) -> list[Epoch]:
    """Read `metrics.csv` back.

    Raises:
        DataError: it is missing or damaged.

    Example:
        >>> read_history(Path("no-such.csv"))
        Traceback (most recent call last):
        myosotis.errors.DataError: cannot read no-such.csv: ...
    """
    kinds = get_type_hints(Epoch)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return [
                Epoch(**{name: kind(row[name]) for name, kind in kinds.items()})
                for row in csv.DictReader(file)
            ]
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise DataError(f"cannot read {path}: {error}") from error
