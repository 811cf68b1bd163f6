"""T_G as an object."""

import numpy as np
import torch
from torch import Tensor

from myosotis.errors import ConfigError, TreeError
from myosotis.linalg import rounds
from myosotis.linalg.apply import multiply
from myosotis.linalg.factor import Factorization
from myosotis.linalg.levels import split_levels
from myosotis.linalg.plan import parent_tensor, plan_for
from myosotis.linalg.system import (
    LevelBlocks,
    System,
    dense_system,
    diagonal_system,
    prepare_right_side,
)
from myosotis.tree import Tree

__all__ = ["TreeMatrix"]


class TreeMatrix:
    """A matrix with one block per node and two per edge of a tree; its inverse is dense.

    Row v of `M @ x` is A_v x_v + B_v x_p(v) + Σ_c C_c x_c. Blocks and vectors have the shapes of
    `tree_solve` (uniform or one tensor per level); `TreeMatrix.diag` those of `tree_solve_diag`.
    Everything is differentiable in the blocks.

    Example:
        >>> import torch
        >>> from myosotis import Tree, TreeMatrix
        >>> M = TreeMatrix.diag(Tree.star(2), *torch.tensor([3.0, 1.0, 2.0]))
        >>> M.to_dense()[0]  # leaves, then the root
        tensor([[3., 0., 1.],
                [0., 3., 1.],
                [2., 2., 3.]])
        >>> x = torch.tensor([[1.0], [2.0], [3.0]])
        >>> torch.allclose(M.solve(M @ x), x)
        True
    """

    def __init__(
        self,
        tree: Tree,
        A: LevelBlocks,
        B: LevelBlocks,
        C: LevelBlocks,
        *,
        check_finite: bool = False,
    ) -> None:
        self._system = dense_system(tree, A, B, C, check_finite=check_finite)

    @classmethod
    def diag(
        cls, tree: Tree, a: Tensor, b: Tensor, c: Tensor, *, check_finite: bool = False
    ) -> "TreeMatrix":
        """One scalar tree matrix per channel: a, b, c broadcast to (…, L, H)."""
        return cls._of(diagonal_system(tree, a, b, c, check_finite=check_finite))

    @classmethod
    def _of(cls, system: System) -> "TreeMatrix":
        matrix = cls.__new__(cls)
        matrix._system = system
        return matrix

    @property
    def tree(self) -> Tree:
        """The tree whose edges carry B and C."""
        return self._system.tree

    def __repr__(self) -> str:
        """Shape at a glance."""
        kind = "diagonal" if self._system.diagonal else "dense"
        A = self._system.blocks[0]
        return f"TreeMatrix({self.tree!r}, {kind} blocks {tuple(A.shape)}, {A.dtype})"

    def __matmul__(self, x: LevelBlocks) -> Tensor | list[Tensor]:
        """T x."""
        system = self._system
        right, dtype = prepare_right_side(system, x)
        extra = right.ndim - system.blocks[0].ndim
        A, B, C = (t.reshape((1,) * extra + t.shape) for t in system.blocks)
        y = multiply(parent_tensor(self.tree), (A, B, C), right, system.diagonal, adjoint=False)
        y = y.to(dtype)
        if system.sizes is None:
            return y
        return split_levels(self.tree, y, system.sizes, [y.shape[-1]] * len(system.sizes))

    @property
    def T(self) -> "TreeMatrix":
        """The transpose."""
        A, B, C = self._system.blocks
        if self._system.diagonal:
            return self._of(self._system.with_blocks((A, C, B)))
        return self._of(self._system.with_blocks((A.mT, C.mT, B.mT)))

    @property
    def H(self) -> "TreeMatrix":
        """The conjugate transpose."""
        A, B, C = self.T._system.blocks
        return self._of(self._system.with_blocks((A.conj(), B.conj(), C.conj())))

    def factorize(self, *, backend: str | None = None) -> Factorization:
        """Eliminate once, to solve many times."""
        return Factorization(self._system, backend)

    def solve(self, u: LevelBlocks, *, backend: str | None = None) -> Tensor | list[Tensor]:
        """T⁻¹ u."""
        return self.factorize(backend=backend).solve(u)

    def logdet(self, *, backend: str | None = None) -> Tensor:
        """log|det T|: shape (…) for dense blocks, (…, H) for diagonal ones (one per channel)."""
        return self.factorize(backend=backend).logdet()

    def inverse_blocks(self) -> tuple[LevelBlocks, LevelBlocks, LevelBlocks]:
        """The blocks of T⁻¹ that stand where T has A, B and C.

        If T is the precision of a Gaussian on the tree these are the marginal covariances of
        every node and of every node with its parent. In uniform blocks the rows of B' and C' that
        belong to roots are zero.

        Example:
            >>> import torch
            >>> from myosotis import Tree, TreeMatrix
            >>> M = TreeMatrix.diag(Tree.chain(2), *torch.tensor([2.0, 1.0, 1.0]))
            >>> a, b, c = M.inverse_blocks()  # of [[2, 1], [1, 2]]⁻¹
            >>> a.squeeze(), b.squeeze()
            (tensor([0.6667, 0.6667]), tensor([-0.3333,  0.0000]))
        """
        system, tree = self._system, self.tree
        if torch._C._are_functorch_transforms_active():
            self.factorize()  # values are out of reach below: a singular pivot is reported here
        A, B, C = rounds.inverse_blocks(
            plan_for(parent_tensor(tree)), system.blocks, system.diagonal
        )
        if system.sizes is None:
            pad = (0,) * (2 if system.diagonal else 4) + (0, tree.num_roots)
            return A, torch.nn.functional.pad(B, pad), torch.nn.functional.pad(C, pad)
        d, d_up = system.sizes[:-1], system.sizes[1:]
        return (
            split_levels(tree, A, system.sizes, system.sizes),
            split_levels(tree, B, d, d_up),
            split_levels(tree, C, d_up, d),
        )

    def influence(self, node: int) -> LevelBlocks:
        """Row block `node` of T⁻¹: how much u of every node weighs in x of this one. One solve.

        Returns:
            (…, L, H) for diagonal blocks; (…, L, d, d) for dense ones, where entry v is the block
            (T⁻¹)_{node, v}; a list over levels of (…, n_l, d_node, d_l) if blocks are per level.

        Example:
            >>> import torch
            >>> from myosotis import Tree, TreeMatrix
            >>> M = TreeMatrix.diag(Tree.chain(3), *torch.tensor([1.0, 0.0, -0.5]))
            >>> M.influence(2).squeeze()  # a chain forgets geometrically
            tensor([0.2500, 0.5000, 1.0000])
        """
        tree, system = self.tree, self._system
        if not 0 <= node < tree.num_nodes:
            raise TreeError(
                f"node {node} is not in the tree: it has nodes 0 to {tree.num_nodes - 1}"
            )
        A = system.blocks[0]
        factorization = self.factorize()
        if system.diagonal:
            unit = A.new_zeros(A.shape)
            unit[..., node, :] = 1
            return factorization.solve_uniform(unit, adjoint=True).conj()
        level = tree.num_levels - 1 - int(tree.depth[node])
        size = A.shape[-1] if system.sizes is None else system.sizes[level]
        unit = A.new_zeros(A.shape)[..., :size]
        unit[..., node, range(size), range(size)] = 1
        row = factorization.solve_uniform(unit, adjoint=True).mH
        if system.sizes is None:
            return row
        return split_levels(tree, row, [size] * tree.num_levels, system.sizes)

    def to_dense(self, order: str = "post") -> Tensor:
        """T as an ordinary matrix, for looking at and for tests.

        Args:
            order: of rows and columns. "post" is the depth-first post-order in which T is drawn,
                "canonical" the numbering of the tree.

        Returns:
            (…, Σ_v d_v, Σ_v d_v) for dense blocks; (…, H, L, L) for diagonal ones.
        """
        if order not in ("post", "canonical"):
            raise ConfigError(f"order={order!r} is unknown; choose 'post' or 'canonical'")
        A, B, C = self._system.blocks
        if self._system.diagonal:  # channels become a leading axis, blocks 1×1
            A, B, C = (t.movedim(-1, 0)[..., None, None] for t in (A, B, C))
            dense = self._assemble(A, B, C, order)
            return dense.movedim(0, -3)
        return self._assemble(A, B, C, order)

    def _assemble(self, A: Tensor, B: Tensor, C: Tensor, order: str) -> Tensor:
        tree, (L, d) = self.tree, A.shape[-3:-1]
        v, p = torch.arange(tree.num_edges), parent_tensor(tree)[: tree.num_edges]
        blocks = A.new_zeros(*A.shape[:-3], L, L, d, d)
        blocks[..., range(L), range(L), :, :] = A
        blocks[..., v, p, :, :] = B
        blocks[..., p, v, :, :] = C
        dense = blocks.movedim(-2, -3).reshape(*A.shape[:-3], L * d, L * d)
        nodes = np.argsort(tree.post_order) if order == "post" else np.arange(L)
        sizes = self._system.sizes or (d,) * tree.num_levels
        node_size = np.repeat(sizes, tree.level_sizes)[nodes]
        rows = np.concatenate(
            [n * d + np.arange(size) for n, size in zip(nodes, node_size, strict=True)]
        )
        return dense[..., rows[:, None], rows]
