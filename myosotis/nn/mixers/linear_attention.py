"""Attention with a separable kernel: linear in the length."""

import torch
from torch import Tensor
from torch.nn.functional import elu, pad

from myosotis.nn.mixers.multihead import MultiHead
from myosotis.nn.mixers.registry import register
from myosotis.nn.mixers.settings import checked_flag
from myosotis.nn.precision import full_precision

__all__ = ["LinearAttention"]

_CHUNK = 64  # tokens between two stored sums of the causal form
_LEAST_WEIGHT = 1e-6  # keeps the division finite where all features of a query have vanished


@register("linear-attention", positions=True)
class LinearAttention(MultiHead):
    """y_k = Σ_n ⟨ψ(q_k), ψ(k_n)⟩ v_n / Σ_n ⟨ψ(q_k), ψ(k_n)⟩ with ψ(x) = elu(x) + 1 > 0.

    The sums over n do not depend on k, so they are taken once; with `causal`, n ≤ k, they are
    running sums.

    Args:
        dim: number of features.
        heads: as in `Projections`.
        causal: attend to a token itself and to those before it only.
        device: of the parameters.
        dtype: of the parameters.

    Example:
        >>> LinearAttention(8, heads=2, causal=True)(torch.ones(1, 5, 8)).shape
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
        """Weigh the values by the separable kernel; shapes as in `MultiHead.attend`."""
        with torch.autocast(q.device.type, enabled=False):
            Q, K, V = full_precision(q, k, v)
            Q, K = elu(Q) + 1, elu(K) + 1
            if mask is not None:
                K = K.masked_fill(~mask[:, None, :, None], 0)
            V = pad(V, (0, 1), value=1.0)  # its last column becomes the denominator
            y = _causal_sums(Q, K, V) if self.causal else Q @ (K.mT @ V)
            return (y[..., :-1] / y[..., -1:].clamp(min=_LEAST_WEIGHT)).to(v.dtype)


def _causal_sums(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    """Σ_{n≤k} ⟨Q_k, K_n⟩ V_n for Q, K (…, n, features) and V (…, n, size).

    Chunk by chunk: a product of matrices within the chunk, and Q times the sum Σ K Vᵀ over all
    chunks before.
    """
    n = Q.shape[-2]
    chunks = -(-n // _CHUNK)
    Q, K, V = (
        pad(t, (0, 0, 0, chunks * _CHUNK - n)).unflatten(-2, (chunks, _CHUNK)) for t in (Q, K, V)
    )
    chunk_sums = K.mT @ V  # (…, chunks, features, size)
    before = chunk_sums.cumsum(-3) - chunk_sums
    within = (Q @ K.mT).tril() @ V
    return (within + Q @ before).flatten(-3, -2)[..., :n, :]
