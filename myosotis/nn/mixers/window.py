"""Attention within a sliding window."""

import torch
from torch import Tensor

from myosotis.nn.mixers.band import band_attention
from myosotis.nn.mixers.multihead import MultiHead
from myosotis.nn.mixers.registry import register
from myosotis.nn.mixers.settings import checked_count

__all__ = ["WindowAttention"]


@register("window", positions=True)
class WindowAttention(MultiHead):
    """Softmax attention of token i to the tokens j with |i − j| ≤ radius.

    Args:
        dim: number of features.
        heads: as in `Projections`.
        radius: how far a token sees on either side.
        device: of the parameters.
        dtype: of the parameters.

    Example:
        >>> WindowAttention(8, heads=2, radius=3)(torch.ones(1, 50, 8)).shape
        torch.Size([1, 50, 8])
    """

    def __init__(
        self,
        dim: int,
        heads: int | None = None,
        *,
        radius: int = 32,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(dim, heads, device=device, dtype=dtype)
        self.radius = checked_count("radius", radius, least=0)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        """Weigh the values within the window; shapes as in `MultiHead.attend`."""
        return band_attention(q, k, v, mask, self.radius)

    def pattern(self, n: int) -> Tensor:
        """Which token (row) attends to which (column), bool (n, n).

        Example:
            >>> WindowAttention(4, radius=1).pattern(4).int()
            tensor([[1, 1, 0, 0],
                    [1, 1, 1, 0],
                    [0, 1, 1, 1],
                    [0, 0, 1, 1]], dtype=torch.int32)
        """
        place = torch.arange(n)
        return (place - place.unsqueeze(1)).abs() <= self.radius

    def extra_repr(self) -> str:
        """The settings, for `print`."""
        return f"{super().extra_repr()}, radius={self.radius}"
