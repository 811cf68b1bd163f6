"""The callback that counts: losses, right answers, seconds."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytorch_lightning as pl

from myosotis.train.clock import Clock
from myosotis.train.files import write_file
from myosotis.train.history import Epoch, format_history
from myosotis.train.layout import METRICS
from myosotis.train.module import TrainingModule
from myosotis.train.stream import Example

__all__ = ["Recorder"]


@dataclass
class _Sums:
    """Over the batches of the present epoch."""

    examples: int = 0
    loss: float = 0.0
    correct: int = 0
    seconds: float = 0.0


class Recorder(pl.Callback):
    """Keeps the history of a run, in `metrics.csv` and in its checkpoints.

    The file is written anew after each epoch from what the checkpoint also has, so that after an
    interruption no epoch is missing and none is there twice.

    Args:
        folder: of the run.
        clock: started when training starts.

    Attributes:
        history: the epochs so far.
    """

    def __init__(self, folder: Path, clock: Clock) -> None:
        self.history: list[Epoch] = []
        self._folder, self._clock = folder, clock
        self._sums = _Sums()
        self._elapsed = 0.0
        self._last_batch = 0.0

    @property
    def samples_per_second(self) -> float:
        """Examples of the present epoch per second."""
        return self._sums.examples / self._sums.seconds if self._sums.seconds else 0.0

    @property
    def loss(self) -> float:
        """Mean over the examples of the present epoch."""
        return self._sums.loss / max(1, self._sums.examples)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Starts the clock."""
        self._clock.start(after=self._elapsed)
        self._last_batch = self._clock.elapsed()

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Begins to count anew; not called when an epoch is resumed in its middle."""
        self._sums = _Sums()
        self._last_batch = self._clock.elapsed()

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Example,
        batch_idx: int,
    ) -> None:
        """Adds a batch."""
        assert isinstance(pl_module, TrainingModule)
        now, examples = self._clock.elapsed(), len(batch[1])
        self._sums.examples += examples
        self._sums.loss += pl_module.cross_entropy * examples
        self._sums.correct += pl_module.correct
        self._sums.seconds += now - self._last_batch
        self._last_batch = now

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Adds an epoch."""
        sums, metrics = self._sums, trainer.callback_metrics
        row = Epoch(
            epoch=trainer.current_epoch + 1,
            step=trainer.global_step,
            train_loss=self.loss,
            train_accuracy=sums.correct / max(1, sums.examples),
            validation_loss=float(metrics["validation_loss"]),
            validation_accuracy=float(
                metrics["validation_correct"] / metrics["validation_examples"].double()
            ),
            lr=_highest_rate(trainer),
            seconds=self._clock.elapsed(),
            samples_per_second=self.samples_per_second * trainer.world_size,
        )
        self.history.append(row)
        for logger in trainer.loggers:
            logger.log_metrics(asdict(row), step=row.step)
        if trainer.is_global_zero:
            write_file(self._folder / METRICS, format_history(self.history).encode())

    def state_dict(self) -> dict[str, Any]:
        """All that a resumed run needs to go on counting."""
        return {
            "elapsed": self._clock.elapsed(),
            "history": [asdict(row) for row in self.history],
            "sums": asdict(self._sums),
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The inverse of `state_dict`."""
        self._elapsed = state_dict["elapsed"]
        self.history = [Epoch(**row) for row in state_dict["history"]]
        self._sums = _Sums(**state_dict["sums"])


def _highest_rate(trainer: pl.Trainer) -> float:
    return max(float(group["lr"]) for group in trainer.optimizers[0].param_groups)
