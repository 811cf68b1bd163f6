"""S4D against one recurrence per feature, step by step."""

import math

import pytest
import torch
from torch import Tensor

from myosotis.errors import ConfigError
from myosotis.nn.hippo import block_spectrum
from myosotis.nn.mixers import S4D
from tests.nn.mixers.cases import DOUBLE, assert_gradients


def by_recurrence(mixer: S4D, u: Tensor) -> Tensor:
    """The backward model sees what follows a token, not the token itself."""
    n = u.shape[1]
    eigenvalues = torch.complex(-mixer.log_rate.exp(), mixer.frequency)
    decay = torch.exp(eigenvalues * mixer.log_step.exp())  # (dim, heads)
    B = (decay - 1) / eigenvalues
    C = torch.view_as_complex(mixer.output_map)
    y = mixer.skip * u
    state = torch.zeros(u.shape[0], *decay.shape, dtype=decay.dtype)
    for t in range(n):
        state = decay * state + B * u[:, t].unsqueeze(-1)
        y[:, t] += 2 * (C[0] * state).sum(-1).real
    if mixer.bidirectional:
        state = torch.zeros_like(state)
        for t in reversed(range(n)):
            y[:, t] += 2 * (C[1] * state).sum(-1).real
            state = decay * state + B * u[:, t].unsqueeze(-1)
    return y @ mixer.output.weight.T + mixer.output.bias


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("init", ["legs", "lin"])
@pytest.mark.parametrize("n", [1, 7, 300])
def test_values(n: int, init: str, bidirectional: bool) -> None:
    mixer = S4D(3, heads=4, init=init, bidirectional=bidirectional, dtype=DOUBLE)
    u = torch.randn(2, n, 3, dtype=DOUBLE)
    with torch.no_grad():
        torch.testing.assert_close(mixer(u), by_recurrence(mixer, u), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_gradients(bidirectional: bool) -> None:
    mixer = S4D(2, heads=2, bidirectional=bidirectional, dtype=DOUBLE)
    assert_gradients(mixer, torch.randn(2, 4, 2, dtype=DOUBLE))


def test_single_precision_on_a_long_sequence() -> None:
    mixer = S4D(3, heads=4)
    u = torch.randn(1, 4000, 3)
    with torch.no_grad():
        y = mixer(u)
        expected = by_recurrence(mixer.double(), u.double())
    assert (y - expected).abs().max() < 1e-4 * expected.abs().max()


def test_start() -> None:
    legs, lin = S4D(3, heads=4), S4D(3, heads=4, init="lin")
    expected = torch.from_numpy(block_spectrum(8).imag).float().expand(3, 4)
    torch.testing.assert_close(legs.frequency.detach(), expected)
    torch.testing.assert_close(lin.frequency[1].detach(), math.pi * torch.arange(4.0))
    torch.testing.assert_close(lin.log_rate.exp(), torch.full((3, 4), 0.5))


def test_unknown_start() -> None:
    with pytest.raises(ConfigError, match="init must be one of legs, lin; got 'random'"):
        S4D(4, init="random")
