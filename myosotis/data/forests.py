"""Examples that each have a tree of their own: a batch is a forest."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from myosotis.data.batch import Batch
from myosotis.data.order import example_order
from myosotis.errors import DataError
from myosotis.tree import Tree

__all__ = ["ForestSplit"]


@dataclass(frozen=True, eq=False)
class ForestSplit:
    """Trees of any sizes with a token at each node, laid end to end.

    Args:
        parents: int[total nodes], each node's parent counted from the first node of its own
            example, -1 for the root.
        offsets: int64[examples + 1], where each example's nodes begin in `parents`.
        tokens: int[total nodes], 0 where a node has none.
        labels: int64[examples], the class of each.
        inputs_on: whether batches carry the tokens of the leaves only or of all nodes.
        node_labels: int[total nodes], the class of each node, where the data has them; -1 for none.
        node_weights: float32[total nodes], how much the class of each node counts to one who learns
            from them; None if all count the same.

    Raises:
        DataError: if the arrays do not fit together.

    Example:
        >>> split = ForestSplit(
        ...     parents=np.array([-1, 0, 0, -1]),
        ...     offsets=np.array([0, 3, 4]),
        ...     tokens=np.array([0, 5, 6, 7]),
        ...     labels=np.array([1, 0]),
        ... )
        >>> batch = next(split.batches(2))
        >>> batch.tree
        Tree(num_nodes=4, num_leaves=3, num_levels=2, num_roots=2)
        >>> batch.inputs
        tensor([[5, 6, 7]])
    """

    parents: NDArray[np.integer]
    offsets: NDArray[np.int64]
    tokens: NDArray[np.integer]
    labels: NDArray[np.int64]
    inputs_on: Literal["leaves", "nodes"] = "leaves"
    node_labels: NDArray[np.integer] | None = None
    node_weights: NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        if len(self.offsets) != len(self.labels) + 1:
            raise DataError(f"{len(self.offsets)} offsets do not fit {len(self.labels)} labels")
        total = int(self.offsets[-1])
        for name in ("parents", "tokens", "node_labels", "node_weights"):
            values = getattr(self, name)
            if values is not None and values.shape != (total,):
                raise DataError(f"{name}: {values.shape} does not fit {total} nodes")

    def __len__(self) -> int:
        return len(self.labels)

    def batches(
        self, batch_size: int, *, seed: int | None = None, drop_last: bool = False
    ) -> Iterator[Batch]:
        """Go once through the examples: in order without a seed, else shuffled by it."""
        order = example_order(len(self), batch_size, seed=seed, drop_last=drop_last)
        return (self._batch(examples) for examples in order)

    def _batch(self, examples: NDArray[np.int64]) -> Batch:
        starts = self.offsets[examples]
        sizes = self.offsets[examples + 1] - starts
        ends = np.cumsum(sizes)
        first = np.repeat(ends - sizes, sizes)  # of each node's example in the batch
        nodes = np.arange(ends[-1]) + np.repeat(starts, sizes) - first
        own_parent = self.parents[nodes].astype(np.int64)
        tree = Tree(np.where(own_parent < 0, -1, own_parent + first))
        canonical = nodes[tree.input_index]
        seen = canonical if self.inputs_on == "nodes" else canonical[tree.leaves]
        return Batch(
            inputs=_row(self.tokens, seen),
            labels=torch.from_numpy(self.labels[examples]),
            tree=tree,
            node_labels=None if self.node_labels is None else _row(self.node_labels, canonical),
            node_weights=(
                None
                if self.node_weights is None
                else torch.from_numpy(self.node_weights[canonical])[None]
            ),
        )


def _row(values: NDArray[np.integer], nodes: NDArray[np.int64]) -> torch.Tensor:
    """Return the values at nodes as an int64 tensor (1, number of nodes)."""
    return torch.from_numpy(values[nodes].astype(np.int64))[None]
