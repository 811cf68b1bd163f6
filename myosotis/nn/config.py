"""The configuration of a classifier."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any, Literal, get_args

import numpy as np

from myosotis.errors import ConfigError
from myosotis.nn.shift import is_square_quadtree
from myosotis.tree import Tree

__all__ = ["ClassifierConfig"]

InnerStart = Literal["mean", "zero", "learned"]
Norm = Literal["layer", "batch"]
Place = Literal["leaves", "nodes"]


@dataclass(frozen=True)
class ClassifierConfig:
    """Everything that determines a `Classifier` but its weights.

    Attributes:
        num_classes: size of the output.
        tree: the tree of every example (or the parents of its nodes). None if examples have trees
            of their own, which then come with each call; `levels` and `branching` are needed.
        channels: numbers per leaf, for inputs that are values.
        vocabulary: number of different tokens, for inputs that are tokens. Give one of the two.
        inputs_on: whether the inputs belong to the `leaves` or to all `nodes`.
        dim: features per node.
        depth: number of blocks.
        heads: heads of a mixer; its own default if None.
        mixer: one of `myosotis.nn.mixers.available()`.
        mixer_options: further arguments of the mixer.
        inner: what inner nodes start from: the `mean` of the leaves below, `zero`, or `learned`.
        level_embedding: add a learned vector per level.
        norm: `layer` or `batch`.
        prenorm: norm before the mixer; after the sum if False.
        gated: x · σ(Wx + b) after the mixer; a linear layer if False.
        dropout: rate at which features are dropped at the end of a block.
        tie_blocks: all blocks have the same weights, but for their norms: what one learns from the
            many small subtrees the others know about the few large ones.
        recursive: the blocks work on one node with its children at a time, from the lowest up: what
            they make of the node is what its parent sees of it. Trees of any height, one after the
            other. A layer norm suits it better than a batch norm: there are few high nodes.
        climb_after: numbers of blocks after which the lowest level of the tree is left behind: the
            blocks that follow work on the rest of it, which is smaller and has seen what was there.
        widen: factor by which features and heads become more with each climb.
        shifts: for an image on a quad-tree whose side is a power of two: block i sees it moved
            diagonally by `shifts[i % len(shifts)]` pixels, around the border, so that neighbours
            which are far apart in the tree of one block are close in that of another.
        drop_path: rate at which the last block is left out for an example; earlier ones less.
        pool_levels: classify the mean over this many levels from the root; 1: the root alone,
            None: all nodes. Mixers over sequences always take the mean over the sequence.
        levels: number of levels with parameters of their own; that of the tree if None.
        branching: number of siblings with parameters of their own; that of the tree if None.

    Raises:
        ConfigError: a value is out of range or does not fit the others.

    Example:
        >>> config = ClassifierConfig(num_classes=10, tree=Tree.quadtree(8), channels=1)
        >>> ClassifierConfig.from_dict(config.to_dict()) == config
        True
    """

    num_classes: int
    tree: Tree | None = None
    channels: int | None = None
    vocabulary: int | None = None
    inputs_on: Place = "leaves"
    dim: int = 64
    depth: int = 4
    heads: int | None = None
    mixer: str = "myo"
    mixer_options: Mapping[str, object] = field(default_factory=dict, hash=False)
    inner: InnerStart = "mean"
    level_embedding: bool = True
    norm: Norm = "layer"
    prenorm: bool = True
    gated: bool = True
    dropout: float = 0.0
    drop_path: float = 0.0
    tie_blocks: bool = False
    recursive: bool = False
    climb_after: tuple[int, ...] = ()
    widen: int = 1
    shifts: tuple[int, ...] = (0,)
    pool_levels: int | None = 3
    levels: int | None = None
    branching: int | None = None

    def __post_init__(self) -> None:
        given: object = self.tree
        if given is not None and not isinstance(given, Tree):
            object.__setattr__(self, "tree", Tree(np.asarray(given)))
        object.__setattr__(self, "mixer_options", dict(self.mixer_options))
        if (self.channels is None) == (self.vocabulary is None):
            raise ConfigError("give either channels (for values) or vocabulary (for tokens)")
        if self.tree is None and (self.levels is None or self.branching is None):
            raise ConfigError("without a tree, give levels and branching: the sizes of the tables")
        for name in ("climb_after", "shifts"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        self._check_choices()
        self._check_ranges()
        self._check_climbs()

    def _check_choices(self) -> None:
        for name, choices in {"inputs_on": Place, "inner": InnerStart, "norm": Norm}.items():
            if getattr(self, name) not in get_args(choices):
                known = ", ".join(get_args(choices))
                raise ConfigError(f"{name} is {getattr(self, name)!r}; it is one of {known}")

    def _check_ranges(self) -> None:
        positive = ("num_classes", "channels", "vocabulary", "dim", "depth", "heads", "widen")
        for name in (*positive, "pool_levels", "levels", "branching"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise ConfigError(f"{name} is {value!r}; it must be a whole number of at least 1")
        for name in ("dropout", "drop_path"):
            rate = getattr(self, name)
            if not isinstance(rate, int | float) or not 0 <= rate < 1:
                raise ConfigError(f"{name} is {rate!r}; it must be at least 0 and below 1")

    def _check_climbs(self) -> None:
        climbs = self.climb_after
        if list(climbs) != sorted(set(climbs)) or not all(0 < at < self.depth for at in climbs):
            raise ConfigError(
                f"climb_after is {list(climbs)}; it must be numbers of blocks that increase, "
                f"above 0 and below the depth, {self.depth}"
            )
        if climbs and (self.tree is None or len(climbs) >= self.tree.num_levels):
            raise ConfigError(
                f"climb_after is {list(climbs)}: the configuration needs a tree of more than "
                f"{len(climbs)} levels"
            )
        if self.tie_blocks and climbs:
            raise ConfigError("blocks with the same weights (tie_blocks) cannot climb_after any")
        if self.recursive and (climbs or any(self.shifts)):
            raise ConfigError(
                "a recursive model goes up its trees by itself: "
                "climb_after must be [] and shifts [0]"
            )
        if not self.shifts:
            raise ConfigError("shifts is empty; for an image that stays in its place it is [0]")
        if any(self.shifts) and not is_square_quadtree(self.tree):
            raise ConfigError(
                "shifts move images on a quad-tree whose side is a power of two; "
                "the tree is none, so shifts must be [0]"
            )

    def climbs_before(self, block: int) -> int:
        """How often the lowest level has been left behind when a block is reached.

        Example:
            >>> config = ClassifierConfig(2, Tree.chain(5), channels=1, climb_after=(1, 3))
            >>> [config.climbs_before(block) for block in range(config.depth)]
            [0, 1, 1, 2]
        """
        return sum(at <= block for at in self.climb_after)

    def shift_of(self, block: int) -> int:
        """By how many pixels a block sees the image moved.

        Example:
            >>> config = ClassifierConfig(2, Tree.quadtree(4), channels=1, shifts=(0, 1))
            >>> [config.shift_of(block) for block in range(config.depth)]
            [0, 1, 0, 1]
        """
        return self.shifts[block % len(self.shifts)]

    @property
    def num_levels(self) -> int:
        """Levels with parameters of their own.

        Example:
            >>> ClassifierConfig(2, Tree.chain(5), channels=1).num_levels
            5
        """
        if self.levels is not None:
            return self.levels
        assert self.tree is not None  # one of them is given
        return self.tree.num_levels

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers, texts, lists and dictionaries; the tree as its list of parents.

        Example:
            >>> ClassifierConfig(2, Tree.star(2), channels=1).to_dict()["tree"]
            [2, 2, -1]
        """
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values["mixer_options"] = dict(self.mixer_options)
        values["tree"] = None if self.tree is None else self.tree.parent.tolist()
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "ClassifierConfig":
        """The inverse of `to_dict`. A key that does not exist is a `ConfigError`.

        Example:
            >>> ClassifierConfig.from_dict({"num_classes": 2, "chanels": 1})
            Traceback (most recent call last):
            myosotis.errors.ConfigError: there is no 'chanels'; did you mean 'channels'?
        """
        known = [f.name for f in fields(cls)]
        for name in values:
            if name not in known:
                near = get_close_matches(name, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
                raise ConfigError(f"there is no {name!r}; {hint}")
        if "num_classes" not in values:
            raise ConfigError("num_classes is missing")
        return cls(**values)
