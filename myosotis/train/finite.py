"""Finding where a number went wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from myosotis.errors import ConfigError, DataError
from myosotis.train.stream import Example

__all__ = ["check_parameters", "explain_loss"]

_ADVICE = (
    "lower optimiser.lr or optimiser.dynamics_lr, lengthen optimiser.warmup, or clip the gradient "
    "with optimiser.clip"
)


def check_parameters(model: nn.Module, step: int) -> None:
    """Complain if a parameter is no longer a number.

    Args:
        model: any module.
        step: number of steps taken, for the message.

    Raises:
        ConfigError: naming the first such parameter.

    Example:
        >>> layer = nn.Linear(1, 1)
        >>> _ = layer.bias.data.fill_(float("nan"))
        >>> check_parameters(layer, step=3)
        Traceback (most recent call last):
        myosotis.errors.ConfigError: the training diverged: after step 3 the parameter 'bias' ...
    """
    for name, parameter in model.named_parameters():
        if not bool(parameter.isfinite().all()):
            raise ConfigError(
                f"the training diverged: after step {step} the parameter {name!r} has NaN or "
                f"infinite values; {_ADVICE}"
            )


def explain_loss(model: nn.Module, example: Example, step: int) -> ConfigError | DataError:
    """Return the exception for a loss that is not a number: what to do, and where it began.

    Args:
        model: a classifier, called once more on the batch.
        example: the batch.
        step: number of steps taken before it.

    Example:
        >>> layer = nn.Linear(1, 1)
        >>> batch = (torch.tensor([[float("inf")]]), torch.tensor([0]), *[None] * 4)
        >>> print(explain_loss(layer, batch, step=0))
        the inputs of step 1 have NaN or infinite values; check the data with 'myo data check'
    """
    inputs, _, mask, tree, *_ = example
    if not bool(inputs.isfinite().all()):
        return DataError(
            f"the inputs of step {step + 1} have NaN or infinite values; check the data with "
            "'myo data check'"
        )
    try:
        check_parameters(model, step)
    except ConfigError as error:
        return error
    with torch.no_grad(), _watched(model) as found:
        model(inputs, mask, tree)
    where = f"first in the output of {found[0]!r}" if found else "in the loss itself"
    return ConfigError(
        f"the loss of step {step + 1} is not a number; NaN or infinite values are {where}; "
        f"{_ADVICE}"
    )


@contextmanager
def _watched(model: nn.Module) -> Iterator[list[str]]:
    """Collects the names of modules whose output is not finite, in the order they finish."""
    found: list[str] = []
    hooks = []
    for name, module in model.named_modules():

        def look(_: nn.Module, __: Any, output: Any, name: str = name) -> None:
            if isinstance(output, Tensor) and not bool(output.isfinite().all()):
                found.append(name or "the model")

        hooks.append(module.register_forward_hook(look))
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()
