"""The positive-definite family T = (I − U) D (I − U^H), solved without a pivot.

U has a_v in row p(v), column v, and D = diag(d) is real. Two sweeps solve T x = u,

    up    y_p = u_p + Σ_c a_c y_c          down    x_v = y_v / d_v + ā_v x_p,

and T is its own adjoint, so λ = T⁻¹ g. With ξ = (I − U^H) x and η = (I − U^H) λ,

    ∂u = λ      ∂d_v = −Re η_v ξ̄_v      ∂a_v = d_v (η̄_v x_p + λ_p ξ̄_v)
    ẋ = T⁻¹ (u̇ − Ṫ x)   with   Ṫ x = −U̇ D ξ + (I − U) (Ḋ ξ − D U̇^H x).

The coefficients of node v are row rows[v] of the tables a and d (*batch, R, h).
"""

from typing import Any

import torch
from torch import Tensor

from myosotis.linalg.autograd import full_precision, known_signature, plain_values
from myosotis.linalg.ops import batched_together, lazy_conjugation, legacy_batched, traced
from myosotis.linalg.plan import plan_for

__all__ = ["solve_factored"]


def solve_factored(parent: Tensor, rows: Tensor, a: Tensor, d: Tensor, u: Tensor) -> Tensor:
    """Solve on CPU tensors. a, d (*batch, R, h or 1), d real; u (*full, L, h)."""
    with full_precision(u.device):
        x: Tensor
        if traced(u) or legacy_batched(u):
            x = _solve_op(parent, rows, a, d, u)
        elif plain_values(a, d, u):
            x = _solve_values(parent, rows, a, d, u)
        else:
            x = _SolveFactored.apply(parent, rows, a, d, u)
        return x


@known_signature
class _SolveFactored(torch.autograd.Function):
    @staticmethod
    def forward(parent: Tensor, rows: Tensor, a: Tensor, d: Tensor, u: Tensor) -> Tensor:
        return _solve_values(parent, rows, a, d, u)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        parent, rows, a, d, _ = inputs
        ctx.save_for_backward(parent, rows, a, d, output)
        ctx.save_for_forward(parent, rows, a, d, output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        parent, rows, a, d, x = ctx.saved_tensors
        needs_coefficients = any(ctx.needs_input_grad[2:4])
        if needs_coefficients and not traced(grad) and plain_values(a, d, grad, x):
            with full_precision(x.device):
                return None, None, *_adjoint_values(parent, rows, a, d, grad, x)
        lam = solve_factored(parent, rows, a, d, grad)
        if not needs_coefficients:
            return None, None, None, None, lam
        with full_precision(x.device):
            return None, None, *_gradients(parent, rows, a, d, lam, x), lam

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        parent, rows, a, d, x = ctx.saved_tensors
        _, _, a_dot, d_dot, right = tangents
        nodes = _Nodes(parent, rows)
        a_v, d_v = nodes.read(a), nodes.read(d)
        xi = x - nodes.down(a_v, x)
        inner = torch.zeros_like(x)  # Ḋ ξ − D U̇^H x
        right = inner if right is None else right
        if a_dot is not None:
            a_dot = nodes.read(a_dot)
            right = right + nodes.up(a_dot, d_v * xi)
            inner = inner - d_v * nodes.down(a_dot, x)
        if d_dot is not None:
            inner = inner + nodes.read(d_dot) * xi
        return solve_factored(parent, rows, a, d, right - inner + nodes.up(a_v, inner))

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *tensors: Tensor) -> Any:
        parent, rows, a, d, u = tensors
        a, d = batched_together(info.batch_size, in_dims[2:4], [a, d])
        (u,) = batched_together(info.batch_size, in_dims[4:5], [u], expand=True)
        return _SolveFactored.apply(parent, rows, a, d, u), 0


