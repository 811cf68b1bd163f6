"""What every tensor that a user hands over must satisfy."""

from collections.abc import Mapping

import torch
from torch import Tensor

from myosotis.errors import DataError, ShapeError, TreeError
from myosotis.tree import Tree

__all__ = ["check_tensors", "check_tree", "check_values"]

_HALF = (torch.float16, torch.bfloat16)
_EXACT = (torch.float32, torch.float64, torch.complex64, torch.complex128)


def check_tree(tree: object) -> None:
    """Raise `TreeError` unless `tree` is a tree."""
    if not isinstance(tree, Tree):
        raise TreeError(f"tree is a {type(tree).__name__}; expected a Tree, as Tree(parents)")


def check_tensors(tensors: Mapping[str, object], like: Tensor | None = None) -> list[Tensor]:
    """One dtype and one device, and what is computed in: half precision becomes float32."""
    checked: list[Tensor] = []
    for name, t in tensors.items():
        if not isinstance(t, Tensor) or t.dtype not in _EXACT:
            t = _exact(name, t)
        checked.append(t)
    first = checked[0] if like is None else like
    for name, t in zip(tensors, checked, strict=True):
        if t.dtype != first.dtype:
            raise ShapeError(f"{name} has dtype {t.dtype}, the others {first.dtype}; convert one")
        if t.device != first.device:
            raise ShapeError(f"{name} is on {t.device}, the others on {first.device}; move one")
    return checked


def _exact(name: str, t: object) -> Tensor:
    """Half precision in float32; nothing else is let through."""
    if not isinstance(t, Tensor):
        raise ShapeError(
            f"{name} is a {type(t).__name__}; expected a torch.Tensor, or for all of A, B, C and u "
            "a list with one tensor per level"
        )
    if t.dtype not in _HALF:
        raise ShapeError(
            f"{name} has dtype {t.dtype}; expected a floating or complex dtype "
            f"(for example {name}.to(torch.float32))"
        )
    return t.float()


def check_values(tensors: Mapping[str, Tensor]) -> None:
    """Raise `DataError` for the first NaN or Inf."""
    for name, t in tensors.items():
        if not t.isfinite().all():
            index = tuple(int(i) for i in (~t.isfinite()).nonzero()[0])
            raise DataError(f"{name}{list(index)} is {t[index].item()}: NaN or Inf is not allowed")
