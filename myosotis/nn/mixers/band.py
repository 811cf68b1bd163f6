"""Softmax attention within a band of the matrix of scores, block by block."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention

__all__ = ["band_attention"]

_LEAST_BLOCK = 16  # smaller products of matrices cost more to start than to do


def band_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, radius: int, shared: int = 0
) -> Tensor:
    """Softmax attention of query i to the keys j with |i − j| ≤ radius, and to the first `shared`.

    Queries are cut into blocks of about `radius`, and a block's queries are compared with all keys
    that any of them sees. Time and memory are O(n · (radius + shared)).

    Args:
        q: queries, (batch, heads, n, size).
        k: keys, likewise.
        v: values, likewise.
        mask: bool (batch, n), True where keys are real; None if all are.
        radius: how far a query sees, 0 or more.
        shared: number of leading keys that every query sees.

    Returns:
        (batch, heads, n, size), finite everywhere: a masked query sees itself.

    Example:
        >>> v = torch.eye(4).view(1, 1, 4, 4)
        >>> band_attention(torch.zeros_like(v), v, v, None, radius=1)[0, 0, :2]
        tensor([[0.5000, 0.5000, 0.0000, 0.0000],
                [0.3333, 0.3333, 0.3333, 0.0000]])
    """
    batch, _, n, _ = q.shape
    cut = _Cut(n, radius, shared)
    queries = pad(q, (0, 0, 0, cut.fill)).unflatten(2, (cut.blocks, cut.block)).transpose(1, 2)
    keys, values = (_seen_rows(t, cut) for t in (k, v))
    seen = _seen(mask, cut, q.device).expand(batch, -1, -1, -1)
    attended: Tensor = scaled_dot_product_attention(
        queries.flatten(0, 1),
        keys.flatten(0, 1),
        values.flatten(0, 1),
        attn_mask=seen.flatten(0, 1).unsqueeze(1),
    )
    attended = attended.unflatten(0, (batch, cut.blocks)).transpose(1, 2)
    return attended.flatten(2, 3)[:, :, :n]


@dataclass(frozen=True)
class _Cut:
    """How n queries are cut into blocks."""

    n: int
    radius: int
    shared: int

    @property
    def block(self) -> int:
        """Queries in a block."""
        return max(self.radius, _LEAST_BLOCK)

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return -(-self.n // self.block)

    @property
    def fill(self) -> int:
        """Queries missing in the last block."""
        return self.blocks * self.block - self.n

    @property
    def span(self) -> int:
        """Keys around a block that its queries see."""
        return self.block + 2 * self.radius


def _seen_rows(t: Tensor, cut: _Cut) -> Tensor:
    """The rows of t (batch, heads, n, size) that each block sees, those that all share first.

    Returns (batch, blocks, heads, shared + span, size).
    """
    padded = pad(t, (0, 0, cut.radius, cut.fill + cut.radius))
    around = padded.unfold(2, cut.span, cut.block).permute(0, 2, 1, 4, 3)
    if not cut.shared:
        return around
    leading = t[:, None, :, : cut.shared].expand(-1, cut.blocks, -1, -1, -1)
    return torch.cat([leading, around], dim=3)


def _seen(mask: Tensor | None, cut: _Cut, device: torch.device) -> Tensor:
    """Which of those rows each query sees: bool (batch or 1, blocks, block, shared + span)."""
    query = torch.arange(cut.blocks * cut.block, device=device).view(cut.blocks, cut.block, 1)
    key = query[:, :1] - cut.radius + torch.arange(cut.span, device=device)  # (blocks, 1, span)
    real = ((key >= 0) & (key < cut.n)).unsqueeze(0)
    if mask is not None:
        real = real & mask[:, key.clamp(0, cut.n - 1)]
    # Shared rows are listed apart and must not count twice.
    in_band = ((key - query).abs() <= cut.radius) & (key >= cut.shared)
    # A softmax over nothing is not a number: a query that is not real sees itself.
    around = torch.where(real, in_band, key == query)
    if not cut.shared:
        return around
    leading = torch.ones_like(around[..., : cut.shared])
    if mask is not None:
        leading = leading & mask[:, None, None, : cut.shared]
    return torch.cat([leading, around], dim=-1)
