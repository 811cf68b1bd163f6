"""Which nodes of a tree have their coefficients in common."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from myosotis.errors import ConfigError, ShapeError
from myosotis.tree import Tree

__all__ = ["Layout", "Sharing"]

Sharing = Literal["slot", "level", "tied", "node"]


@dataclass(frozen=True)
class Layout:
    """The rows of a table of coefficients, and which of them each node of a tree uses.

    Levels are counted from the root, so that a tree keeps its rows when it becomes a member of a
    forest. Nodes deeper than the table, or further right among their siblings, use its last row
    of that kind.

    Attributes:
        sharing: `slot`: a row per level and place among siblings; `level`: a row per level;
            `tied`: a row per place among siblings; `node`: a row per node.
        num_levels: levels that have rows of their own.
        num_slots: places among siblings that have rows of their own.
        num_nodes: nodes of the only tree that `node` fits; 0 if there is none.

    Example:
        >>> layout = Layout.of(Tree.perfect(branching=2, depth=2), "tied")
        >>> layout.num_rows, layout.rows(Tree.star(3)).tolist()
        (2, [0, 1, 1, 0])
    """

    sharing: Sharing
    num_levels: int
    num_slots: int
    num_nodes: int

    @classmethod
    def of(
        cls,
        tree: Tree | None,
        sharing: Sharing,
        levels: int | None = None,
        branching: int | None = None,
    ) -> "Layout":
        """The layout that fits `tree`, or has the given numbers of levels and of siblings."""
        if sharing not in get_args(Sharing):
            raise ConfigError(
                f"sharing is {sharing!r}; it is one of {', '.join(get_args(Sharing))}"
            )
        if tree is not None:
            levels = tree.num_levels if levels is None else levels
            branching = max(1, int(tree.num_children.max())) if branching is None else branching
        if levels is None or branching is None:
            raise ConfigError("without a tree, give both levels and branching")
        if sharing == "node" and tree is None:
            raise ConfigError("sharing='node' gives each node its own coefficients: give the tree")
        return cls(sharing, levels, branching, 0 if tree is None else tree.num_nodes)

    @property
    def num_rows(self) -> int:
        """Number of rows of the table."""
        return {
            "slot": self.num_levels * self.num_slots,
            "level": self.num_levels,
            "tied": self.num_slots,
            "node": self.num_nodes,
        }[self.sharing]

    @property
    def key(self) -> str:
        """A name that tells layouts apart."""
        return f"rows_{self.sharing}_{self.num_levels}_{self.num_slots}_{self.num_nodes}"

    def rows(self, tree: Tree) -> NDArray[np.int64]:
        """int64[L], the row of each node of `tree`."""
        depth = np.minimum(tree.depth, self.num_levels - 1)
        slot = np.minimum(tree.slot, self.num_slots - 1)
        if self.sharing == "slot":
            return depth * self.num_slots + slot
        if self.sharing == "level":
            return depth
        if self.sharing == "tied":
            return slot
        if tree.num_nodes != self.num_nodes:
            raise ShapeError(
                f"sharing='node' was built for a tree of {self.num_nodes} nodes and cannot serve "
                f"one of {tree.num_nodes}; use slot, level or tied"
            )
        return np.arange(self.num_nodes)

    def mean_over_rows(self, tree: Tree | None, values: NDArray[np.int64]) -> NDArray[np.float64]:
        """float[num_rows], the mean of `values` (L,) over the nodes of each row; 0 where none."""
        if tree is None:
            return np.zeros(self.num_rows)
        rows = self.rows(tree)
        total = np.bincount(rows, weights=values, minlength=self.num_rows)
        mean: NDArray[np.float64] = total / np.bincount(rows, minlength=self.num_rows).clip(1)
        return mean
