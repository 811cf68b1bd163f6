"""Tensors as the kernels of the blocks take them: cut into pieces of rows, as arrays."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd import forward_ad

from myosotis.linalg.kernels.threads import Pieces
from myosotis.linalg.ops import traced

__all__ = ["arrays", "row_pieces", "within_reach", "zeros"]

_PIECES, _LEAST = 32, 512  # pieces that the rows are cut into, and rows of the smallest


def within_reach(x: Tensor) -> bool:
    """Whether kernels can read x: it is on the CPU, and no transform of torch looks inside."""
    return (
        x.device.type == "cpu"
        and not traced(x)
        and not torch._C._are_functorch_transforms_active()
        and forward_ad._current_level < 0
    )


def row_pieces(rows: int) -> Pieces:
    """The same whatever the number of threads, and with them the order of every sum."""
    step = max(_LEAST, -(-rows // _PIECES))
    first = np.arange(0, rows, step, dtype=np.uint64)
    return np.stack([first, np.minimum(first + np.uint64(step), np.uint64(rows))], axis=1)


def zeros(pieces: int, *like: Tensor) -> list[Tensor]:
    """What each piece adds to sums of these shapes, to begin with."""
    return [t.new_zeros(pieces, *t.shape) for t in like]


def arrays(*tensors: Tensor) -> tuple[NDArray[np.float32], ...]:
    """The numbers of float32 tensors, shared where they are contiguous."""
    return tuple(t.detach().contiguous().numpy() for t in tensors)
