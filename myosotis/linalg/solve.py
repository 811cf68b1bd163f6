"""The solver as plain functions of tensors."""

import operator
from typing import TYPE_CHECKING, overload

from torch import Tensor

from myosotis.linalg import backends
from myosotis.linalg.autograd import Spec, solve_once
from myosotis.linalg.checks import check_tensors, check_tree, check_values
from myosotis.linalg.factor import Factorization, solve_system
from myosotis.linalg.familiar import kind_of_call, recall, remember
from myosotis.linalg.plan import parent_tensor
from myosotis.linalg.system import (
    LevelBlocks,
    dense_system,
    diagonal_system,
    whole_diagonal_system,
)
from myosotis.tree import Tree

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh

__all__ = ["solve_diag_on_mesh", "tree_solve", "tree_solve_diag"]


@overload
def tree_solve(
    tree: Tree,
    A: Tensor,
    B: Tensor,
    C: Tensor,
    u: Tensor,
    *,
    backend: str | None = None,
    check_finite: bool = False,
) -> Tensor: ...


@overload
def tree_solve(
    tree: Tree,
    A: list[Tensor],
    B: list[Tensor],
    C: list[Tensor],
    u: list[Tensor],
    *,
    backend: str | None = None,
    check_finite: bool = False,
) -> list[Tensor]: ...


def tree_solve(
    tree: Tree,
    A: LevelBlocks,
    B: LevelBlocks,
    C: LevelBlocks,
    u: LevelBlocks,
    *,
    backend: str | None = None,
    check_finite: bool = False,
) -> Tensor | list[Tensor]:
    """Solve the block tree system A_v x_v + B_v x_p(v) + Σ_c C_c x_c = u_v for x.

    Everything is either one tensor over all nodes or a list with one tensor per level, deepest
    first, where the block size d_l may differ from level to level. Leading axes (…) broadcast;
    a matrix without them is factored once for all right-hand sides. Differentiable any number of
    times in all four tensors.

    Args:
        tree: which node hangs on which.
        A: diagonal blocks, (…, L, d, d) or A[l] (…, n_l, d_l, d_l).
        B: row v, column p(v): (…, L, d, d) or B[l] (…, n_l, d_l, d_{l+1}). Those of roots are
            ignored and may be left out.
        C: row p(v), column v: (…, L, d, d) or C[l] (…, n_l, d_{l+1}, d_l). Roots as for B.
        u: right-hand sides, (…, L, d, r) or u[l] (…, n_l, d_l, r).
        backend: one of `myosotis.linalg.backends.available()`; chosen by device and block size
            if None.
        check_finite: raise `DataError` if an input has NaN or Inf.

    Returns:
        x in the shape of u.

    Raises:
        ShapeError: shapes, dtypes or devices do not fit.
        SingularBlockError: a pivot has no inverse.

    Example:
        >>> import torch
        >>> from myosotis import Tree, tree_solve
        >>> tree = Tree.star(2)  # nodes 0 and 1 hang on node 2
        >>> A = 2 * torch.eye(1).expand(3, 1, 1)
        >>> B = C = -torch.eye(1).expand(3, 1, 1)
        >>> tree_solve(tree, A, B, C, torch.ones(3, 1, 1)).flatten()
        tensor([1.5000, 1.5000, 2.0000])
    """
    system = dense_system(tree, A, B, C, check_finite=check_finite)
    return solve_system(system, u, backend, check_finite=check_finite)


