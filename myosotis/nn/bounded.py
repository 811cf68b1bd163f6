"""Tables of couplings and weights on the CPU: bounded in one operation, and their gradients in one.

Tables are small, and the dozen plain operations of `myosotis.nn.parametrizations`, each with one or
two more for its gradient, take far longer to call than to compute. Those are the reference, and
where gradients of gradients are wanted they are what this one is differentiated through.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from myosotis.linalg.kernels.threads import run_on_threads, spans
from myosotis.linalg.ops import legacy_batched
from myosotis.nn.contraction import contract_pairs
from myosotis.nn.pieces import arrays

__all__ = ["WEIGHT_RANGE", "bounded", "positive"]

WEIGHT_RANGE = 5.0  # the weights d lie between e^-5 and e^5


def positive(weight: Tensor) -> Tensor:
    """Weights d > 0 from numbers without bounds.

    Example:
        >>> positive(torch.tensor([0.0, 1e9])).log()
        tensor([0., 5.])
    """
    return (WEIGHT_RANGE * torch.tanh(weight / WEIGHT_RANGE)).exp()


def bounded(coupling: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Couplings of norm below one, and weights above zero, in one pass.

    Args:
        coupling: numbers whose parts are the last axis, (n, 2 or 1).
        weight: (n).

    Returns:
        a in the shape of `coupling`, and d in that of `weight`.

    Example:
        >>> a, d = bounded(torch.tensor([[0.0, 3.0]]) ** 0.5, torch.zeros(1))
        >>> a, d
        (tensor([[0.0000, 0.8660]]), tensor([1.]))
    """
    return _Bounded.apply(coupling, weight)  # type: ignore[no-untyped-call, no-any-return]


class _Bounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, coupling: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        from myosotis.nn.kernels import bound

        a, d = torch.empty_like(coupling), torch.empty_like(weight)
        pieces = spans(len(weight), weight.numel())
        limit = np.float64(WEIGHT_RANGE)
        run_on_threads(bound.forward, pieces, _copies(coupling, weight), limit, arrays(a, d))
        ctx.save_for_backward(coupling, weight)
        return a, d

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        from myosotis.nn.kernels import bound

        inputs = coupling, weight = ctx.saved_tensors
        again = torch.is_grad_enabled()  # these gradients will be differentiated in turn
        if again or any(map(legacy_batched, gradients)):
            with torch.enable_grad():
                plain = contract_pairs(coupling), positive(weight)
            found = torch.autograd.grad(plain, inputs, gradients, create_graph=again)
            return found[0], found[1]
        out = torch.empty_like(coupling), torch.empty_like(weight)
        run_on_threads(
            bound.backward,
            spans(len(weight), weight.numel()),
            _copies(coupling, weight),
            np.float64(WEIGHT_RANGE),
            arrays(*gradients),
            arrays(*out),
        )
        return out


def _copies(*tables: Tensor) -> tuple[NDArray[np.float32], ...]:
    """As arrays; memory that NumPy has seen itself could not be freed and shared out by FSDP."""
    return arrays(*(t.clone() for t in tables))
