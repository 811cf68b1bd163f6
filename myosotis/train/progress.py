"""What a person sees while a model trains."""

from dataclasses import asdict
from typing import Any

import pytorch_lightning as pl
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from myosotis.train.clock import Clock
from myosotis.train.config import TrainConfig
from myosotis.train.duration import format_duration
from myosotis.train.recorder import Recorder

__all__ = ["ProgressDisplay"]

_REFRESH = 0.2  # seconds


class ProgressDisplay(pl.Callback):
    """A bar with the time left, and a line for each epoch; only the lines if nobody looks.

    The bar is redrawn between steps: a thread that redraws would take time from the training.

    Args:
        config: how long the training may be.
        clock: the time used so far.
        recorder: losses and speed.
        console: where to show it; standard error if None.
    """

    def __init__(
        self,
        config: TrainConfig,
        clock: Clock,
        recorder: Recorder,
        console: Console | None = None,
    ) -> None:
        self._config, self._clock, self._recorder = config, clock, recorder
        self._console = Console(stderr=True) if console is None else console
        self._bar = Progress(
            TextColumn("epoch {task.fields[epoch]}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("loss {task.fields[loss]:.3f}"),
            TextColumn("{task.fields[speed]:,.0f} samples/s"),
            TextColumn("{task.fields[left]} left"),
            console=self._console,
            transient=True,
            auto_refresh=False,
            disable=not self._console.is_terminal,
        )
        self._row: TaskID | None = None
        self._drawn = 0.0

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Shows an empty bar."""
        if not trainer.is_global_zero:
            self._bar.disable = True
        epoch = trainer.current_epoch + 1
        self._row = self._bar.add_task("", total=1.0, epoch=epoch, loss=0.0, speed=0.0, left="?")
        self._bar.start()

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        """Redraws the bar, a few times a second at most."""
        now = self._clock.elapsed()
        if self._row is None or self._bar.disable or now - self._drawn < _REFRESH:
            return
        self._drawn = now
        done = self._share(trainer)
        self._bar.update(
            self._row,
            completed=done,
            epoch=trainer.current_epoch + 1,
            loss=self._recorder.loss,
            speed=self._recorder.samples_per_second,
            left=format_duration(now / done - now),
            refresh=True,
        )

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Prints what the epoch brought."""
        if not trainer.is_global_zero:
            return
        row = self._recorder.history[-1]
        left = format_duration(max(0.0, row.seconds / self._share(trainer) - row.seconds))
        line = (
            "epoch {epoch:>3}  loss {train_loss:.3f}  validation {validation_accuracy:7.2%}  "
            "{samples_per_second:,.0f} samples/s"
        )
        self._console.print(f"{line.format(**asdict(row))}  {left} left", highlight=False)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Removes the bar."""
        self._bar.stop()

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Removes the bar."""
        self._bar.stop()

    def _share(self, trainer: pl.Trainer) -> float:
        """How much of the training is done, by steps or by time, whichever is more."""
        total = self._config.epochs * int(trainer.num_training_batches)
        done = trainer.global_step / total
        if self._config.time_budget is not None:
            done = max(done, self._clock.elapsed() / self._config.time_budget)
        return min(1.0, max(done, 1e-9))
