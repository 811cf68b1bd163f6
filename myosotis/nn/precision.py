"""Digits for long sums."""

import torch
from torch import Tensor

__all__ = ["full_precision"]


def full_precision(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Raise half and bfloat16 to float32 and leave the rest: long sums need the digits.

    To be used with autocast switched off, which would lower them again.

    Example:
        >>> [t.dtype for t in full_precision(torch.ones(1).half(), torch.ones(1).double())]
        [torch.float32, torch.float64]
    """
    return tuple(t.to(torch.promote_types(t.dtype, torch.float32)) for t in tensors)
