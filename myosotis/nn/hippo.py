"""Spectra and step sizes that state space models start from.

HiPPO-LegS is the matrix whose state holds a signal's past as coefficients of Legendre polynomials.
It is a normal matrix minus one of rank 1; models with diagonal states keep the normal part only.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from myosotis.errors import ConfigError

__all__ = [
    "block_spectrum",
    "block_vectors",
    "hippo_normal",
    "log_uniform_steps",
    "zero_order_hold",
]


def hippo_normal(size: int) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
    """Diagonalise the normal part of HiPPO-LegS.

    It is −I/2 plus a skew-symmetric S with S_ij = −√((2i+1)(2j+1)) / 2 for i > j, so all
    eigenvalues have the real part −1/2, and the k-th is the conjugate of the k-th from the end.

    Returns:
        The eigenvalues (size,), imaginary parts ascending, and the unitary matrix (size, size)
        whose columns are their eigenvectors.

    Raises:
        ConfigError: size is not at least 1.

    Example:
        >>> eigenvalues, _ = hippo_normal(4)
        >>> eigenvalues.imag.round(3)
        array([-4.603, -0.557,  0.557,  4.603])
    """
    if size < 1:
        raise ConfigError(f"HiPPO needs at least one state, got size={size}")
    root = np.sqrt(2 * np.arange(size) + 1.0)
    lower = np.tril(np.outer(root, root), -1) / 2
    skew = lower.T - lower
    imaginary, vectors = np.linalg.eigh(-1j * skew)
    return -0.5 + 1j * imaginary, vectors


def block_spectrum(states: int, blocks: int = 1) -> NDArray[np.complex128]:
    """Repeat HiPPO's eigenvalues in equal blocks and keep one of each conjugate pair.

    Args:
        states: size of the state before half of it is dropped.
        blocks: how many equal blocks, each of an even size, the state is cut into.

    Returns:
        The eigenvalues (states/2,), block after block, all with negative imaginary part.

    Raises:
        ConfigError: the states cannot be cut like that.

    Example:
        >>> block_spectrum(8, blocks=2).imag.round(3)
        array([-4.603, -0.557, -4.603, -0.557])
    """
    size = _block_size(states, blocks)
    eigenvalues, _ = hippo_normal(size)
    return np.tile(eigenvalues[: size // 2], blocks)


def block_vectors(states: int, blocks: int = 1) -> NDArray[np.complex128]:
    """The eigenvectors (states, states/2), block-diagonal, of what `block_spectrum` returns.

    Raises:
        ConfigError: the states cannot be cut into such blocks.

    Example:
        >>> V = block_vectors(8, blocks=2)
        >>> V.shape, np.allclose(V.conj().T @ V, np.eye(4))
        ((8, 4), True)
    """
    size = _block_size(states, blocks)
    _, vectors = hippo_normal(size)
    return np.kron(np.eye(blocks), vectors[:, : size // 2]).astype(np.complex128)


def log_uniform_steps(count: int, min_step: float = 0.001, max_step: float = 0.1) -> Tensor:
    """Draw `count` step sizes whose logarithms are uniform, float64 (count,).

    Raises:
        ConfigError: not 0 < min_step ≤ max_step.

    Example:
        >>> steps = log_uniform_steps(100, 0.01, 0.1)
        >>> bool((steps >= 0.01).all() and (steps <= 0.1).all())
        True
    """
    if not 0 < min_step <= max_step:
        raise ConfigError(
            f"step sizes need 0 < min_step <= max_step, got min_step={min_step}, "
            f"max_step={max_step}"
        )
    share = torch.rand(count, dtype=torch.float64, device="cpu")
    return min_step * (max_step / min_step) ** share


def zero_order_hold(eigenvalues: Tensor, step: Tensor) -> tuple[Tensor, Tensor]:
    """Discretise x' = λx + u, with u constant during each step, to x_k = decay·x_{k−1} + scale·u_k.

    Args:
        eigenvalues: complex λ.
        step: real and positive, broadcasts with `eigenvalues`.

    Returns:
        decay = exp(λ·step) and scale = (decay − 1) / λ, which is `step` where λ = 0.

    Example:
        >>> decay, scale = zero_order_hold(torch.tensor([-1 + 0j, 0j]), torch.tensor(0.5))
        >>> decay.real, scale.real
        (tensor([0.6065, 1.0000]), tensor([0.3935, 0.5000]))
    """
    z = eigenvalues * step
    at_zero = z == 0
    divisor = torch.where(at_zero, 1, z)
    # expm1, because exp(z) − 1 cancels: steps of 0.001 would leave three digits in float32.
    ratio = torch.where(at_zero, 1 + z / 2, torch.expm1(divisor) / divisor)
    return z.exp(), step * ratio


def _block_size(states: int, blocks: int) -> int:
    if blocks < 1 or states < 2 or states % (2 * blocks):
        raise ConfigError(
            f"{states} states cannot be cut into {blocks} blocks of conjugate pairs: the number "
            f"of states must be a positive multiple of 2·blocks"
        )
    return states // blocks
