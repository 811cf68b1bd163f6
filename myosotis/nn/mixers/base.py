"""What every mixer of a sequence does before and after it mixes."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from myosotis.errors import ShapeError
from myosotis.nn.mask import silence
from myosotis.nn.mixers.settings import checked_count

__all__ = ["SequenceMixer"]


class SequenceMixer(nn.Module, ABC):
    """A map of sequences (batch, n, dim) to sequences of the same shape.

    Masked positions are set to zero before and after `mix`, which a subclass supplies. It has to
    see to the rest of the promise: what stands at masked positions does not change real ones.

    Args:
        dim: number of features of a token.

    Example:
        >>> class Mean(SequenceMixer):
        ...     def mix(self, x, mask):
        ...         return x.mean(1, keepdim=True).expand_as(x)
        >>> Mean(1)(torch.tensor([[[1.0], [3.0]]])).flatten()
        tensor([2., 2.])
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = checked_count("dim", dim)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Mix the tokens of each sequence.

        Args:
            x: (batch, n, dim).
            mask: bool (batch, n), True for real tokens; None if all are.

        Returns:
            (batch, n, dim), zero at masked positions.

        Raises:
            ShapeError: x or mask have other shapes or kinds of numbers.
        """
        self._check(x, mask)
        return silence(self.mix(silence(x, mask), mask), mask)

    @abstractmethod
    def mix(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Mix x (batch, n, dim), which is zero where mask (batch, n) is False."""

    def _check(self, x: Tensor, mask: Tensor | None) -> None:
        if x.ndim != 3 or x.shape[2] != self.dim or x.shape[1] < 1:
            raise ShapeError(
                f"x has shape {tuple(x.shape)}; expected (batch, n, {self.dim}) with n of at "
                f"least 1"
            )
        if not x.is_floating_point():
            raise ShapeError(f"x has dtype {x.dtype}; expected real floating-point numbers")
        if mask is not None and (mask.dtype != torch.bool or mask.shape != x.shape[:2]):
            raise ShapeError(
                f"mask has shape {tuple(mask.shape)} and dtype {mask.dtype}; expected bool "
                f"{tuple(x.shape[:2])}: True for each real token"
            )

    def extra_repr(self) -> str:
        """The number of features, for `print`."""
        return f"dim={self.dim}"