def tree_solve_diag(
    tree: Tree,
    a: Tensor,
    b: Tensor,
    c: Tensor,
    u: Tensor,
    *,
    mesh: "DeviceMesh | None" = None,
    backend: str | None = None,
    check_finite: bool = False,
) -> Tensor:
    """Solve one scalar tree system per channel, channels last.

    Row v of each is a_v x_v + b_v x_p(v) + Σ_c c_c x_c = u_v; all four tensors broadcast to
    (…, L, H), and coefficients are eliminated at their own broadcast shape, not at that of u.
    Differentiable any number of times in all four.

    Args:
        tree: which node hangs on which.
        a: diagonal.
        b: row v, column p(v); values at roots are ignored and their rows may be left out. A
            single zero, `torch.zeros(())`, makes a recurrence from the leaves to the root, for
            which one of the two sweeps is enough.
        c: row p(v), column v; roots as for b.
        u: right-hand side.
        mesh: if given, its ranks share the nodes. u and x then have the n nodes of this rank only,
            as `myosotis.distributed.local_nodes` lists them: (…, n, H). So may a, b and c, or
            they have all L, roots included. All else is the same on every rank. Gradients are
            those of the sum of the losses of all ranks; those of what every rank has in full, such
            as parameters, are shares, to be added up or averaged as
            `myosotis.distributed.average_gradients` explains.
        backend: one of `myosotis.linalg.backends.available()`; chosen by device if None.
        check_finite: raise `DataError` if an input has NaN or Inf.

    Returns:
        x, (…, L, H).

    Raises:
        ShapeError: shapes, dtypes or devices do not fit.
        SingularBlockError: a pivot is zero.
        TreeError: the tree cannot be divided among the ranks of the mesh.
        DistributedError: a rank of the mesh failed or did not answer.

    Example:
        >>> import torch
        >>> from myosotis import Tree, tree_solve_diag
        >>> tree = Tree.chain(4)  # b = 0 and c = -1/2: the recurrence x_k = x_{k-1}/2 + u_k
        >>> one, zero = torch.ones(4, 1), torch.zeros(())
        >>> tree_solve_diag(tree, one, zero, -one / 2, one).flatten()
        tensor([1.0000, 1.5000, 1.7500, 1.8750])
    """
    if mesh is not None:
        if check_finite:
            check_values({"a": a, "b": b, "c": c, "u": u})
        return solve_diag_on_mesh(tree, (a, b, c), u, mesh, backend=backend)
    kind = None if check_finite else kind_of_call("diag", tree, backend, (a, b, c, u))
    spec = recall(kind)
    if spec is not None:
        return solve_once(parent_tensor(tree), (a, b, c), u, spec, tree.num_edges)
    if check_finite:
        diagonal_system(tree, a, b, c, check_finite=True)
    system = whole_diagonal_system(tree, a, b, c)
    x = solve_system(system, u, backend, check_finite=check_finite)
    assert isinstance(x, Tensor)  # only systems given per level have lists for solutions
    as_given = all(map(operator.is_, system.blocks, (a, b, c)))
    if kind is not None and as_given and (u.shape, u.dtype) == (x.shape, a.dtype):
        remember(kind, Spec(True, False, backends.choose(backend, a, diagonal=True)))
    return x


def solve_diag_on_mesh(
    tree: Tree,
    blocks: tuple[Tensor, Tensor, Tensor],
    u: Tensor,
    mesh: "DeviceMesh",
    *,
    added: Tensor | None = None,
    backend: str | None = None,
) -> Tensor:
    """`tree_solve_diag` on a mesh, where ranks may know parts of sums.

    Args:
        tree: which node hangs on which.
        blocks: a, b and c.
        u: right-hand side, (…, n, H).
        mesh: whose ranks share the nodes.
        added: (…, top, H), what this rank adds to a at the nodes that every rank has; what all
            ranks add counts. Nothing if None.
        backend: as for `tree_solve_diag`.
    """
    from myosotis.distributed.solve import Solve, solve_on_mesh

    def factorize(forest: Tree, a: Tensor, b: Tensor, c: Tensor) -> Solve:
        factorization = Factorization(diagonal_system(forest, a, b, c), backend)

        def solve(right: Tensor) -> Tensor:
            x = factorization.solve(right)
            assert isinstance(x, Tensor)
            return x

        return solve

    check_tree(tree)
    a, b, c = check_tensors(dict(zip("abc", blocks, strict=True)))
    (right,) = check_tensors({"u": u}, like=a)
    return solve_on_mesh(tree, (a, b, c), right, mesh, factorize, added=added).to(u.dtype)
