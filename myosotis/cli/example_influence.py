"""One example of a task, and what of it weighs how much in a model."""

import re
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch
from numpy.typing import NDArray

from myosotis.data import Batch, ImageLayout, Task
from myosotis.errors import ConfigError
from myosotis.nn import Classifier
from myosotis.nn.influence import influence
from myosotis.tree import Tree

__all__ = ["ROOT", "Example"]

ROOT = "root"


@dataclass(frozen=True, eq=False)
class Example:
    """An example as a model sees it.

    Its inputs are counted from 0: pixels or leaves in the order of the sequence, tokens as they
    are read.

    Attributes:
        model: what looks at it.
        task: where it comes from.
        batch: the example alone, without padding if the model works on sequences.
        tree: that of the example; None if the model works on sequences.
        nodes: int64[number of inputs], the node at which each input is; for a sequence, its place.
        root: the node that `root` means: the last place of a sequence.

    Example:
        >>> from myosotis.data import load
        >>> from myosotis.nn import ClassifierConfig
        >>> task = load("digits")
        >>> config = ClassifierConfig(10, task.tree, channels=1, dim=8, depth=2, heads=3)
        >>> example = Example.of(Classifier(config), task, "test", 0)
        >>> example.find("2,3"), example.pixel(example.find("2,3"))
        (13, (2, 3))
        >>> example.shares(example.nodes[13]).shape
        (2, 3, 64)
    """

    model: Classifier
    task: Task
    batch: Batch
    tree: Tree | None
    nodes: NDArray[np.int64]
    root: int

    @classmethod
    def of(cls, model: Classifier, task: Task, split: str, number: int) -> "Example":
        """Take an example, counted from 0, of a split.

        Raises:
            ConfigError: there is no such example, or the model is made for other inputs.
        """
        examples = task.split(split)
        if not 0 <= number < len(examples):
            raise ConfigError(
                f"{split} has {len(examples):,} examples: choose --example from 1 to that"
            )
        config = model.config
        if (config.channels or 0, config.vocabulary or 0) != (task.channels, task.vocabulary):
            raise ConfigError(f"the model was made for other inputs than those of {task.name!r}")
        batch = next(islice(examples.batches(1), number, None))
        if not model.over_nodes:
            return cls._of_sequence(model, task, batch)
        tree = task.tree if batch.tree is None else batch.tree
        assert tree is not None  # of the task or of the batch
        nodes = np.argsort(tree.input_index) if task.inputs_on == "nodes" else tree.leaves
        if batch.mask is not None:
            nodes = nodes[batch.mask[0].numpy()]
        return cls(model, task, batch, tree, nodes, int(tree.roots[0]))

    @classmethod
    def _of_sequence(cls, model: Classifier, task: Task, batch: Batch) -> "Example":
        inputs = batch.inputs if batch.mask is None else batch.inputs[:, batch.mask[0]]
        length = inputs.shape[1]
        return cls(
            model, task, Batch(inputs, batch.labels), None, np.arange(length), root=length - 1
        )

    def describe(self) -> str:
        """Say what it is, and what the model takes it for."""
        batch = self.batch
        with torch.no_grad():
            predicted = int(self.model(batch.inputs, batch.mask, self.tree).argmax())
        return f"{self.task.name}, class {int(batch.labels[0])}, taken for {predicted}"

    @property
    def tokens(self) -> list[int]:
        """The tokens, if it has any, in reading order."""
        tokens: NDArray[np.int64] = self.batch.inputs[0].numpy()
        if self.task.inputs_on == "nodes":
            return tokens[self.nodes].tolist()  # type: ignore[no-any-return]
        if self.batch.mask is not None:
            tokens = tokens[self.batch.mask[0].numpy()]
        return tokens.tolist()  # type: ignore[no-any-return]

    def find(self, place: str) -> int | None:
        """Return the input that a text means, such as `2,3` or `14`; None for `root`.

        Raises:
            ConfigError: there is no such input.
        """
        if place == ROOT:
            return None
        if self.task.layout is not None:
            return _find_pixel(self.task.layout, place)
        if not place.isdecimal() or not 1 <= int(place) <= len(self.nodes):
            raise ConfigError(
                f"no token has the number {place!r}: write {ROOT}, or one from 1 to "
                f"{len(self.nodes)}"
            )
        return int(place) - 1

    def shares(self, node: int) -> NDArray[np.float64]:
        """(depth, heads, number of inputs): the influence of each on a node, as shares of one."""
        batch = self.batch
        weights = influence(self.model, batch.inputs, node, batch.mask, self.tree)
        found = weights[:, 0].double().numpy()[..., self.nodes]
        smallest = np.finfo(np.float64).tiny  # where nothing is heard, there is nothing to share
        shares: NDArray[np.float64] = found / found.sum(-1, keepdims=True).clip(smallest)
        return shares

    def as_image(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Put values of the inputs where their pixels are: (height, width), without the border."""
        layout = self.task.layout
        assert layout is not None
        pixels = np.empty(len(layout.order))
        pixels[layout.order] = values
        inside = slice(layout.border, layout.border + layout.height)
        across = slice(layout.border, layout.border + layout.width)
        return pixels.reshape(layout.padded_shape)[inside, across]

    def pixel(self, number: int) -> tuple[int, int]:
        """Row and column of an input."""
        layout = self.task.layout
        assert layout is not None
        row, column = np.unravel_index(layout.order[number], layout.padded_shape)
        return int(row) - layout.border, int(column) - layout.border


def _find_pixel(layout: ImageLayout, place: str) -> int:
    """Return where in the sequence the pixel `row,column` is."""
    found = re.fullmatch(r"(\d+),(\d+)", place)
    row, column = (-1, -1) if found is None else map(int, found.groups())
    if not (0 <= row < layout.height and 0 <= column < layout.width):
        raise ConfigError(
            f"no pixel is at {place!r}: write {ROOT}, or row and column, such as 0,0 to "
            f"{layout.height - 1},{layout.width - 1}"
        )
    pixel = (row + layout.border) * layout.padded_shape[1] + column + layout.border
    return int(np.flatnonzero(layout.order == pixel)[0])
