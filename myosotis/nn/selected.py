"""Selective coefficients on the CPU: added to the tables and bounded in one pass through memory.

The plain operations of `myosotis.nn.parametrizations` are the reference, and where gradients of
gradients are wanted they are what this one is differentiated through.
"""

from typing import Any

import torch
from torch import Tensor, nn

from myosotis.linalg.kernels.threads import run_on_threads
from myosotis.linalg.ops import legacy_batched
from myosotis.nn.contraction import contract_pairs
from myosotis.nn.pieces import arrays, row_pieces, within_reach, zeros

__all__ = ["add_and_contract", "can_fuse"]

MOST_ROWS = 1024  # of the tables; each piece of the nodes has its own sums for all of them


def can_fuse(u: Tensor, num_rows: int) -> bool:
    """Whether `add_and_contract` applies to complex systems for u, and nothing looks inside."""
    return num_rows <= MOST_ROWS and u.dtype == torch.complex64 and within_reach(u)


def add_and_contract(
    selected: Tensor, coupling: Tensor, weight: Tensor, rows: Tensor
) -> tuple[Tensor, Tensor]:
    """Adds each node's row of the tables to what was selected, and contracts the couplings.

    Args:
        selected: (…, L, 3 heads), the pairs of the couplings, then the weights.
        coupling: (rows, 2 heads), pairs.
        weight: (rows, heads).
        rows: int64 (L,), the row of each node.

    Returns:
        Couplings of norm below one, complex (…, L, heads), and the sums of weights (…, L, heads).
    """
    pairs, weights = _AddAndContract.apply(  # type: ignore[no-untyped-call]
        selected.flatten(0, -2), coupling, weight, rows
    )
    shape = (*selected.shape[:-1], weight.shape[1])
    return torch.view_as_complex(pairs.view(*shape, 2)), weights.view(shape)


class _AddAndContract(torch.autograd.Function):
    """selected (nodes, 3 heads), tables (rows, 2 heads), (rows, heads) -> the same for nodes."""

    @staticmethod
    def forward(
        ctx: Any, selected: Tensor, coupling: Tensor, weight: Tensor, rows: Tensor
    ) -> tuple[Tensor, Tensor]:
        from myosotis.nn.kernels import select

        nodes = len(selected)
        a, w = (selected.new_empty(nodes, table.shape[1]) for table in (coupling, weight))
        run_on_threads(
            select.forward,
            row_pieces(nodes),
            *arrays(selected),
            arrays(coupling, weight),
            rows.numpy(),
            arrays(a, w),
        )
        ctx.save_for_backward(selected, coupling, weight, rows)
        return a, w

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        from myosotis.nn.kernels import select

        selected, coupling, weight, rows = ctx.saved_tensors
        tables = coupling, weight
        again = torch.is_grad_enabled()  # these gradients will be differentiated in turn
        if again or any(map(legacy_batched, gradients)):
            with torch.enable_grad():
                plain = _plain(selected, coupling, weight, rows)
            inputs = (selected, *tables)
            return *torch.autograd.grad(plain, inputs, gradients, create_graph=again), None
        pieces = row_pieces(len(selected))
        out, sums = torch.empty_like(selected), zeros(len(pieces), *tables)
        run_on_threads(
            select.backward,
            pieces,
            *arrays(selected),
            arrays(*tables),
            rows.numpy(),
            arrays(*gradients),
            *arrays(out),
            arrays(*sums),
        )
        return out, *(t.sum(0) for t in sums), None


def _plain(selected: Tensor, coupling: Tensor, weight: Tensor, rows: Tensor) -> tuple[Tensor, ...]:
    again = rows.repeat(len(selected) // len(rows))
    chosen, added = selected.split([coupling.shape[1], weight.shape[1]], dim=1)
    pairs = (chosen + nn.functional.embedding(again, coupling)).unflatten(1, (-1, 2))
    return contract_pairs(pairs).flatten(1), added + nn.functional.embedding(again, weight)
