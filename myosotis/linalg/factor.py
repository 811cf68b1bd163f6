"""Factor once, solve many times."""

from torch import Tensor

from myosotis.linalg import backends
from myosotis.linalg.apply import Blocks, with_axes_of
from myosotis.linalg.autograd import Spec, factorize, solve, solve_once
from myosotis.linalg.determinant import log_abs_det
from myosotis.linalg.levels import split_levels
from myosotis.linalg.plan import parent_tensor
from myosotis.linalg.system import LevelBlocks, System, prepare_right_side

__all__ = ["Factorization", "solve_system"]


class Factorization:
    """A tree matrix after elimination, ready for any number of right-hand sides.

    Made by `TreeMatrix.factorize`. Gradients flow to the blocks of the matrix through every
    solution, and the one factor serves them all.

    Example:
        >>> import torch
        >>> from myosotis import Tree, TreeMatrix
        >>> tree = Tree.chain(3)
        >>> M = TreeMatrix.diag(tree, torch.tensor(2.0), torch.tensor(0.0), torch.tensor(-1.0))
        >>> F = M.factorize()
        >>> F.solve(torch.ones(3, 1)).squeeze(-1)
        tensor([0.5000, 0.7500, 0.8750])
        >>> F.solve_adjoint(torch.ones(3, 1)).squeeze(-1)
        tensor([0.8750, 0.7500, 0.5000])
        >>> round(F.logdet().item(), 4)  # log 2³
        2.0794
    """

    def __init__(self, system: System, backend: str | None = None) -> None:
        self._system = system
        self._parent = parent_tensor(system.tree)
        self._blocks, self._scalar = _scalars_as_diagonals(system)
        self._diagonal = system.diagonal or self._scalar
        self._backend = backends.choose(backend, self._blocks[0], self._diagonal)
        self._factor = factorize(self._parent, self._blocks, self._spec(adjoint=False))

    def solve(self, u: LevelBlocks, *, check_finite: bool = False) -> Tensor | list[Tensor]:
        """The solution x of T x = u, in the shape and dtype of u (broadcast against T)."""
        return self._solve(u, adjoint=False, check_finite=check_finite)

    def solve_adjoint(self, g: LevelBlocks, *, check_finite: bool = False) -> Tensor | list[Tensor]:
        """The solution λ of T^H λ = g, from the same factor."""
        return self._solve(g, adjoint=True, check_finite=check_finite)

    def logdet(self) -> Tensor:
        """log|det T|: shape (…) for dense blocks, (…, H) for diagonal ones (one per channel)."""
        value = log_abs_det(self._parent, self._blocks, self._factor, self._spec(adjoint=False))
        return value.squeeze(-1) if self._scalar else value

    def solve_uniform(self, u: Tensor, adjoint: bool) -> Tensor:
        """Solve for a checked u (*batch, L, h) or (*batch, L, d, r), batch at least that of T."""
        u = u.squeeze(-2) if self._scalar else u
        A, B, C, *factor = with_axes_of(u, self._blocks[0], (*self._blocks, *self._factor))
        x = solve(self._parent, (A, B, C), factor, u, self._spec(adjoint))
        return x.unsqueeze(-2) if self._scalar else x

    def _solve(self, u: LevelBlocks, adjoint: bool, check_finite: bool) -> Tensor | list[Tensor]:
        system = self._system
        right, dtype = prepare_right_side(system, u, check_finite=check_finite)
        return _as_given(system, self.solve_uniform(right, adjoint).to(dtype))

    def _spec(self, adjoint: bool) -> Spec:
        return Spec(self._diagonal, adjoint, self._backend)


def solve_system(
    system: System, u: LevelBlocks, backend: str | None, *, check_finite: bool
) -> Tensor | list[Tensor]:
    """T⁻¹ u where the factor serves nothing else, so that a backend need not write it down."""
    right, dtype = prepare_right_side(system, u, check_finite=check_finite)
    blocks, scalar = _scalars_as_diagonals(system)
    right = right.squeeze(-2) if scalar else right
    diagonal = system.diagonal or scalar
    spec = Spec(diagonal, adjoint=False, backend=backends.choose(backend, blocks[0], diagonal))
    x = solve_once(parent_tensor(system.tree), blocks, right, spec, system.tree.num_edges)
    x = x.unsqueeze(-2) if scalar else x
    return _as_given(system, x if x.dtype == dtype else x.to(dtype))


def _scalars_as_diagonals(system: System) -> tuple[Blocks, bool]:
    """1×1 blocks are diagonal ones whose channels are the right-hand sides; whether it is so."""
    A, B, C = system.blocks
    if system.diagonal or A.shape[-1] != 1:
        return (A, B, C), False
    return (A.squeeze(-1), B.squeeze(-1), C.squeeze(-1)), True


def _as_given(system: System, x: Tensor) -> Tensor | list[Tensor]:
    """One tensor per level if the blocks were given so."""
    if system.sizes is None:
        return x
    return split_levels(system.tree, x, system.sizes, [x.shape[-1]] * len(system.sizes))
