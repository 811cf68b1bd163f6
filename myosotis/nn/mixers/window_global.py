"""Attention within a sliding window, plus tokens that see and are seen by all."""

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from myosotis.nn.mixers.attention import seen_keys
from myosotis.nn.mixers.band import band_attention
from myosotis.nn.mixers.registry import register
from myosotis.nn.mixers.settings import checked_count
from myosotis.nn.mixers.window import WindowAttention

__all__ = ["WindowGlobalAttention"]


@register("window-global", positions=True)
class WindowGlobalAttention(WindowAttention):
    """`WindowAttention` in which the first tokens attend to all and all attend to them.

    Args:
        dim: number of features.
        heads: as in `Projections`.
        radius: how far a token sees on either side.
        global_tokens: how many tokens, from the first, are global.
        device: of the parameters.
        dtype: of the parameters.

    Example:
        >>> WindowGlobalAttention(8, heads=2, radius=3)(torch.ones(1, 50, 8)).shape
        torch.Size([1, 50, 8])
    """

    def __init__(
        self,
        dim: int,
        heads: int | None = None,
        *,
        radius: int = 32,
        global_tokens: int = 1,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(dim, heads, radius=radius, device=device, dtype=dtype)
        self.global_tokens = checked_count("global_tokens", global_tokens)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        """Weigh the values of window and global tokens; shapes as in `MultiHead.attend`."""
        count = min(self.global_tokens, q.shape[2])
        local = band_attention(q, k, v, mask, self.radius, shared=count)
        everything = None if mask is None else seen_keys(mask)
        leading = scaled_dot_product_attention(q[:, :, :count], k, v, attn_mask=everything)
        return torch.cat([leading, local[:, :, count:]], dim=2)

    def pattern(self, n: int) -> Tensor:
        """Which token (row) attends to which (column), bool (n, n).

        Example:
            >>> WindowGlobalAttention(4, radius=1).pattern(4).int()
            tensor([[1, 1, 1, 1],
                    [1, 1, 1, 0],
                    [1, 1, 1, 1],
                    [1, 0, 1, 1]], dtype=torch.int32)
        """
        is_global = torch.arange(n) < self.global_tokens
        return super().pattern(n) | is_global | is_global.unsqueeze(1)

    def extra_repr(self) -> str:
        """The settings, for `print`."""
        return f"{super().extra_repr()}, global_tokens={self.global_tokens}"
