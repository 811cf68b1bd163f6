"""What is handed out of a split: batches."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from myosotis.tree import Tree

__all__ = ["Batch", "Separable", "Split"]


@dataclass(frozen=True, eq=False)
class Batch:
    """Some examples of a split, as tensors.

    Attributes:
        inputs: float32 (batch, leaves, channels), or int64 tokens (batch, leaves). If every
            example has its own tree, int64 (1, leaves or nodes of the forest): leaves from left
            to right, nodes in canonical order.
        labels: int64 (batch,).
        mask: bool (batch, leaves), True for a real token; None if all of them are.
        tree: the forest of this batch, its roots in the order of `labels`; None if all examples
            share the task's tree.
        node_labels: int64 (1, nodes of the forest), -1 for a node without a class; None if the data
            labels whole examples only.
        node_weights: float32 of the same shape, how much each of them counts; None if all the same.

    Example:
        >>> import torch
        >>> Batch(torch.zeros(2, 16, 1), torch.tensor([3, 7])).inputs.shape
        torch.Size([2, 16, 1])
    """

    inputs: Tensor
    labels: Tensor
    mask: Tensor | None = None
    tree: Tree | None = None
    node_labels: Tensor | None = None
    node_weights: Tensor | None = None


class Split(Protocol):
    """A part of a task's examples: what `ArraySplit` and `ForestSplit` are.

    Example:
        >>> from myosotis.data import load
        >>> split: Split = load("digits").validation
        >>> len(split), next(split.batches(64, seed=0)).labels.shape
        (180, torch.Size([64]))
    """

    @property
    def labels(self) -> NDArray[np.int64]:
        """int64[number of examples], the class of each."""
        ...

    def __len__(self) -> int: ...

    def batches(
        self, batch_size: int, *, seed: int | None = None, drop_last: bool = False
    ) -> Iterator[Batch]:
        """Go once through the examples: in order without a seed, else shuffled by it."""
        ...


@runtime_checkable
class Separable(Split, Protocol):
    """A split whose examples have parts that are examples themselves, as lists are of lists.

    Example:
        >>> from myosotis.data import load
        >>> isinstance(load("digits").train, Separable)
        False
    """

    def parts(self, share: float, *, seed: int) -> Split:
        """Return as many examples, drawn by the seed: of each a part.

        Args:
            share: how large the parts may be, above 0; with 1, they may be whole examples.
            seed: of the choice.
        """
        ...
