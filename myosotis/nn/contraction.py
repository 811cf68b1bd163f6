"""Couplings of norm below one from numbers without bounds."""

import torch
from torch import Tensor

__all__ = ["contract", "contract_pairs", "uncontract"]

LARGEST = 1 - 1e-6  # a contraction never reaches one; the nearest to it that a start may ask for


def contract(M: Tensor) -> Tensor:
    """M (I + M^H M)^(-1/2), up to a unitary factor, for blocks M (…, d, d).

    A singular value σ of M becomes σ / √(1 + σ²): whatever M, the result is of norm below one.

    Example:
        >>> contract(torch.tensor([[3.0]]) ** 0.5)
        tensor([[0.8660]])
    """
    if M.shape[-1] == 1:
        if M.is_complex():
            return torch.view_as_complex(contract_pairs(torch.view_as_real(M)))
        return contract_pairs(M.unsqueeze(-1)).squeeze(-1)
    gram = M.mH @ M + torch.eye(M.shape[-1], dtype=M.dtype, device=M.device)
    factor = torch.linalg.cholesky(gram)  # L L^H = I + M^H M
    contracted: Tensor = torch.linalg.solve_triangular(factor.mH, M, upper=True, left=False)
    return contracted


def contract_pairs(pairs: Tensor) -> Tensor:
    """`contract` for numbers whose parts are the last axis (…, 2 or 1), which compilers can fuse.

    Example:
        >>> contract_pairs(torch.tensor([0.0, 3.0]) ** 0.5)
        tensor([0.0000, 0.8660])
    """
    return pairs.mul((1 + pairs.square().sum(-1, keepdim=True)).rsqrt())


def uncontract(a: Tensor) -> Tensor:
    """The M with contract(M) = a, for blocks a (…, d, d) that are multiples of unitary ones.

    Norms of one and more are taken for the largest number below one that makes sense.

    Example:
        >>> a = torch.tensor([[0.0, -0.8], [0.8, 0.0]])
        >>> contract(uncontract(a))
        tensor([[ 0.0000, -0.8000],
                [ 0.8000,  0.0000]])
    """
    norm = torch.linalg.matrix_norm(a)[..., None, None] / a.shape[-1] ** 0.5
    bounded = norm.clamp(max=LARGEST)
    stretch = bounded / norm.clamp(min=torch.finfo(norm.dtype).tiny) / (1 - bounded**2).sqrt()
    M: Tensor = a * stretch
    return M
