"""The callback that writes checkpoints."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch

from myosotis.train.config import TrainConfig
from myosotis.train.finite import check_parameters
from myosotis.train.history import best_epoch
from myosotis.train.interrupt import InterruptionError, StopRequest
from myosotis.train.layout import BEST, LAST
from myosotis.train.module import TrainingModule
from myosotis.train.recorder import Recorder

__all__ = ["Saver"]


class Saver(pl.Callback):
    """Writes `last` at intervals and after each epoch, and `best` after the best epoch so far.

    It comes last among the callbacks, so that what it writes includes what the others did.

    Args:
        folder: of the run.
        config: how often.
        recorder: which epoch is the best.
        request: whether the user wants to stop.
    """

    def __init__(
        self, folder: Path, config: TrainConfig, recorder: Recorder, request: StopRequest
    ) -> None:
        self._folder, self._interval = folder, config.checkpoint_every
        self._recorder, self._request = recorder, request
        self._saved = 0.0
        self._random: Mapping[str, Any] | None = None

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Continues the sequence of random numbers, which setting up may have used."""
        self._saved = time.monotonic()
        if self._random is not None:
            torch.set_rng_state(self._random["cpu"])
            torch.cuda.set_rng_state_all(self._random["cuda"])

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: Any, *_: Any) -> None:
        """Saves if it is time to, or if the user wants to stop."""
        if trainer.is_last_batch or trainer.should_stop:
            return  # validation comes first, and then the end of the epoch
        due = self._request.made or time.monotonic() - self._saved >= self._interval
        if trainer.strategy.reduce_boolean_decision(due, all=False):
            self._save_last(trainer, pl_module)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: Any) -> None:
        """Saves; first the best model, because `last` says that it is there."""
        history = self._recorder.history
        if best_epoch(history) is history[-1]:
            check_parameters(pl_module.model, trainer.global_step)
            trainer.save_checkpoint(self._folder / BEST, weights_only=True)
        self._save_last(trainer, pl_module)

    def _save_last(self, trainer: pl.Trainer, pl_module: TrainingModule) -> None:
        check_parameters(pl_module.model, trainer.global_step)
        trainer.save_checkpoint(self._folder / LAST)
        self._saved = time.monotonic()
        if self._request.made:
            raise InterruptionError

    def state_dict(self) -> dict[str, Any]:
        """The states of the generators of random numbers."""
        return {"cpu": torch.get_rng_state(), "cuda": torch.cuda.get_rng_state_all()}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Keeps them until training starts."""
        self._random = state_dict
