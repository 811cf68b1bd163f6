"""Linear attention against the sums that define it."""

import pytest
import torch
from torch import Tensor

from myosotis.nn.mixers import LinearAttention
from tests.nn.mixers.cases import DOUBLE, assert_gradients, by_heads, end_mask


def features(x: Tensor) -> Tensor:
    return torch.where(x > 0, x + 1, x.exp())


def by_sums(mixer: LinearAttention, x: Tensor, real: Tensor) -> Tensor:
    def head(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        rows = []
        for i in range(len(q)):
            seen = [j for j in range(len(k)) if real[j] and (j <= i or not mixer.causal)]
            weights = features(k[seen]) @ features(q[i])
            rows.append(weights @ v[seen] / weights.sum() if seen else torch.zeros_like(v[i]))
        return torch.stack(rows)

    return by_heads(mixer, x.unsqueeze(0), head)[0] * real.unsqueeze(-1)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("n", [1, 5, 64, 150])
def test_values(n: int, causal: bool) -> None:
    mixer = LinearAttention(4, 2, causal=causal, dtype=DOUBLE)
    x = torch.randn(2, n, 4, dtype=DOUBLE)
    mask = torch.stack([torch.ones(n, dtype=torch.bool), torch.rand(n) < 0.7])
    with torch.no_grad():
        for actual, tokens, real in zip(mixer(x, mask), x, mask, strict=True):
            torch.testing.assert_close(actual, by_sums(mixer, tokens, real))


@pytest.mark.parametrize("causal", [False, True])
def test_gradients(causal: bool) -> None:
    mixer = LinearAttention(4, 2, causal=causal, dtype=DOUBLE)
    assert_gradients(mixer, torch.randn(3, 5, 4, dtype=DOUBLE), end_mask([5, 3, 0], 5))
