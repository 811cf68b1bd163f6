"""State-space models as chains."""

import torch
from torch import Tensor

from myosotis.errors import ShapeError
from myosotis.tree import Tree

__all__ = ["chain_system"]


def chain_system(F: Tensor, S: Tensor | None = None) -> tuple[Tree, Tensor, Tensor, Tensor]:
    """The chain whose solution is the state of an SSM: x_k = F_{k-1} x_{k-1} + S_k u_k.

    Node k of the chain is step k, and its parent is step k+1. With both off-diagonals B and C the
    same chain becomes a bidirectional model.

    Args:
        F: transitions (…, L-1, d, d); F[k] leads from step k to step k+1.
        S: input maps (…, L, d, d), invertible; identity if None. For inputs of another size apply
            the input map to u first and leave S out.

    Returns:
        (tree, A, B, C) for `tree_solve`: A_k = S_k⁻¹, C_k = −S_{k+1}⁻¹ F_k, B = 0.

    Raises:
        ShapeError: F and S do not fit.

    Example:
        >>> import torch
        >>> from myosotis import tree_solve
        >>> from myosotis.ssm import chain_system
        >>> F = torch.full((3, 1, 1), 0.5)
        >>> u = torch.tensor([8.0, 0.0, 0.0, 1.0]).view(4, 1, 1)
        >>> tree_solve(*chain_system(F), u).flatten()
        tensor([8., 4., 2., 2.])
    """
    if F.ndim < 3 or F.shape[-1] != F.shape[-2]:
        raise ShapeError(f"F has shape {tuple(F.shape)}; expected (…, L-1, d, d)")
    length, d = F.shape[-3] + 1, F.shape[-1]
    if S is None:
        A = torch.eye(d, dtype=F.dtype, device=F.device).expand(length, d, d)
        C = -F
    else:
        if S.ndim < 3 or S.shape[-3:] != (length, d, d):
            raise ShapeError(
                f"S has shape {tuple(S.shape)}; F of shape {tuple(F.shape)} needs "
                f"(…, {length}, {d}, {d})"
            )
        A = torch.linalg.inv(S)
        C = -torch.linalg.solve(S[..., 1:, :, :], F)
    return Tree.chain(length), A, torch.zeros_like(C), C
