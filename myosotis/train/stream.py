"""The batches of a split as Lightning wants them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from torch import Tensor

from myosotis.data import Separable, Split
from myosotis.errors import ConfigError
from myosotis.tree import Tree

__all__ = ["Example", "Stream", "epoch_seed"]

# inputs, labels, mask, tree, labels of nodes, their weights: a tuple, as Lightning moves no frozen
# dataclasses.
Example = tuple[Tensor, Tensor, Tensor | None, Tree | None, Tensor | None, Tensor | None]


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
        growing_epochs: if not 0, examples are parts of those of the split, which must be
            `Separable`: in so many passes they grow, then they are of all sizes.
        step: tells how many batches of this stream were taken so far, in all passes.
        rank: which share is ours, where several devices divide the batches among them.
        world: number of devices.

    Example:
        >>> from myosotis.data import load
        >>> stream = Stream(load("digits").train, 500, seed=0, step=lambda: 4)
        >>> len(stream), [len(labels) for _, labels, *_ in stream]
        (3, [500, 257])
    """

    split: Split
    batch_size: int
    seed: int | None = None
    growing_epochs: int = 0
    step: Callable[[], int] = lambda: 0
    rank: int = 0
    world: int = 1

    def __len__(self) -> int:
        """The number of batches of a pass.

        In training as many on each device, so that none waits for more. Otherwise each batch is
        seen by one of them, or by all if there are not enough: none is left without.
        """
        if self.seed is not None:
            return max(1, self._num_batches // self.world)
        return len(self._in_order)

    @property
    def _num_batches(self) -> int:
        return -(-len(self.split) // self.batch_size)

    @property
    def _in_order(self) -> range:
        """The batches of a pass in order."""
        enough = self._num_batches >= self.world
        return (
            range(self._num_batches)[self.rank :: self.world]
            if enough
            else range(self._num_batches)
        )

    def _examples(self, epoch: int, seed: int) -> Split:
        """The split, or parts of its examples."""
        if not self.growing_epochs:
            return self.split
        if not isinstance(self.split, Separable):
            raise ConfigError(
                f"growing_epochs is {self.growing_epochs}, but these examples have no parts to "
                "begin with; set it to 0"
            )
        return self.split.parts(min(1.0, (epoch + 1) / self.growing_epochs), seed=seed)

    def __iter__(self) -> Iterator[Example]:
        # A generator: the step is asked for with the first batch, when Lightning has restored it.
        if self.seed is None:
            mine = self._in_order
            batches = islice(self.split.batches(self.batch_size), mine.start, None, mine.step)
        else:
            epoch, taken = divmod(self.step(), len(self))
            seed = epoch_seed(self.seed, epoch)
            shuffled = self._examples(epoch, seed).batches(self.batch_size, seed=seed)
            first, last = taken * self.world + self.rank, len(self) * self.world
            batches = islice(shuffled, first, last, self.world)
        for batch in batches:
            of_nodes = batch.node_labels, batch.node_weights
            yield batch.inputs, batch.labels, batch.mask, batch.tree, *of_nodes
