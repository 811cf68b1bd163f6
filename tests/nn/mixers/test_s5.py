"""S5 against its recurrence, step by step, and against what its authors' code computes."""

import json
from pathlib import Path

import pytest
import torch
from torch import Tensor

from myosotis.errors import ConfigError
from myosotis.nn.hippo import block_spectrum
from myosotis.nn.mixers import S5
from myosotis.nn.mixers.s5 import chain
from tests.nn.mixers.cases import DOUBLE, assert_gradients

AUTHORS = json.loads(Path(__file__).with_name("s5_authors.json").read_text())


def by_recurrence(mixer: S5, u: Tensor) -> Tensor:
    eigenvalues = torch.complex(-mixer.log_rate.exp(), mixer.frequency)
    step = mixer.log_step.exp()
    decay = torch.exp(eigenvalues * step)
    B = ((decay - 1) / eigenvalues).unsqueeze(1) * torch.view_as_complex(mixer.input_map)
    C = torch.view_as_complex(mixer.output_map)
    y = mixer.skip * u
    orders = [range(u.shape[1]), reversed(range(u.shape[1]))]
    for direction, order in zip(C, orders, strict=False):
        state = torch.zeros(u.shape[0], mixer.heads, dtype=decay.dtype)
        for t in order:
            state = decay * state + u[:, t].to(decay.dtype) @ B.T
            y[:, t] += 2 * (state @ direction.T).real
    return y


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("n", [1, 2, 17])
def test_values(n: int, bidirectional: bool) -> None:
    mixer = S5(5, heads=4, blocks=2, bidirectional=bidirectional, dtype=DOUBLE)
    u = torch.randn(3, n, 5, dtype=DOUBLE)
    with torch.no_grad():
        torch.testing.assert_close(mixer(u), by_recurrence(mixer, u))


@pytest.mark.parametrize("bidirectional", [False, True])
def test_gradients(bidirectional: bool) -> None:
    mixer = S5(3, heads=2, bidirectional=bidirectional, dtype=DOUBLE)
    assert_gradients(mixer, torch.randn(2, 4, 3, dtype=DOUBLE))


@pytest.mark.parametrize("case", AUTHORS["cases"])
def test_the_authors_weights_give_the_authors_output(case: str) -> None:
    weights = {k: torch.tensor(v) for k, v in AUTHORS["cases"][case]["parameters"].items()}
    mixer = S5(6, heads=4, bidirectional=case == "bidirectional")
    maps = [weights[name] for name in ("C", "C1", "C2") if name in weights]
    with torch.no_grad():
        mixer.log_rate.copy_((-weights["Lambda_re"]).log())
        mixer.frequency.copy_(weights["Lambda_im"])
        mixer.log_step.copy_(weights["log_step"][:, 0])
        mixer.input_map.copy_(weights["B"])
        mixer.output_map.copy_(torch.stack(maps))
        mixer.skip.copy_(weights["D"])
        y = mixer(torch.tensor(AUTHORS["input"]).unsqueeze(0))
    expected = torch.tensor(AUTHORS["cases"][case]["output"])
    torch.testing.assert_close(y[0], expected, rtol=1e-5, atol=5e-6)


@pytest.mark.parametrize("blocks", [1, 2])
def test_start_from_the_authors_eigenvalues(blocks: int) -> None:
    expected = torch.view_as_complex(torch.tensor(AUTHORS["eigenvalues"][str(blocks)]))
    actual = torch.from_numpy(block_spectrum(8, blocks)).to(torch.complex64)
    torch.testing.assert_close(actual, expected, rtol=1e-6, atol=1e-6)
    mixer = S5(6, heads=4, blocks=blocks)
    torch.testing.assert_close(mixer.frequency.detach(), expected.imag, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(mixer.log_rate.exp(), torch.full((4,), 0.5))


def test_start_has_the_scale_of_the_paper() -> None:
    """B and C have the variance 1/inputs before V, which is unitary up to the dropped half."""
    mixer = S5(64, heads=64)
    B, C = mixer.input_map.detach(), mixer.output_map.detach()
    assert B.square().sum(-1).mean().item() == pytest.approx(1 / 64, rel=0.1)
    assert C.square().sum(-1).mean().item() == pytest.approx(2 / 128, rel=0.1)
    assert mixer.skip.std().item() == pytest.approx(1, rel=0.4)
    assert 0.001 <= mixer.log_step.exp().min() <= mixer.log_step.exp().max() <= 0.1


def test_states_stay_bounded_whatever_the_parameters() -> None:
    mixer = S5(4, heads=4)
    with torch.no_grad():
        mixer.log_rate.fill_(-200.0)  # a rate that rounds to zero
        mixer.frequency[:2] = 0.0
        mixer.log_step.fill_(3.0)
    assert mixer(torch.randn(1, 200, 4)).isfinite().all()


def test_autocast_leaves_the_recurrence_alone() -> None:
    mixer, u = S5(4, heads=4), torch.randn(2, 50, 4)
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        inside = mixer(u)
    torch.testing.assert_close(inside, mixer(u).detach())


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.*")
def test_two_lengths_in_one_compiled_graph() -> None:
    torch.compiler.reset()
    mixer, u = S5(4, heads=2, dtype=DOUBLE), torch.randn(2, 23, 4, dtype=DOUBLE)

    def function(u: Tensor) -> Tensor:
        return mixer(u)[:, :11] + mixer(u[:, :11])

    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(u), function(u))


def test_chains_are_kept_but_not_all_of_them() -> None:
    first = chain(1000)
    assert chain(1000) is first
    for length in range(1, 300):
        assert chain(length).num_nodes == length
    assert chain(1000) is not first
    assert chain(1000) == first


def test_default_is_half_as_many_states_as_features() -> None:
    assert S5(10).heads == 5
    assert S5(1).heads == 1


def test_blocks_must_divide_the_states() -> None:
    with pytest.raises(ConfigError, match="10 states cannot be cut into 3 blocks"):
        S5(4, heads=5, blocks=3)
