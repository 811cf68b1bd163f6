"""The classical recurrent network."""

import torch
from torch import Tensor, nn

from myosotis.nn.mixers.base import SequenceMixer
from myosotis.nn.mixers.registry import register
from myosotis.nn.mixers.settings import checked_count, checked_flag

__all__ = ["LSTM"]


@register("lstm")
class LSTM(SequenceMixer):
    """A long short-term memory over the real tokens of each sequence, then a linear map.

    Masked tokens, wherever they are, are skipped as if the sequence did not have them. That is
    done by moving them behind the real ones, where a recurrence never looks: no packing, no
    shapes that depend on data. `torch.compile` leaves `nn.LSTM` out of its graphs unless
    `torch._dynamo.config.allow_rnn` is set.

    Args:
        dim: number of features.
        heads: number of units; dim if None.
        bidirectional: add a second network that reads from the end.
        device: of the parameters.
        dtype: of the parameters.

    Example:
        >>> LSTM(6, bidirectional=True)(torch.ones(2, 20, 6)).shape
        torch.Size([2, 20, 6])
    """

    def __init__(
        self,
        dim: int,
        heads: int | None = None,
        *,
        bidirectional: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(dim)
        self.heads = dim if heads is None else checked_count("heads", heads)
        self.bidirectional = checked_flag("bidirectional", bidirectional)
        self.directions = nn.ModuleList(
            nn.LSTM(dim, self.heads, batch_first=True, device=device, dtype=dtype)
            for _ in range(2 if bidirectional else 1)
        )
        width = self.heads * len(self.directions)
        self.output = nn.Linear(width, dim, device=device, dtype=dtype)

    def mix(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Run each direction over x (batch, n, dim) and map the states to features."""
        positions = torch.arange(x.shape[1], device=x.device).expand(x.shape[:2])
        states = []
        orders = (positions, positions.flip(1))
        for lstm, order in zip(self.directions, orders, strict=False):
            if mask is not None:
                masked = ~mask.gather(1, order)
                order = order.gather(1, masked.int().argsort(dim=1, stable=True))
            # Not every processor has a recurrence in bfloat16, which autocast would call.
            with torch.autocast("cpu", enabled=False):
                state, _ = lstm(_take(x, order).to(self.output.weight.dtype))
            states.append(_take(state, order.argsort(dim=1)))
        mixed: Tensor = self.output(torch.cat(states, dim=-1))
        return mixed


def _take(x: Tensor, order: Tensor) -> Tensor:
    """The tokens of x (batch, n, dim) in the order (batch, n)."""
    return x.gather(1, order.unsqueeze(-1).expand(-1, -1, x.shape[2]))
