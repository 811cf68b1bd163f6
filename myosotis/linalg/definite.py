"""The public entry to the positive-definite family."""

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from myosotis.errors import DataError, ShapeError
from myosotis.linalg import backends
from myosotis.linalg.autograd import Spec, transformed
from myosotis.linalg.checks import check_tensors, check_tree, check_values
from myosotis.linalg.factor import Factorization
from myosotis.linalg.factored import solve_factored
from myosotis.linalg.familiar import kind_of_call, recall, remember
from myosotis.linalg.ops import traced
from myosotis.linalg.plan import parent_tensor
from myosotis.linalg.system import System, broadcast, over_nodes, prepare_right_side
from myosotis.tree import Tree

__all__ = ["definite_blocks", "tree_solve_factored"]


def tree_solve_factored(
    tree: Tree,
    a: Tensor,
    d: Tensor,
    u: Tensor,
    *,
    rows: Tensor | None = None,
    backend: str | None = None,
    check_finite: bool = False,
) -> Tensor:
    """Solve T x = u for the Hermitian T = (I − U) D (I − U^H), with no pivot that could vanish.

    U has a_v in row p(v), column v, and D = diag(d). Every Hermitian positive definite tree
    matrix is of this form with d > 0. Channels last, as in `tree_solve_diag`; differentiable any
    number of times in a, d and u.

    Args:
        tree: which node hangs on which.
        a: broadcasts to (…, L, H); values at roots are ignored.
        d: real, not zero; broadcasts to (…, L, H). T is positive definite where d > 0.
        u: right-hand side, broadcasts to (…, L, H).
        rows: int64 (L,). If given, a and d are tables (…, R, H) and node v uses row rows[v]:
            coefficients shared by many nodes are read in place, never expanded.
        backend: one of `myosotis.linalg.backends.available()`; chosen by device if None.
        check_finite: raise `DataError` if an input has NaN or Inf.

    Returns:
        x, (…, L, H).

    Raises:
        ShapeError: shapes, dtypes or devices do not fit, or rows is out of range.
        SingularBlockError: an entry of d is zero.

    Example:
        >>> import torch
        >>> from myosotis import Tree, tree_solve_factored
        >>> tree = Tree.chain(3)
        >>> a, d = torch.tensor([[0.5]]), torch.tensor([[1.0]])
        >>> tree_solve_factored(tree, a, d, torch.ones(3, 1)).flatten()
        tensor([2.1875, 2.3750, 1.7500])
    """
    tensors = (a, d, u, rows)
    kind = None if check_finite else kind_of_call("factored", tree, backend, tensors)
    if rows is not None and recall(kind) is not None and _known_rows(rows, a.shape[-2]):
        if a.ndim == 2 and not transformed(a, d, u):
            return solve_factored(parent_tensor(tree), rows, a, d, u)  # no axes are mixed up
        return _solve_on_cpu(tree, rows, a, d, u)
    check_tree(tree)
    a, d, table_rows = _tables(tree, a, d, rows)
    if check_finite:
        check_values({"a": a, "d": d})
    shapes = System(tree, (a, a, a), diagonal=True)
    right, dtype = prepare_right_side(shapes, u, check_finite=check_finite)
    chosen = backends.choose(backend, a, diagonal=True)
    if chosen == "cpu":
        if kind is not None and _as_given(tensors, (a, d, right, table_rows)):
            remember(kind, Spec(diagonal=True, adjoint=False, backend=chosen))
        return _solve_on_cpu(tree, table_rows, a, d, right).to(dtype)
    a, d = (t.index_select(-2, table_rows.to(t.device)) for t in (a, d))
    system = System(tree, definite_blocks(tree, a, d), diagonal=True)
    return Factorization(system, chosen).solve_uniform(right, adjoint=False).to(dtype)


def _solve_on_cpu(tree: Tree, rows: Tensor, a: Tensor, d: Tensor, u: Tensor) -> Tensor:
    """The same for tensors that fit: a, d (*batch, R, H), u (*full, L, H)."""
    extra = (1,) * (u.ndim - a.ndim)
    a, d = (t.reshape(extra + t.shape) for t in (a, d)) if extra else (a, d)
    return solve_factored(parent_tensor(tree), rows, a, d, u)


def _as_given(given: Iterable[Tensor | None], prepared: Iterable[Tensor]) -> bool:
    """Whether tensors were neither converted nor expanded nor moved."""
    before, after = (
        [(t.shape, t.dtype, t.device) for t in tensors if t is not None]
        for tensors in (given, prepared)
    )
    return before == after


