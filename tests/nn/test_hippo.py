"""Spectra against the matrix that defines them, zero-order hold against its power series."""

import math

import numpy as np
import pytest
import torch

from myosotis.errors import ConfigError
from myosotis.nn.hippo import (
    block_spectrum,
    block_vectors,
    hippo_normal,
    log_uniform_steps,
    zero_order_hold,
)


def legs_plus_rank_one(size: int) -> np.ndarray:
    """HiPPO-LegS entry by entry, plus p pᵀ with p_i = √(i + 1/2), which makes it normal."""
    matrix = np.zeros((size, size))
    for i in range(size):
        for j in range(size):
            if i > j:
                matrix[i, j] = -math.sqrt((2 * i + 1) * (2 * j + 1))
            elif i == j:
                matrix[i, j] = -(i + 1)
            matrix[i, j] += math.sqrt((i + 0.5) * (j + 0.5))
    return matrix


@pytest.mark.parametrize("size", [1, 2, 5, 16, 64])
def test_normal_part_is_diagonalised(size: int) -> None:
    eigenvalues, vectors = hippo_normal(size)
    rebuilt = vectors @ np.diag(eigenvalues) @ vectors.conj().T
    np.testing.assert_allclose(rebuilt, legs_plus_rank_one(size), atol=1e-11 * size)
    np.testing.assert_allclose(eigenvalues, eigenvalues[::-1].conj(), atol=1e-11 * size)


@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_kept_halves_and_their_conjugates_make_the_whole(blocks: int) -> None:
    eigenvalues, vectors = block_spectrum(12, blocks), block_vectors(12, blocks)
    half = vectors @ np.diag(eigenvalues) @ vectors.conj().T
    whole = np.kron(np.eye(blocks), legs_plus_rank_one(12 // blocks))
    np.testing.assert_allclose(2 * half.real, whole, atol=1e-11)
    assert (eigenvalues.imag < 0).all()


@pytest.mark.parametrize(("states", "blocks"), [(6, 2), (7, 1), (0, 1), (8, 0)])
@pytest.mark.parametrize("function", [block_spectrum, block_vectors])
def test_states_that_cannot_be_cut(function, states: int, blocks: int) -> None:
    with pytest.raises(ConfigError, match=rf"{states} states .* {blocks} blocks"):
        function(states, blocks)


def test_no_states() -> None:
    with pytest.raises(ConfigError, match="size=0"):
        hippo_normal(0)


def test_steps_are_uniform_in_their_logarithm() -> None:
    share = (log_uniform_steps(20_000, 0.001, 0.1).log() - math.log(0.001)) / math.log(100)
    assert 0 <= share.min() < 0.001
    assert 0.999 < share.max() <= 1
    assert abs(share.mean() - 1 / 2) < 0.01
    assert abs(share.var() - 1 / 12) < 0.005
    assert log_uniform_steps(1, 0.5, 0.5).item() == pytest.approx(0.5)


@pytest.mark.parametrize("bounds", [(0.0, 0.1), (0.2, 0.1)])
def test_steps_without_a_range(bounds: tuple[float, float]) -> None:
    with pytest.raises(ConfigError, match=f"min_step={bounds[0]}"):
        log_uniform_steps(3, *bounds)


def series(z: complex) -> complex:
    """(e^z − 1) / z = Σ z^k / (k+1)!, without a division that could cancel."""
    return sum(z**k / math.factorial(k + 1) for k in range(60))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=str)
def test_zero_order_hold_keeps_its_digits_for_small_steps(dtype: torch.dtype) -> None:
    eigenvalues = [-0.5 - 19.9j, -0.5 + 0.4j, -1e-6 + 0j, 0j, 0.3j, -40.0 + 0j]
    steps = [1e-6, 1e-3, 0.1]
    grid = torch.tensor(eigenvalues, dtype=dtype).unsqueeze(1)
    decay, scale = zero_order_hold(grid, torch.tensor(steps, dtype=dtype.to_real()))
    exact = [[step * series(value * step) for step in steps] for value in eigenvalues]
    torch.testing.assert_close(
        scale, torch.tensor(exact, dtype=dtype), rtol=20 * torch.finfo(dtype).eps, atol=0
    )
    expected = np.exp(np.outer(eigenvalues, steps))
    torch.testing.assert_close(decay, torch.from_numpy(expected).to(dtype))


def test_gradients_of_zero_order_hold() -> None:
    eigenvalues = torch.tensor([-0.5 + 2j, -0.1 + 0j, 0j], dtype=torch.complex128)
    step = torch.tensor([0.1, 1.0, 0.5], dtype=torch.float64)
    eigenvalues.requires_grad_()
    step.requires_grad_()
    assert torch.autograd.gradcheck(zero_order_hold, (eigenvalues, step))
