"""Attention to tokens that are whole strides away."""

import torch
from torch import Tensor
from torch.nn.functional import pad

from myosotis.nn.mixers.band import band_attention
from myosotis.nn.mixers.multihead import MultiHead
from myosotis.nn.mixers.registry import register
from myosotis.nn.mixers.settings import checked_count

__all__ = ["DilatedAttention"]


@register("dilated", positions=True)
class DilatedAttention(MultiHead):
    """Softmax attention of token i to the tokens i + stride·m with |m| ≤ width.

    Tokens of one residue modulo `stride` see each other only, within a window of their own.

    Args:
        dim: number of features.
        heads: as in `Projections`.
        stride: distance between the tokens that a token sees.
        width: how many of them it sees on either side.
        device: of the parameters.
        dtype: of the parameters.

    Example:
        >>> DilatedAttention(8, heads=2, stride=3, width=2)(torch.ones(1, 50, 8)).shape
        torch.Size([1, 50, 8])
    """

    def __init__(
        self,
        dim: int,
        heads: int | None = None,
        *,
        stride: int = 3,
        width: int = 32,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(dim, heads, device=device, dtype=dtype)
        self.stride = checked_count("stride", stride)
        self.width = checked_count("width", width, least=0)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        """Weigh the values residue by residue; shapes as in `MultiHead.attend`."""
        batch, _, n, _ = q.shape
        fill = -n % self.stride
        if mask is None:
            mask = torch.ones(1, n, dtype=torch.bool, device=q.device).expand(batch, -1)
        mask = self._by_residue(pad(mask, (0, fill)), 1)
        q, k, v = (self._by_residue(pad(t, (0, 0, 0, fill)), 2) for t in (q, k, v))
        residues = band_attention(q, k, v, mask, self.width).chunk(self.stride)
        return torch.stack(residues, dim=3).flatten(2, 3)[:, :, :n]

    def _by_residue(self, t: Tensor, axis: int) -> Tensor:
        """Cut t (batch, …) into one sequence per residue of its `axis`, (stride·batch, …)."""
        return torch.cat(t.unflatten(axis, (-1, self.stride)).unbind(axis + 1))

    def pattern(self, n: int) -> Tensor:
        """Which token (row) attends to which (column), bool (n, n).

        Example:
            >>> DilatedAttention(4, stride=2, width=1).pattern(5).int()
            tensor([[1, 0, 1, 0, 0],
                    [0, 1, 0, 1, 0],
                    [1, 0, 1, 0, 1],
                    [0, 1, 0, 1, 0],
                    [0, 0, 1, 0, 1]], dtype=torch.int32)
        """
        place = torch.arange(n)
        distance = (place - place.unsqueeze(1)).abs()
        return (distance % self.stride == 0) & (distance <= self.stride * self.width)

    def extra_repr(self) -> str:
        """The settings, for `print`."""
        return f"{super().extra_repr()}, stride={self.stride}, width={self.width}"
