"""Softmax attention, every token to every token."""

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from myosotis.nn.mixers.multihead import MultiHead
from myosotis.nn.mixers.registry import register
from myosotis.nn.mixers.settings import checked_flag

__all__ = ["Attention", "seen_keys"]


@register("attention", positions=True)
class Attention(MultiHead):
    """Softmax attention, with a cost quadratic in the length.

    Args:
        dim: number of features.
        heads: as in `Projections`.
        causal: attend to a token itself and to those before it only.
        device: of the parameters.
        dtype: of the parameters.

    Example:
        >>> Attention(8, heads=2, causal=True)(torch.ones(1, 5, 8)).shape
        torch.Size([1, 5, 8])
    """

    def __init__(
        self,
        dim: int,
        heads: int | None = None,
        *,
        causal: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(dim, heads, device=device, dtype=dtype)
        self.causal = checked_flag("causal", causal)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        """Weigh the values by softmax; shapes as in `MultiHead.attend`."""
        if mask is None:
            return scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        if not self.causal:
            return scaled_dot_product_attention(q, k, v, attn_mask=seen_keys(mask))
        before = self.pattern(q.shape[2], device=q.device)
        itself = torch.eye(q.shape[2], dtype=torch.bool, device=q.device)
        seen = before & mask[:, None, None, :] | itself  # masked queries too see something
        return scaled_dot_product_attention(q, k, v, attn_mask=seen)

    def pattern(self, n: int, device: torch.device | None = None) -> Tensor:
        """Which token (row) attends to which (column), bool (n, n).

        Example:
            >>> Attention(4, causal=True).pattern(3).int()
            tensor([[1, 0, 0],
                    [1, 1, 0],
                    [1, 1, 1]], dtype=torch.int32)
        """
        everything = torch.ones(n, n, dtype=torch.bool, device=device)
        return everything.tril() if self.causal else everything


def seen_keys(mask: Tensor) -> Tensor:
    """bool (batch, 1, 1, n): the real keys, or all where none is real.

    A softmax over nothing is not a number, not even where its result is dropped.

    Example:
        >>> seen_keys(torch.tensor([[True, False], [False, False]]))[:, 0, 0]
        tensor([[ True, False],
                [ True,  True]])
    """
    return (mask | ~mask.any(1, keepdim=True))[:, None, None, :]
