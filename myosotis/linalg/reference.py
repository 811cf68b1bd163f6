"""The equations of docs/mathematics.md, one node at a time: the truth that everything is tested by.

    Â_v = A_v + Σ_c C_c B̂_c      B̂_v = −Â_v⁻¹ B_v
    ũ_v = u_v − Σ_c C_c û_c      û_v =  Â_v⁻¹ ũ_v          children before parents
    x_v = û_v + B̂_v x_p                                     parents before children

Slow and plain on purpose: no schedule, no broadcasting tricks, gradients by autograd through every
step. Dense blocks only; a diagonal system is one of 1×1 blocks per channel.
"""

import torch
from torch import Tensor

from myosotis.tree import Tree

__all__ = ["eliminate", "logabsdet", "solve", "solve_diag"]


def solve(tree: Tree, A: Tensor, B: Tensor, C: Tensor, u: Tensor) -> Tensor:
    """Solve T x = u. A, B, C (…, L, d, d); u (…, L, d, r) -> (…, L, d, r)."""
    A_hat, B_hat = eliminate(tree, A, B, C)
    u_hat: list[Tensor] = []
    for v in range(tree.num_nodes):
        u_v = u[..., v, :, :]
        for c in tree.children(v):
            u_v = u_v - C[..., c, :, :] @ u_hat[c]
        u_hat.append(torch.linalg.solve(A_hat[v], u_v))

    x = list(u_hat)
    for v in reversed(range(tree.num_edges)):
        x[v] = u_hat[v] + B_hat[v] @ x[tree.parent[v]]
    return torch.stack(torch.broadcast_tensors(*x), dim=-3)


def solve_diag(tree: Tree, a: Tensor, b: Tensor, c: Tensor, u: Tensor) -> Tensor:
    """Solve T x = u for each channel. a, b, c, u broadcast to (…, L, H) -> (…, L, H)."""
    a, b, c, u = torch.broadcast_tensors(a, b, c, u)
    A, B, C, U = (t.movedim(-1, 0)[..., None, None] for t in (a, b, c, u))  # (H, …, L, 1, 1)
    return solve(tree, A, B, C, U)[..., 0, 0].movedim(0, -1)


def logabsdet(tree: Tree, A: Tensor, B: Tensor, C: Tensor) -> Tensor:
    """log|det T| = Σ log|det Â_v|. A, B, C (…, L, d, d) -> (…)."""
    A_hat, _ = eliminate(tree, A, B, C)
    return torch.stack([torch.linalg.slogdet(block).logabsdet for block in A_hat]).sum(0)


def eliminate(tree: Tree, A: Tensor, B: Tensor, C: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Â of every node and B̂ of every node but the roots, as lists over the nodes."""
    A_hat: list[Tensor] = []
    B_hat: list[Tensor] = []  # of every node but the roots, which come last
    for v in range(tree.num_nodes):
        pivot = A[..., v, :, :]
        for c in tree.children(v):
            pivot = pivot + C[..., c, :, :] @ B_hat[c]
        A_hat.append(pivot)
        if tree.parent[v] >= 0:
            # A singular pivot becomes infinite here and is reported by whoever asked.
            B_hat.append(-torch.linalg.solve_ex(pivot, B[..., v, :, :]).result)
    return A_hat, B_hat
