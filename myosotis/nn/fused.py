"""A block as three operations on the CPU: norm and projection, the solution, projection and gate.

Each of them goes through memory once. Between the steps of the plain block, in contrast, every
intermediate result is written out and read again, which takes longer than computing it. The plain
block, `myosotis.nn.block`, is the reference, and where gradients of gradients are wanted it is what
these operations are differentiated through.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from myosotis.linalg.kernels.threads import run_on_threads
from myosotis.linalg.ops import legacy_batched
from myosotis.nn.pieces import arrays, row_pieces, zeros

__all__ = ["Dropout", "enter", "leave"]


class Dropout(NamedTuple):
    """Which numbers are dropped: those whose hash with the seed is below the rate."""

    seed: int
    rate: float

    @classmethod
    def draw(cls, rate: float) -> "Dropout":
        """With a seed from torch's generator, if there is anything to drop."""
        return cls(int(torch.randint(1 << 32, ())) if rate else 0, rate)

    def factors(self, shape: torch.Size) -> Tensor:
        """0 for what is dropped and 1 / (1 − rate) for what is kept."""
        from myosotis.nn.kernels.pointwise import keep_each

        out = torch.empty(shape)
        keep_each(out.numpy().reshape(-1), *self.arguments())
        return out

    def arguments(self) -> tuple[np.uint32, np.uint32, np.float32]:
        """(seed, threshold, factor of what is kept)."""
        threshold = min(int(self.rate * 2**32), 2**32 - 1)
        return np.uint32(self.seed), np.uint32(threshold), np.float32(1 / (1 - self.rate))


def enter(
    x: Tensor, norm: nn.LayerNorm | nn.BatchNorm1d, weight: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """(x, n = norm(x), n Wᵀ) for x (…, dim); hand the first on to `leave` in place of x."""
    flat = x.flatten(0, -2)
    if isinstance(norm, nn.LayerNorm):
        moments = flat.new_empty(len(flat)), flat.new_empty(len(flat))  # of each row, to be filled
    elif norm.training:
        moments = _batch_moments(norm, flat.detach())
    else:
        mean, variance = _running(norm)
        moments = mean, (variance + norm.eps).rsqrt()
    passed, n, u = _Enter.apply(  # type: ignore[no-untyped-call]
        flat, norm.weight, norm.bias, weight, *moments, norm.eps, isinstance(norm, nn.LayerNorm)
    )
    return passed.view(x.shape), n.view(x.shape), u.view(*x.shape[:-1], -1)


def leave(
    x: Tensor,
    n: Tensor,
    s: Tensor,
    skip: Tensor,
    project: Tensor,
    gate: nn.Linear,
    dropout: Dropout,
) -> Tensor:
    """x + drop(y σ(gate(y))) with y = silu(s Wᵀ + skip n)."""
    flat = (t.flatten(0, -2) for t in (x, n, s))
    out: Tensor = _Leave.apply(  # type: ignore[no-untyped-call]
        *flat, skip, project, gate.weight, gate.bias, dropout
    )
    return out.view(x.shape)


class _Enter(torch.autograd.Function):
    """x, γ, β (dim), W (width, dim), moments (rows or dim) -> x, n, u."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        gamma: Tensor,
        beta: Tensor,
        weight: Tensor,
        mean: Tensor,
        scale: Tensor,
        epsilon: float,
        by_row: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:
        from myosotis.nn.kernels import enter

        x = x.contiguous()
        n, u = torch.empty_like(x), x.new_empty(len(x), len(weight))
        run_on_threads(
            enter.forward,
            row_pieces(len(x)),
            *arrays(x),
            (*arrays(mean, scale), np.float32(epsilon)),
            arrays(gamma, beta),
            *arrays(weight.t()),
            by_row,
            arrays(n, u),
        )
        ctx.save_for_backward(x, gamma, beta, weight, mean, scale)
        ctx.epsilon, ctx.by_row = epsilon, by_row
        return x.view_as(x), n, u

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        from myosotis.nn.kernels import enter

        x, gamma, beta, weight, mean, scale = ctx.saved_tensors
        again = torch.is_grad_enabled()  # these gradients will be differentiated in turn
        if again or any(map(legacy_batched, gradients)):
            with torch.enable_grad():
                plain = _plain_enter(x, gamma, beta, weight, ctx.epsilon, ctx.by_row)
            inputs = (x, gamma, beta, weight)
            return *torch.autograd.grad(plain, inputs, gradients, create_graph=again), *[None] * 4
        pieces = row_pieces(len(x))
        h = torch.empty_like(x)
        sums = zeros(len(pieces), weight, gamma, beta)
        run_on_threads(
            enter.backward,
            pieces,
            arrays(x, *gradients),
            (*arrays(mean, scale), np.float32(ctx.epsilon)),
            arrays(gamma, beta),
            *arrays(weight),
            ctx.by_row,
            *arrays(h),
            arrays(*sums),
        )
        weight_sum, gamma_sum, beta_sum = (t.sum(0) for t in sums)
        if not ctx.by_row:
            h = _through_batch_norm(gradients[0], h, x, gamma, mean, scale, gamma_sum, beta_sum)
        return h, gamma_sum, beta_sum, weight_sum, None, None, None, None


class _Leave(torch.autograd.Function):
    """x, n (rows, dim), s (rows, width), skip (dim), Wₒ (dim, width), W_g, bias -> out."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        n: Tensor,
        s: Tensor,
        skip: Tensor,
        project: Tensor,
        gate: Tensor,
        bias: Tensor,
        dropout: Dropout,
    ) -> Tensor:
        from myosotis.nn.kernels import leave

        x, n, s = (t.contiguous() for t in (x, n, s))
        z, out = torch.empty_like(x), torch.empty_like(x)
        run_on_threads(
            leave.forward,
            row_pieces(len(x)),
            arrays(x, n, s),
            arrays(project.t(), gate.t()),
            arrays(skip, bias),
            dropout.arguments(),
            arrays(z, out),
        )
        ctx.save_for_backward(n, s, skip, project, gate, bias, z)
        ctx.dropout = dropout
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        from myosotis.nn.kernels import leave

        *inputs, z = ctx.saved_tensors
        again = torch.is_grad_enabled()  # these gradients will be differentiated in turn
        if again or legacy_batched(g):
            with torch.enable_grad():
                plain = _plain_leave(inputs, ctx.dropout)
            return g, *torch.autograd.grad(plain, inputs, g, create_graph=again), None
        n, s, skip, project, gate, bias = inputs
        pieces = row_pieces(len(n))
        s_gradient, n_gradient = torch.empty_like(s), torch.empty_like(n)
        sums = zeros(len(pieces), project, gate, skip, bias)
        run_on_threads(
            leave.backward,
            pieces,
            arrays(g, n, s, z),
            arrays(gate.t(), gate, project),
            arrays(skip, bias),
            ctx.dropout.arguments(),
            arrays(s_gradient, n_gradient),
            arrays(*sums),
        )
        project_sum, gate_sum, skip_sum, bias_sum = (t.sum(0) for t in sums)
        return g, n_gradient, s_gradient, skip_sum, project_sum, gate_sum, bias_sum, None


