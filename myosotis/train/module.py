"""The classifier as Lightning trains it."""

import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities.types import OptimizerLRSchedulerConfig
from torch import Tensor
from torch.nn import functional
from torch.optim.lr_scheduler import LambdaLR

from myosotis.data import Task
from myosotis.errors import ConfigError
from myosotis.nn import Classifier
from myosotis.train.clock import Clock
from myosotis.train.config import TrainConfig
from myosotis.train.finite import explain_loss
from myosotis.train.groups import parameter_groups
from myosotis.train.schedule import rate_factor
from myosotis.train.stream import Example, Stream

__all__ = ["TrainingModule"]


class TrainingModule(pl.LightningModule):
    """A classifier with its data, loss, optimiser and schedule.

    Args:
        config: of the run.
        task: where examples come from.
        clock: how long the run has taken, which the schedule follows if time is limited.

    Attributes:
        model: the classifier.
        correct: number of right answers in the latest training batch.
        cross_entropy: mean over that batch; the loss, but for the smoothing of labels.
    """

    def __init__(self, config: TrainConfig, task: Task, clock: Clock) -> None:
        super().__init__()
        self.config, self.task, self.clock = config, task, clock
        self.model = Classifier(config.model.classifier(task))
        self.correct, self.cross_entropy = 0, 0.0

    def train_dataloader(self) -> Stream:
        """The training examples, shuffled anew in each epoch."""
        trainer = self.trainer
        return Stream(
            self.task.train,
            self.config.batch_size,
            seed=self.config.seed,
            growing_epochs=self.config.growing_epochs,
            step=lambda: trainer.global_step,
            rank=trainer.global_rank,
            world=trainer.world_size,
        )

    def val_dataloader(self) -> Stream:
        """The validation examples, in order."""
        trainer = self.trainer
        return Stream(
            self.task.validation,
            self.config.batch_size,
            rank=trainer.global_rank,
            world=trainer.world_size,
        )

    def training_step(self, batch: Example, batch_idx: int) -> Tensor:
        """The loss of a batch.

        Raises:
            ConfigError: it is not a number.
        """
        labels = batch[1]
        smoothing = self.config.optimiser.label_smoothing
        if self.config.learn_from == "nodes":
            logits, loss = self._every_node(batch, smoothing)
        else:
            logits = self.model(batch[0], *batch[2:4])
            loss = functional.cross_entropy(logits, labels, label_smoothing=smoothing)
        if not bool(loss.isfinite()):
            raise explain_loss(self.model, batch, self.global_step)
        plain = functional.cross_entropy(logits.detach(), labels)
        self.correct, self.cross_entropy = _count_correct(logits, labels), float(plain.detach())
        return loss

    def _every_node(self, batch: Example, smoothing: float) -> tuple[Tensor, Tensor]:
        """Logits of the roots (roots, classes), and the mean loss of all nodes with a label.

        The mean is weighted if the data weighs its nodes.
        """
        inputs, _, mask, tree, node_labels, weights = batch
        if tree is None or node_labels is None:
            raise ConfigError(
                f"learn_from is 'nodes', but the nodes of {self.task.name!r} have no labels; "
                "use learn_from: examples"
            )
        logits = self.model.classify_nodes(inputs, mask, tree)
        loss = functional.cross_entropy(
            logits.flatten(0, 1),
            node_labels.flatten(),
            ignore_index=-1,
            label_smoothing=smoothing,
            reduction="mean" if weights is None else "none",
        )
        if weights is not None:
            counts = weights.flatten() * (node_labels.flatten() >= 0)
            loss = (loss * counts).sum() / counts.sum()
        return logits[:, -tree.num_roots :].flatten(0, 1), loss

    def validation_step(self, batch: Example, batch_idx: int) -> None:
        """Adds a batch to the mean loss and the number of right answers."""
        inputs, labels, mask, tree, _, _ = batch
        logits = self.model(inputs, mask, tree)
        loss = functional.cross_entropy(logits, labels)
        counts = {
            "validation_correct": float(_count_correct(logits, labels)),
            "validation_examples": float(len(labels)),
        }
        # Lightning averages and adds up; the recorder writes the figures where they belong.
        self.log("validation_loss", loss, logger=False, batch_size=len(labels), sync_dist=True)
        self.log_dict(
            counts,
            logger=False,
            batch_size=len(labels),
            on_epoch=True,
            reduce_fx="sum",
            sync_dist=True,
        )

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        """AdamW on the groups of parameters; the rate changes after each step."""
        optimiser = torch.optim.AdamW(parameter_groups(self.model, self.config.optimiser))
        schedule = LambdaLR(optimiser, self._rate_factor)
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def _rate_factor(self, step: int) -> float:
        total = self.config.epochs * len(self.train_dataloader())
        # Between the ends, where the rate is zero: no step stands still.
        progress = (step + 1) / (total + 1)
        if self.config.time_budget is not None:
            progress = max(progress, self.clock.elapsed() / self.config.time_budget)
        return rate_factor(progress, self.config.optimiser.warmup)


def _count_correct(logits: Tensor, labels: Tensor) -> int:
    """How many of the logits (batch, classes) are highest at the label (batch,)."""
    return int((logits.argmax(dim=-1) == labels).sum())
