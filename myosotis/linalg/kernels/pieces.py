"""How the solution of diagonal systems is dealt out to threads."""

from math import prod

import numpy as np
from torch import Tensor

from myosotis.linalg.kernels.threads import Pieces, spans

__all__ = ["GROUP", "systems_or_channels"]

GROUP = 2  # systems that go through the tree together; more do not stay in the second cache
_CHANNELS = 32  # channels are split between threads at multiples of this


def systems_or_channels(t: Tensor, least: int = GROUP) -> Pieces:
    """Pieces (low channel, high channel, first system, last system) of t (*batch, L, h).

    Whole systems are dealt out if there are several, blocks of channels otherwise. There are more
    pieces than threads only if none has fewer than `least` systems.
    """
    systems, channels = prod(t.shape[:-2]), t.shape[-1]
    by_system = systems > 1
    if by_system:
        cuts = spans(systems, t.numel(), least=least)
    else:
        cuts = spans(channels, t.numel(), multiple=_CHANNELS, least=channels)
    pieces = np.empty((len(cuts), 4), dtype=np.uint64)
    pieces[:, 2 if by_system else 0 :][:, :2] = cuts
    pieces[:, 0 if by_system else 2 :][:, :2] = (0, channels if by_system else systems)
    return pieces
