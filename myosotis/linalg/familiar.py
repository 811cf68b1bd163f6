"""Tensors like those of an earlier call: what was found out about these need not be again.

A solve is so fast that to look at the shapes of its tensors one by one, in caches full of something
else, takes a noticeable part of it.
"""

from collections.abc import Hashable

import torch
from torch import Tensor

from myosotis.linalg.autograd import Spec
from myosotis.tree import Tree

__all__ = ["kind_of_call", "recall", "remember"]

_MOST = 64  # kinds of calls that are remembered

_known: dict[Hashable, Spec] = {}


def kind_of_call(
    function: str, tree: object, backend: str | None, tensors: tuple[object, ...]
) -> Hashable:
    """All that `function` checks; None if there is more to look at than plain tensors have."""
    if torch.compiler.is_compiling() or type(tree) is not Tree:
        return None
    kind: list[Hashable] = [function, tree, backend]
    for t in tensors:
        if type(t) is not Tensor and type(t) is not torch.nn.Parameter:
            return None
        kind += (t.shape, t.dtype, t.device)
    return tuple(kind)


def recall(kind: Hashable) -> Spec | None:
    """What such a call asks for; None if there was none like it whose tensors fit as they were."""
    return _known.get(kind)


def remember(kind: Hashable, spec: Spec) -> None:
    """Tensors of this kind fit as they are, and this is what to do with them."""
    if len(_known) >= _MOST:
        _known.clear()
    _known[kind] = spec