def _plain_enter(
    x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, epsilon: float, by_row: bool
) -> tuple[Tensor, Tensor, Tensor]:
    if by_row:
        n = nn.functional.layer_norm(x, gamma.shape, gamma, beta, epsilon)
    else:
        n = nn.functional.batch_norm(x, None, None, gamma, beta, training=True, eps=epsilon)
    return x.view_as(x), n, nn.functional.linear(n, weight)


def _plain_leave(inputs: list[Tensor], dropout: Dropout) -> Tensor:
    """What is added to x, for inputs n, s, skip, Wₒ, W_g, bias."""
    n, s, skip, project, gate, bias = inputs
    y = nn.functional.silu(nn.functional.linear(s, project) + skip * n)
    return dropout.factors(n.shape) * y * torch.sigmoid(nn.functional.linear(y, gate, bias))


def _through_batch_norm(
    g: Tensor,
    h: Tensor,
    x: Tensor,
    gamma: Tensor,
    mean: Tensor,
    scale: Tensor,
    gamma_gradient: Tensor,
    beta_gradient: Tensor,
) -> Tensor:
    """∂x of batch norm: g + scale·γ·(h − ⟨h⟩ − x̂ ⟨h x̂⟩)."""
    from myosotis.nn.kernels import enter

    p = scale * gamma
    q = -p * scale * gamma_gradient / len(x)
    r = -p * beta_gradient / len(x) - q * mean
    out = torch.empty_like(x)
    run_on_threads(
        enter.combine, row_pieces(len(x)), arrays(g, h, x), arrays(p, q, r), *arrays(out)
    )
    return out


def _batch_moments(norm: nn.BatchNorm1d, x: Tensor) -> tuple[Tensor, Tensor]:
    """(mean, 1/√(variance + ε)) of the columns of x (rows, dim), noted in the running averages."""
    from myosotis.nn.kernels import moments

    pieces = row_pieces(len(x))
    mean, squares = zeros(len(pieces), x[0], x[0])
    run_on_threads(moments.column_moments, pieces, *arrays(x, mean, squares))
    count = torch.from_numpy(np.diff(pieces.astype(np.int64), axis=1))
    total = (count * mean.double()).sum(0) / len(x)
    spread = squares.double() + count * (mean - total) ** 2
    variance = spread.sum(0) / len(x)
    running_mean, running_variance = _running(norm)
    assert norm.momentum is not None
    assert norm.num_batches_tracked is not None
    norm.num_batches_tracked.add_(1)
    running_mean.lerp_(total.to(x.dtype), norm.momentum)
    unbiased = variance * len(x) / max(len(x) - 1, 1)
    running_variance.lerp_(unbiased.to(x.dtype), norm.momentum)
    return total.to(x.dtype), (variance + norm.eps).rsqrt().to(x.dtype)


def _running(norm: nn.BatchNorm1d) -> tuple[Tensor, Tensor]:
    mean, variance = norm.running_mean, norm.running_var
    assert isinstance(mean, Tensor)
    assert isinstance(variance, Tensor)
    return mean, variance
