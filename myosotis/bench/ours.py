"""Contenders of our own: the solvers, their backends, the reference, and plain torch yardsticks."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from myosotis.bench.case import Contender, Work
from myosotis.bench.systems import BlockSystem, DiagonalSystem, FactoredSystem
from myosotis.linalg import (
    TreeMatrix,
    reference,
    tree_solve,
    tree_solve_diag,
    tree_solve_factored,
)
from myosotis.tree import Tree

__all__ = [
    "OURS",
    "ROUNDS",
    "blocks",
    "blocks_reference",
    "clone",
    "clone_everything",
    "dense",
    "diagonal",
    "diagonal_reference",
    "factored",
    "level_by_level",
]

OURS = "myosotis"
ROUNDS = "torch rounds"


def diagonal(backend: str | None = None, *, backward: bool = False) -> Contender[DiagonalSystem]:
    """`tree_solve_diag`, and if asked its gradients in all four tensors."""

    def prepare(s: DiagonalSystem) -> Work:
        def solve(a: Tensor, b: Tensor, c: Tensor, u: Tensor) -> Tensor:
            return tree_solve_diag(s.tree, a, b, c, u, backend=backend)

        return _work(solve, (s.a, s.b, s.c, s.u), s.u, backward)

    return Contender(_name(backend), prepare)


def factored(backend: str | None = None, *, backward: bool = False) -> Contender[FactoredSystem]:
    """`tree_solve_factored`, and if asked its gradients in all three tensors."""

    def prepare(s: FactoredSystem) -> Work:
        def solve(a: Tensor, d: Tensor, u: Tensor) -> Tensor:
            return tree_solve_factored(s.tree, a, d, u, rows=s.rows, backend=backend)

        return _work(solve, (s.a, s.d, s.u), s.u, backward)

    return Contender(_name(backend), prepare)


def blocks(backend: str | None = None, *, backward: bool = False) -> Contender[BlockSystem]:
    """`tree_solve`, and if asked its gradients in all four tensors."""

    def prepare(s: BlockSystem) -> Work:
        def solve(A: Tensor, B: Tensor, C: Tensor, u: Tensor) -> Tensor:
            return tree_solve(s.tree, A, B, C, u, backend=backend)

        return _work(solve, (s.A, s.B, s.C, s.u), s.u, backward)

    return Contender(_name(backend), prepare)


def clone() -> Contender[DiagonalSystem | FactoredSystem]:
    """A copy of u: no solver can write x in less."""
    return Contender("clone", lambda s: Work(s.u.clone))


def clone_everything() -> Contender[DiagonalSystem]:
    """A copy of all inputs and of something the size of the output."""

    def prepare(s: DiagonalSystem) -> Work:
        return Work(lambda: [t.clone() for t in (s.a, s.b, s.c, s.u, s.u)])

    return Contender("clone all", prepare)


def diagonal_reference() -> Contender[DiagonalSystem]:
    """Plain loops over the nodes."""
    return Contender(
        "reference",
        lambda s: Work(lambda: reference.solve_diag(s.tree, s.a, s.b, s.c, s.u)),
    )


def blocks_reference() -> Contender[BlockSystem]:
    """Plain loops over the nodes."""
    return Contender(
        "reference", lambda s: Work(lambda: reference.solve(s.tree, s.A, s.B, s.C, s.u))
    )


def dense() -> Contender[BlockSystem]:
    """`torch.linalg.solve` with the matrix written out in full, once for all samples."""

    def prepare(s: BlockSystem) -> Work:
        T = TreeMatrix(s.tree, s.A, s.B, s.C).to_dense(order="canonical")
        u = s.u.flatten(-3).movedim(-1, -2) if s.A.ndim == 3 else s.u.flatten(-3).unsqueeze(-1)
        return Work(lambda: torch.linalg.solve(T, u))

    return Contender("torch.linalg.solve", prepare)


def level_by_level() -> Contender[DiagonalSystem]:
    """The same elimination in torch, one level of the tree after the other."""

    def prepare(s: DiagonalSystem) -> Work:
        parent = torch.from_numpy(s.tree.parent.copy())
        return Work(lambda: solve_by_levels(s.tree, parent, s.a, s.b, s.c, s.u))

    return Contender("level by level", prepare)


def solve_by_levels(
    tree: Tree, parent: Tensor, a: Tensor, b: Tensor, c: Tensor, u: Tensor
) -> Tensor:
    """Solves a diagonal system (L, H) level by level.

    Example:
        >>> tree = Tree.star(2)
        >>> parent, one = torch.from_numpy(tree.parent.copy()), torch.ones(3, 1)
        >>> solve_by_levels(tree, parent, 2 * one, -one, -one, one).flatten()
        tensor([1.5000, 1.5000, 2.0000])
    """
    pivot, x = a.clone(), u.clone()
    *below_root, _ = tree.levels
    for level in below_root:
        weight = c[level] / pivot[level]
        pivot.index_add_(0, parent[level], -weight * b[level])
        x.index_add_(0, parent[level], -weight * x[level])
    x[tree.levels[-1]] /= pivot[tree.levels[-1]]
    for level in reversed(below_root):
        x[level] = (x[level] - b[level] * x[parent[level]]) / pivot[level]
    return x


def _name(backend: str | None) -> str:
    return OURS if backend is None else ROUNDS


def _work(
    solve: Callable[..., Tensor], tensors: Sequence[Tensor], u: Tensor, backward: bool
) -> Work:
    if not backward:
        return Work(lambda: solve(*tensors))
    leaves = [t.detach().clone().requires_grad_() for t in tensors]
    gradient = torch.randn_like(u)
    return Work(lambda: torch.autograd.grad(solve(*leaves), leaves, gradient))
