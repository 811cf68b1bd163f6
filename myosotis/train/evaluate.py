"""How good a model is on a split."""

from dataclasses import dataclass

import torch
from torch.nn import functional

from myosotis.data import Task
from myosotis.errors import ConfigError
from myosotis.nn import Classifier
from myosotis.train.stream import Stream

__all__ = ["Score", "evaluate"]


@dataclass(frozen=True)
class Score:
    """Means over the examples of a split.

    Attributes:
        loss: cross entropy.
        accuracy: share of right answers, 0 to 1.
        examples: how many there are.
    """

    loss: float
    accuracy: float
    examples: int


def evaluate(model: Classifier, task: Task, split: str = "test", batch_size: int = 64) -> Score:
    """Classify every example of a split.

    Args:
        model: for inputs and classes as the task has them; put into evaluation mode.
        task: where the examples come from.
        split: `train`, `validation` or `test`.
        batch_size: examples at a time.

    Raises:
        ConfigError: the model was made for other inputs or classes, or there is no such split.

    Example:
        >>> from myosotis.data import load
        >>> from myosotis.train import TrainConfig
        >>> task = load("digits")
        >>> model = Classifier(TrainConfig().model.classifier(task))
        >>> evaluate(model, task, "validation").examples
        180
    """
    _check(model, task)
    model.eval()
    device = next(model.parameters()).device
    loss, correct, examples = 0.0, 0, 0
    with torch.no_grad():
        for inputs, labels, mask, tree, _, _ in Stream(task.split(split), batch_size):
            mask = None if mask is None else mask.to(device)
            logits, labels = model(inputs.to(device), mask, tree), labels.to(device)
            loss += float(functional.cross_entropy(logits, labels, reduction="sum"))
            correct += int((logits.argmax(dim=-1) == labels).sum())
            examples += len(labels)
    return Score(loss / examples, correct / examples, examples)


def _check(model: Classifier, task: Task) -> None:
    config = model.config
    for what, made_for, has in (
        ("classes", config.num_classes, task.num_classes),
        ("channels", config.channels or 0, task.channels),
        ("different tokens", config.vocabulary or 0, task.vocabulary),
    ):
        if made_for != has:
            raise ConfigError(
                f"the model was made for {made_for} {what}, but {task.name!r} has {has}"
            )
