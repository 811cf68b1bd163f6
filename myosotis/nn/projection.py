"""Linear maps between the features of many nodes and the channels of a solve.

The matrices are small and their rows many. For that the products of the fused blocks, which keep
the matrix in the cache of each core, are up to twice as fast as those of a general library.
"""

from typing import Any

import torch
from torch import Tensor, nn

from myosotis.linalg.kernels.threads import run_on_threads
from myosotis.linalg.ops import legacy_batched
from myosotis.nn.kernels import LANES
from myosotis.nn.pieces import arrays, row_pieces, within_reach, zeros

__all__ = ["Projection"]

_LARGEST = 256  # features: a matrix of so many squared still stays in the second cache
_LEAST = 1 << 17  # numbers in the input below which a call costs more than it brings


class Projection(nn.Linear):
    """x Wᵀ: as `nn.Linear` without a bias, with the same parameter.

    Args:
        in_features: size of the last axis of its input.
        out_features: size of the last axis of its output.
        device: of the parameter.
        dtype: of the parameter.

    Example:
        >>> Projection(16, 32)(torch.ones(4, 100, 16)).shape
        torch.Size([4, 100, 32])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(in_features, out_features, bias=False, device=device, dtype=dtype)

    def forward(self, x: Tensor) -> Tensor:
        """(…, in_features) -> (…, out_features)."""
        if not _suits(x, self.weight):
            return super().forward(x)
        out: Tensor = _Project.apply(x.flatten(0, -2), self.weight)  # type: ignore[no-untyped-call]
        return out.view(*x.shape[:-1], -1)


def _suits(x: Tensor, weight: Tensor) -> bool:
    return (
        x.dtype == weight.dtype == torch.float32
        and within_reach(x)
        and within_reach(weight)
        and not torch.is_autocast_enabled("cpu")
        and x.ndim > 1
        and x.numel() >= _LEAST
        and max(weight.shape) <= _LARGEST
        and not any(size % LANES for size in weight.shape)
    )


class _Project(torch.autograd.Function):
    """x (rows, in), W (out, in) -> (rows, out)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        from myosotis.nn.kernels import linear

        x = x.contiguous()
        out = x.new_empty(len(x), len(weight))
        run_on_threads(linear.forward, row_pieces(len(x)), *arrays(x, weight.t(), out))
        ctx.save_for_backward(x, weight)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor]:
        from myosotis.nn.kernels import linear

        x, weight = ctx.saved_tensors
        if torch.is_grad_enabled() or legacy_batched(g):  # these gradients will be differentiated
            return g @ weight, g.t() @ x
        g, pieces = g.contiguous(), row_pieces(len(x))
        x_gradient, (weight_sums,) = torch.empty_like(x), zeros(len(pieces), weight)
        run_on_threads(
            linear.backward,
            pieces,
            arrays(x, g),
            *arrays(weight, x_gradient, weight_sums),
        )
        return x_gradient, weight_sums.sum(0)
