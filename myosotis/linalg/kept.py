"""Index tensors of a tree, made once and kept with it, also while a compiler traces."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch.utils._python_dispatch import _disable_current_modes

from myosotis.tree import Tree

__all__ = ["kept_tensor", "outside_transforms"]


@contextmanager
def outside_transforms() -> Iterator[None]:
    """Make real tensors here, whatever traces, differentiates or batches the code around.

    What is kept for a tree must not belong to the transform in which it was first asked for.
    """
    with _disable_current_modes(), temporarily_clear_interpreter_stack():
        yield


def kept_tensor(
    tree: Tree, name: str, compute: Callable[..., Tensor], *arguments: object
) -> Tensor:
    """The tensor compute(tree, *arguments), computed once; the same object each time.

    Args:
        tree: with which it is kept.
        name: under which it is kept there; tells tensors with other arguments apart.
        compute: makes the tensor.
        arguments: further arguments of `compute`.

    Example:
        >>> tree = Tree.star(2)
        >>> kept_tensor(tree, "parents", lambda tree: torch.tensor(tree.parent.tolist()))
        tensor([ 2,  2, -1])
    """
    _keep(tree, name, compute, *arguments)
    # As an attribute of the tree, each tensor is found by a tracer under a name of its own; it
    # would take all tensors returned by one untraced function for the same.
    kept: Tensor = getattr(tree, "_kept_" + name)
    return kept


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _keep(tree: Tree, name: str, compute: Callable[..., Tensor], *arguments: object) -> None:
    if "_kept_" + name not in tree.__dict__:
        with outside_transforms():
            tree.__dict__["_kept_" + name] = compute(tree, *arguments)
