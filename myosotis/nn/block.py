"""One block of a model: norm, mixer, activation, gate, and the way around them."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from myosotis.nn.config import ClassifierConfig

__all__ = ["Block", "Gate", "drop_path"]


class Gate(nn.Module):
    """x · σ(Wx + b): a gated linear unit whose value is its input, at half the usual cost.

    Example:
        >>> Gate(4)(torch.zeros(2, 4)).shape
        torch.Size([2, 4])
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.linear = nn.Linear(dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        """Maps (…, dim) to the same shape."""
        return x * torch.sigmoid(self.linear(x))


class Block(nn.Module):
    """x + drop(gate(silu(mixer(norm(x))))), or with the norm after the sum.

    Args:
        config: width, kind of norm and gate, rates.
        mixer: a module from (batch, n, dim) to the same shape.
        drop: probability of leaving the block out for an example in training.
    """

    def __init__(self, config: ClassifierConfig, mixer: nn.Module, drop: float) -> None:
        super().__init__()
        self.prenorm, self.drop = config.prenorm, drop
        self.norm: nn.LayerNorm | nn.BatchNorm1d
        self.norm = (
            nn.LayerNorm(config.dim) if config.norm == "layer" else nn.BatchNorm1d(config.dim)
        )
        self.mixer = mixer
        self.gate: nn.Module
        self.gate = Gate(config.dim) if config.gated else nn.Linear(config.dim, config.dim)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, x: Tensor, mix: Callable[[nn.Module, Tensor], Tensor], alive: Tensor | None
    ) -> Tensor:
        """Maps (batch, n, dim) to the same shape.

        Args:
            x: features.
            mix: applies the mixer to features, with whatever mask and tree it needs.
            alive: bool (batch, n), the positions that count for batch norm; all if None.
        """
        y = self._normed(x, alive) if self.prenorm else x
        y = self.gate(nn.functional.silu(mix(self.mixer, y)))
        y = drop_path(self.dropout(y), self.drop, self.training)
        return x + y if self.prenorm else self._normed(x + y, alive)

    def _normed(self, x: Tensor, alive: Tensor | None) -> Tensor:
        if isinstance(self.norm, nn.LayerNorm):
            return self.norm(x)  # type: ignore[no-any-return]
        if alive is None or not self.training:
            return self.norm(x.flatten(0, 1)).view(x.shape)  # type: ignore[no-any-return]
        y = torch.zeros_like(x)
        y[alive] = self.norm(x[alive])  # padding must not count in the statistics
        return y


def drop_path(x: Tensor, probability: float, training: bool) -> Tensor:
    """Sets whole examples (the first axis) to zero at random, and scales up the others.

    Example:
        >>> drop_path(torch.ones(2, 1), 0.5, training=False)
        tensor([[1.],
                [1.]])
    """
    if probability == 0 or not training:
        return x
    keep = torch.empty(x.shape[0], *[1] * (x.ndim - 1), dtype=x.dtype, device=x.device)
    return x * keep.bernoulli_(1 - probability) / (1 - probability)
