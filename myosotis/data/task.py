"""A task: examples in three splits, the tree to put them on, and where they came from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from myosotis.data.arrays import ArraySplit
from myosotis.data.batch import Batch, Split
from myosotis.data.layout import ImageLayout
from myosotis.errors import ConfigError
from myosotis.tree import Tree

__all__ = ["SPLITS", "Batch", "DataFile", "Provenance", "Split", "Task"]

SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class DataFile:
    """A file, or a folder of small ones taken together, that a task was read from.

    Attributes:
        path: relative to the data folder.
        size: bytes of content, unpacked if the file is compressed.
        sha256: of that content.

    Example:
        >>> DataFile("sst/trees/dev.txt", 280_825, "0e9336ae…").size
        280825
    """

    path: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Provenance:
    """Where the examples of a task came from.

    Attributes:
        source: who published or made them.
        license: under what terms, as far as the publisher says.
        files: what was read, with checksums; empty for embedded data.
        counts: number of examples in each part as published, before validation is cut off.

    Example:
        >>> from myosotis.data import load
        >>> load("digits").provenance.license
        'CC BY 4.0'
    """

    source: str
    license: str
    files: Sequence[DataFile] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Task:
    """Examples to learn from, in order, with the tree to put them on.

    Validation is cut from the training set where the publisher has none; the test set is the
    publisher's and nothing may be chosen by it.

    Attributes:
        name: as in `myosotis.data.load`.
        train: the split to learn from.
        validation: the split to choose by.
        test: the split to report.
        tree: shared by all examples; None if each has its own, which then comes with the batch.
        num_classes: labels are 0..num_classes-1.
        kind: whether inputs are real values or tokens.
        provenance: where the data came from.
        channels: values per leaf; 0 for tokens.
        vocabulary: tokens are 0..vocabulary-1, 0 for padding or none; 0 for values.
        inputs_on: whether inputs belong to the leaves or to all nodes of the tree.
        layout: how an image becomes a sequence; None if the examples are no images.

    Example:
        >>> from myosotis.data import load
        >>> task = load("digits")
        >>> task.tree
        Tree(num_nodes=85, num_leaves=64, num_levels=4, num_roots=1)
        >>> task.images("test", [0, 1]).shape
        (2, 8, 8, 1)
    """

    name: str
    train: Split
    validation: Split
    test: Split
    tree: Tree | None
    num_classes: int
    kind: Literal["values", "tokens"]
    provenance: Provenance
    channels: int = 0
    vocabulary: int = 0
    inputs_on: Literal["leaves", "nodes"] = "leaves"
    layout: ImageLayout | None = None

    def split(self, name: str) -> Split:
        """Return the split called `train`, `validation` or `test`.

        Raises:
            ConfigError: for any other name.

        Example:
            >>> from myosotis.data import load
            >>> len(load("digits").split("train"))
            1257
        """
        if name not in SPLITS:
            raise ConfigError(f"no split is called {name!r}: there are {', '.join(SPLITS)}")
        split: Split = getattr(self, name)
        return split

    def images(self, split: str, examples: Sequence[int] | NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return examples as the images they were, uint8 (number, height, width, channels).

        Raises:
            ConfigError: if the examples are no images, or there is no such split.

        Example:
            >>> from myosotis.data import load
            >>> load("digits").images("test", range(3)).dtype
            dtype('uint8')
        """
        found = self.split(split)
        if self.layout is None or not isinstance(found, ArraySplit):
            raise ConfigError(f"the examples of {self.name!r} are no images")
        return self.layout.images(found.stored(examples))