def definite_blocks(tree: Tree, a: Tensor, d: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The diagonals of T = (I − U) D (I − U^H), for `TreeMatrix.diag` or `tree_solve_diag`.

    A_v = d_v + Σ_c |a_c|² d_c, C_v = −a_v d_v and B = C^H; a, d (…, L, H), B and C without roots.

    Example:
        >>> import torch
        >>> from myosotis import Tree
        >>> from myosotis.linalg import definite_blocks
        >>> one = torch.ones(2, 1)
        >>> [block.flatten().tolist() for block in definite_blocks(Tree.chain(2), one / 2, one)]
        [[1.0, 1.25], [-0.5], [-0.5]]
    """
    parent = parent_tensor(tree)[: tree.num_edges].to(d.device)
    a_v, d_v = (t.narrow(-2, 0, tree.num_edges) for t in (a, d))
    sent = (a_v * a_v.conj()).real * d_v if a.is_complex() else a_v * a_v * d_v
    A = d.expand(torch.broadcast_shapes(a.shape, d.shape)).index_add(-2, parent, sent)
    C = -a_v * d_v
    return A.to(C.dtype), C.conj(), C


def _real_part(d: Tensor) -> Tensor:
    if not traced(d) and (d.imag != 0).any():
        raise DataError("d has entries with an imaginary part; T is Hermitian only for real d")
    return d.real


def _tables(tree: Tree, a: Tensor, d: Tensor, rows: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Checked a, d (*batch, R, h) of one batch shape, d real, and the row of each node."""
    (a,), (d,) = check_tensors({"a": a}), check_tensors({"d": d})
    (d,) = check_tensors({"d": _real_part(d) if d.is_complex() else d}, like=a.real)
    if rows is None:
        size = 1 if all(t.ndim < 2 or t.shape[-2] == 1 for t in (a, d)) else tree.num_nodes
        a, d = (over_nodes(name, t, tree)[..., :size, :] for name, t in (("a", a), ("d", d)))
        rows = torch.arange(tree.num_nodes) if size > 1 else torch.zeros(tree.num_nodes).long()
    else:
        rows = _checked_rows(tree, rows, a, d)
    try:
        shapes = [(*t.shape[:-2], 1, t.shape[-1]) for t in (a, d)]
        *batch, _, channels = broadcast(*map(torch.Size, shapes))
    except RuntimeError:
        raise ShapeError(
            f"a of shape {tuple(a.shape)} and d of shape {tuple(d.shape)} do not broadcast"
        ) from None
    a, d = (t.expand(*batch, t.shape[-2], channels) for t in (a, d))
    return a, d, rows


def _checked_rows(tree: Tree, rows: Tensor, a: Tensor, d: Tensor) -> Tensor:
    if a.ndim < 2 or d.ndim < 2 or a.shape[-2] != d.shape[-2]:
        raise ShapeError(
            f"with rows, a and d are tables (…, R, H) with the same R; they have shapes "
            f"{tuple(a.shape)} and {tuple(d.shape)}"
        )
    if rows.shape != (tree.num_nodes,) or rows.dtype != torch.int64:
        raise ShapeError(
            f"rows has shape {tuple(rows.shape)} and dtype {rows.dtype}; expected int64 "
            f"({tree.num_nodes},): a row of the table for each node"
        )
    if not traced(rows) and not _known_rows(rows, a.shape[-2]):
        least, most = rows.aminmax() if len(rows) else (rows.new_zeros(()),) * 2
        if least < 0 or most >= a.shape[-2]:
            node = int(((rows < 0) | (rows >= a.shape[-2])).nonzero()[0])
            raise ShapeError(
                f"rows[{node}] is {int(rows[node])}, but the tables have {a.shape[-2]} rows"
            )
        if not rows.is_inference():
            _checked[rows] = rows._version, a.shape[-2]
    return rows.cpu().contiguous()


# Which state of the rows was looked at, and how many rows the tables had.
_checked: WeakTensorKeyDictionary = WeakTensorKeyDictionary()


def _known_rows(rows: Tensor, size: int) -> bool:
    """Whether these rows, which need no copy, are as they were when looked at."""
    plain = rows.is_contiguous() and not rows.is_inference()
    return plain and _checked.get(rows) == (rows._version, size)
