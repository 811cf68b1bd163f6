"""The batches of a split as Lightning wants them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from torch import Tensor

from myosotis.data import Split
from myosotis.tree import Tree

__all__ = ["Example", "Stream", "epoch_seed"]

# inputs, labels, mask, tree, labels of nodes: a tuple, as Lightning moves no frozen dataclasses.
Example = tuple[Tensor, Tensor, Tensor | None, Tree | None, Tensor | None]


def epoch_seed(seed: int, epoch: int) -> int:
    """Return the seed that shuffles an epoch.

    Example:
        >>> epoch_seed(0, 1) == epoch_seed(1, 0)
        False
    """
    return int(np.random.SeedSequence((seed, epoch)).generate_state(1, np.uint64)[0])


@dataclass(frozen=True)
class Stream:
    """One pass over a split each time it is iterated.

    It keeps no state. Which pass it is, and how much of it is behind us, follows from the number of
    steps taken, so that a resumed run sees what the interrupted one would have seen.

    Args:
        split: the examples.
        batch_size: examples in a batch.
        seed: shuffles; None keeps the order of the split.
        step: tells how many batches of this stream were taken so far, in all passes.
        rank: which share is ours, where several devices divide the batches among them.
        world: number of devices.

    Example:
        >>> from myosotis.data import load
        >>> stream = Stream(load("digits").train, 500, seed=0, step=lambda: 4)
        >>> len(stream), [len(labels) for _, labels, _, _, _ in stream]
        (3, [500, 257])
    """

    split: Split
    batch_size: int
    seed: int | None = None
    step: Callable[[], int] = lambda: 0
    rank: int = 0
    world: int = 1

    def __len__(self) -> int:
        """The number of batches of a pass: as many on each device, so that none waits for more."""
        batches = -(-len(self.split) // self.batch_size)
        return max(1, batches // self.world)

    def __iter__(self) -> Iterator[Example]:
        # A generator: the step is asked for with the first batch, when Lightning has restored it.
        epoch, taken = divmod(self.step(), len(self))
        seed = None if self.seed is None else epoch_seed(self.seed, epoch)
        batches = self.split.batches(self.batch_size, seed=seed)
        first, last = taken * self.world + self.rank, len(self) * self.world
        for batch in islice(batches, first, last, self.world):
            yield batch.inputs, batch.labels, batch.mask, batch.tree, batch.node_labels
