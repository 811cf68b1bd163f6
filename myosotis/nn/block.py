"""One block of a model: norm, mixer, activation, gate, and the way around them."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from myosotis.nn.config import ClassifierConfig
from myosotis.nn.fused import Dropout, enter, leave
from myosotis.nn.kernels import LANES
from myosotis.nn.mask import silence
from myosotis.nn.myo import Myo
from myosotis.nn.pieces import within_reach
from myosotis.tree import Tree

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
        config: kind of norm and gate, rates.
        dim: features of a node.
        mixer: a module from (batch, n, dim) to the same shape.
        drop: probability of leaving the block out for an example in training.
    """

    def __init__(self, config: ClassifierConfig, dim: int, mixer: nn.Module, drop: float) -> None:
        super().__init__()
        self.prenorm, self.drop = config.prenorm, drop
        self.norm: nn.LayerNorm | nn.BatchNorm1d
        self.norm = nn.LayerNorm(dim) if config.norm == "layer" else nn.BatchNorm1d(dim)
        self.mixer = mixer
        self.gate: nn.Module
        self.gate = Gate(dim) if config.gated else nn.Linear(dim, dim)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Tensor,
        mix: Callable[[nn.Module, Tensor], Tensor],
        alive: Tensor | None,
        tree: Tree | None = None,
    ) -> Tensor:
        """Maps (batch, n, dim) to the same shape.

        Args:
            x: features.
            mix: applies the mixer to features, with whatever mask and tree it needs.
            alive: bool (batch, n), the positions that count for batch norm; all if None.
            tree: the tree of a `Myo`.
        """
        if tree is not None and self._can_fuse(x, alive):
            return self._fused(x, tree, alive)
        y = self._normed(x, alive) if self.prenorm else x
        y = self.gate(nn.functional.silu(mix(self.mixer, y)))
        y = drop_path(self.dropout(y), self.drop, self.training)
        return x + y if self.prenorm else self._normed(x + y, alive)

    def _can_fuse(self, x: Tensor, alive: Tensor | None) -> bool:
        """Whether `myosotis.nn.fused` does what this block would, and nothing else looks inside."""
        mixer = self.mixer
        return (
            isinstance(mixer, Myo)
            and mixer.mesh is None
            and (alive is None or self._can_silence(mixer))
            and isinstance(self.gate, Gate)
            and self.prenorm
            and not (self.training and self.drop)
            and (
                self.training or isinstance(self.norm, nn.LayerNorm) or not torch.is_grad_enabled()
            )
            and {p.dtype for p in self.parameters()} | {x.dtype} == {torch.float32}
            and not any(size % LANES for size in mixer.project_in.weight.shape)
            and within_reach(x)
            and not torch.is_autocast_enabled("cpu")
            and not any(m._forward_hooks or m._forward_pre_hooks for m in self.modules())
        )

    def _can_silence(self, mixer: Myo) -> bool:
        """Whether nodes that are not there neither count in the norm nor need their edges cut."""
        counts = self.training and not isinstance(self.norm, nn.LayerNorm)
        return mixer.coefficients.silence_is_absence and not counts

    def _fused(self, x: Tensor, tree: Tree, alive: Tensor | None) -> Tensor:
        mixer, gate = self.mixer, self.gate
        assert isinstance(mixer, Myo)
        assert isinstance(gate, Gate)
        x, n, u = enter(x, self.norm, mixer.project_in.weight)
        n, u = silence(n, alive), silence(u, alive)
        s = silence(mixer.solve(u, n, tree), alive)
        dropout = Dropout.draw(self.dropout.p if self.training else 0.0)
        return leave(x, n, s, mixer.skip, mixer.project_out.weight, gate.linear, dropout)

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
