"""What a block is: the handful of operations in which diagonal and dense blocks differ.

The sweeps are written once against this. Inside them the node axis comes first:

              one block per node      right-hand sides
    diagonal  (n, *batch, h)          (n, *batch, h)
    dense     (n, *batch, d, d)       (n, *batch, d, r)

Outside them, in everything a user sees, the batch axes come first: (*batch, n, …).
"""

from math import prod
from typing import Protocol

import torch
from torch import Tensor

__all__ = ["DENSE", "DIAGONAL", "Algebra", "algebra_of"]


class Algebra(Protocol):
    """Products and pivots of blocks. `adjoint` flags mean "with the conjugate transpose"."""

    trailing: int  # axes behind the node axis that belong to a block

    def multiply(self, block: Tensor, other: Tensor, adjoint: bool = False) -> Tensor:
        """block @ other, or block^H @ other."""
        ...

    def outer(self, left: Tensor, right: Tensor, shape: torch.Size) -> Tensor:
        """Left @ right^H per node, summed over the axes that `shape` has with size 1.

        Here the batch axes come first: left and right (*full, n, …), shape (*batch, n, block).
        """
        ...

    def pivot(self, block: Tensor) -> tuple[list[Tensor], Tensor]:
        """The parts from which `solve` applies the inverse of `block`; where it has none."""
        ...

    def solve(self, pivot: list[Tensor], other: Tensor, adjoint: bool = False) -> Tensor:
        """block⁻¹ @ other, or block^-H @ other."""
        ...

    def solve_right(self, pivot: list[Tensor], block: Tensor) -> Tensor:
        """block @ pivot⁻¹."""
        ...

    def inverse(self, pivot: list[Tensor]) -> Tensor:
        """The inverse itself."""
        ...

    def slogdet(self, pivot: list[Tensor]) -> tuple[Tensor, Tensor]:
        """(Sign, logarithm of the absolute value) of the determinant of each block."""
        ...


class _Diagonal:
    """Blocks that are diagonal matrices, stored as the vector of their diagonal."""

    trailing = 1

    def multiply(self, block: Tensor, other: Tensor, adjoint: bool = False) -> Tensor:
        return (block.conj() if adjoint else block) * other

    def outer(self, left: Tensor, right: Tensor, shape: torch.Size) -> Tensor:
        return (left * right.conj()).sum_to_size(shape)

    def pivot(self, block: Tensor) -> tuple[list[Tensor], Tensor]:
        return [block.reciprocal()], block == 0

    def solve(self, pivot: list[Tensor], other: Tensor, adjoint: bool = False) -> Tensor:
        return self.multiply(pivot[0], other, adjoint)

    def solve_right(self, pivot: list[Tensor], block: Tensor) -> Tensor:
        return block * pivot[0]

    def inverse(self, pivot: list[Tensor]) -> Tensor:
        return pivot[0]

    def slogdet(self, pivot: list[Tensor]) -> tuple[Tensor, Tensor]:
        return pivot[0].conj().sgn(), -pivot[0].abs().log()


class _Dense:
    """Square blocks, factored by LU with partial pivoting inside the block."""

    trailing = 2

    def multiply(self, block: Tensor, other: Tensor, adjoint: bool = False) -> Tensor:
        return (block.mH if adjoint else block) @ other

    def outer(self, left: Tensor, right: Tensor, shape: torch.Size) -> Tensor:
        if all(n == 1 for n in shape[:-3]):  # the batch joins the columns: nothing to sum after
            left, right = (t.movedim((-3, -2), (0, 1)) for t in (left, right))
            left, right = (t.reshape(*t.shape[:2], prod(t.shape[2:])) for t in (left, right))
            return (left @ right.mH).reshape(shape)
        return (left @ right.mH).sum_to_size(shape)

    def pivot(self, block: Tensor) -> tuple[list[Tensor], Tensor]:
        lu, swaps, info = torch.linalg.lu_factor_ex(block)
        return [lu, swaps], info > 0

    def solve(self, pivot: list[Tensor], other: Tensor, adjoint: bool = False) -> Tensor:
        lu, swaps = pivot
        x: Tensor = torch.linalg.lu_solve(lu, swaps, other, adjoint=adjoint)
        return x

    def solve_right(self, pivot: list[Tensor], block: Tensor) -> Tensor:
        lu, swaps = pivot
        x: Tensor = torch.linalg.lu_solve(lu, swaps, block, left=False)
        return x

    def inverse(self, pivot: list[Tensor]) -> Tensor:
        lu, swaps = pivot
        identity = torch.eye(lu.shape[-1], dtype=lu.dtype, device=lu.device)
        x: Tensor = torch.linalg.lu_solve(lu, swaps, identity.expand_as(lu))
        return x

    def slogdet(self, pivot: list[Tensor]) -> tuple[Tensor, Tensor]:
        lu, swaps = pivot
        diagonal = lu.diagonal(dim1=-2, dim2=-1)
        unmoved = torch.arange(1, lu.shape[-1] + 1, device=lu.device)
        odd = (swaps != unmoved).sum(-1) % 2
        sign = diagonal.sgn().prod(-1) * (1 - 2 * odd)
        return sign, diagonal.abs().log().sum(-1)


DIAGONAL: Algebra = _Diagonal()
DENSE: Algebra = _Dense()


def algebra_of(diagonal: bool) -> Algebra:
    """The algebra of diagonal or of dense blocks."""
    return DIAGONAL if diagonal else DENSE
