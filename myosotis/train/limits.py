"""The callback that ends a training early: no time left, or nothing gained for long."""

from typing import Any

import pytorch_lightning as pl

from myosotis.train.clock import Clock
from myosotis.train.config import TrainConfig
from myosotis.train.history import best_epoch
from myosotis.train.recorder import Recorder

__all__ = ["Limits"]


class Limits(pl.Callback):
    """Tells Lightning to stop, after which it validates once more and the run is evaluated.

    Nothing is stored: what is decided follows from the clock and the history, so that a run which
    was interrupted after it had to stop does not go on when it is resumed.

    Args:
        config: of the run.
        clock: the time used so far.
        recorder: the history.
    """

    def __init__(self, config: TrainConfig, clock: Clock, recorder: Recorder) -> None:
        self._config, self._clock, self._recorder = config, clock, recorder

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Stops before the first step of a resumed run that has to be over."""
        if self._recorder.history:
            self._stop_if(trainer, self._is_time_up(self._clock.elapsed()) or self._is_stuck())

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        """Looks at the clock."""
        if self._config.time_budget is not None:
            self._stop_if(trainer, self._is_time_up(self._clock.elapsed()))

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Looks at the history: by the recorded time, no run is shorter than its budget."""
        seconds = self._recorder.history[-1].seconds
        self._stop_if(trainer, self._is_time_up(seconds) or self._is_stuck())

    def _is_time_up(self, seconds: float) -> bool:
        budget = self._config.time_budget
        return budget is not None and seconds >= budget

    def _is_stuck(self) -> bool:
        patience, history = self._config.early_stopping, self._recorder.history
        return patience is not None and history[-1].epoch - best_epoch(history).epoch >= patience

    def _stop_if(self, trainer: pl.Trainer, wanted: bool) -> None:
        # All devices have to agree, or the others would wait for ever.
        if trainer.strategy.reduce_boolean_decision(wanted, all=False):
            trainer.should_stop = True