class _Nodes:
    """The products with U and U^H, and tables read at the nodes, in plain torch operations."""

    def __init__(self, parent: Tensor, rows: Tensor) -> None:
        self.rows = rows
        self.edges = (parent >= 0).nonzero().squeeze(-1)
        self.parent = parent[self.edges]

    def read(self, table: Tensor) -> Tensor:
        """(*batch, R, h) -> (*batch, L, h)."""
        return table.index_select(-2, self.rows)

    def collect(self, values: Tensor, like: Tensor) -> Tensor:
        """The adjoint of `read`, summed to the shape of the table."""
        shape = (*like.shape[:-2], values.shape[-2], like.shape[-1])
        table = torch.zeros_like(like, dtype=values.dtype)
        return table.index_add(-2, self.rows[: values.shape[-2]], values.sum_to_size(shape))

    def above(self, x: Tensor) -> Tensor:
        """x_p for every node that has a parent."""
        return x.index_select(-2, self.parent)

    def down(self, a_v: Tensor, x: Tensor) -> Tensor:
        """U^H x: ā_v x_p, and zero at roots."""
        sent = a_v.index_select(-2, self.edges).conj() * self.above(x)
        return torch.zeros_like(x).index_add(-2, self.edges, sent)

    def up(self, a_v: Tensor, y: Tensor) -> Tensor:
        """U y: Σ_c a_c y_c."""
        sent = (a_v * y).index_select(-2, self.edges)
        return torch.zeros_like(y).index_add(-2, self.parent, sent)


def _gradients(
    parent: Tensor, rows: Tensor, a: Tensor, d: Tensor, lam: Tensor, x: Tensor
) -> tuple[Tensor, Tensor]:
    """∂a and ∂d from λ and x."""
    if traced(x):
        return _gradients_op(parent, rows, a, d, lam, x)  # type: ignore[no-any-return]
    if plain_values(a, d, lam, x):
        return _gradient_values(parent, rows, a, d, lam, x)
    nodes = _Nodes(parent, rows)
    a_v, d_v = nodes.read(a), nodes.read(d)
    xi, eta = x - nodes.down(a_v, x), lam - nodes.down(a_v, lam)
    xi_v, eta_v, d_e = (t.index_select(-2, nodes.edges) for t in (xi, eta, d_v))
    a_edges = d_e * (eta_v.conj() * nodes.above(x) + nodes.above(lam) * xi_v.conj())
    return nodes.collect(a_edges, a), nodes.collect(-(eta * xi.conj()).real, d)


def _solve_values(parent: Tensor, rows: Tensor, a: Tensor, d: Tensor, u: Tensor) -> Tensor:
    from myosotis.linalg.kernels import factored

    with lazy_conjugation():
        return factored.solve(plan_for(parent).tree, rows, a, d, u)


def _gradient_values(
    parent: Tensor, rows: Tensor, a: Tensor, d: Tensor, lam: Tensor, x: Tensor
) -> tuple[Tensor, Tensor]:
    from myosotis.linalg.kernels import factored

    with lazy_conjugation():
        a_gradient, d_gradient = factored.gradients(plan_for(parent).tree, rows, a, d, lam, x)
        # Contiguous, because graphs are built on the strides that the fake below promises.
        return a_gradient.contiguous(), d_gradient.contiguous()


def _adjoint_values(
    parent: Tensor, rows: Tensor, a: Tensor, d: Tensor, grad: Tensor, x: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    from myosotis.linalg.kernels import factored

    with lazy_conjugation():
        return factored.adjoint(plan_for(parent).tree, rows, a, d, grad, x)


_solve_op = torch.library.custom_op(
    "myosotis::solve_factored",
    _solve_values,
    mutates_args=(),
)
_gradients_op = torch.library.custom_op(
    "myosotis::factored_gradients", _gradient_values, mutates_args=()
)


@_solve_op.register_fake
def _(parent: Tensor, rows: Tensor, a: Tensor, d: Tensor, u: Tensor) -> Tensor:
    return u.new_empty(u.shape)


@_gradients_op.register_fake
def _(
    parent: Tensor, rows: Tensor, a: Tensor, d: Tensor, lam: Tensor, x: Tensor
) -> tuple[Tensor, Tensor]:
    return a.new_empty(a.shape), d.new_empty(d.shape)


_solve_op.register_autograd(_SolveFactored.backward, setup_context=_SolveFactored.setup_context)
_solve_op.register_vmap(
    lambda info, in_dims, *tensors: (
        _solve_op(
            *tensors[:2],
            *batched_together(info.batch_size, in_dims[2:4], tensors[2:4]),
            *batched_together(info.batch_size, in_dims[4:5], tensors[4:5], expand=True),
        ),
        0,
    )
)
