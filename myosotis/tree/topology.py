"""The tree itself, and every way to make one."""

import os
from collections.abc import Iterable
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from myosotis.errors import TreeError
from myosotis.tree.brackets import bracket_parents
from myosotis.tree.build import (
    chain_parent,
    disjoint_union,
    grid_parent,
    over_parent,
    perfect_parent,
    star_parent,
)
from myosotis.tree.graph import spanning_parents
from myosotis.tree.numbering import canonical_numbering
from myosotis.tree.sizes import checked_size
from myosotis.tree.structure import Structure
from myosotis.tree.swc import swc_numbering

__all__ = ["Tree"]


@final
class Tree(Structure):
    """An immutable rooted tree, or forest, of L nodes in canonical numbering.

    Nodes are numbered level by level, **deepest level first**, and left to right within a level:
    the children of a node are contiguous, every child has a smaller number than its parent, and
    the roots come last. Two trees are equal if their `parent` and `input_index` are.

    Args:
        parents: int[L], each node's parent or -1 for a root, in any order. Siblings, and roots,
            stand left to right in the order of their indices.

    Attributes:
        parent: int64[L], each node's parent in canonical numbers, -1 for a root.
        input_index: int64[L], canonical number -> the caller's index: in `parents`, in the
            members of a forest laid end to end, in the order of a text or file, or in a graph.
            The regular trees have no other numbering than the canonical one.

    Raises:
        TreeError: if `parents` is not a forest; the message names a node at fault.

    Example:
        >>> tree = Tree([-1, 0, 0, 1, 1])
        >>> tree
        Tree(num_nodes=5, num_leaves=3, num_levels=3, num_roots=1)
        >>> tree.parent
        array([ 2,  2,  4,  4, -1])
        >>> tree.input_index
        array([3, 4, 1, 2, 0])
    """

    def __init__(self, parents: ArrayLike) -> None:
        super().__init__(*canonical_numbering(parents))

    @classmethod
    def _canonical(
        cls, parent: NDArray[np.int64], input_index: NDArray[np.int64] | None = None
    ) -> "Tree":
        """Wrap parents, int64[L], that are known to be numbered canonically."""
        if input_index is None:
            input_index = np.arange(len(parent), dtype=np.int64)
        tree = cls.__new__(cls)
        Structure.__init__(tree, parent, input_index)
        return tree

    @classmethod
    def chain(cls, length: int) -> "Tree":
        """Make a path of `length` nodes: the parent of node k is k+1.

        Example:
            >>> Tree.chain(4).parent
            array([ 1,  2,  3, -1])
        """
        return cls._canonical(chain_parent(length))

    @classmethod
    def star(cls, num_leaves: int) -> "Tree":
        """Make a root with `num_leaves` children.

        Example:
            >>> Tree.star(3).parent
            array([ 3,  3,  3, -1])
        """
        return cls._canonical(star_parent(num_leaves))

    @classmethod
    def perfect(cls, branching: int, depth: int) -> "Tree":
        """Make the tree with `branching` children per node and `depth` edges from root to leaf.

        Example:
            >>> Tree.perfect(branching=2, depth=3).level_sizes
            (8, 4, 2, 1)
        """
        return cls._canonical(perfect_parent(branching, depth))

    @classmethod
    def over(cls, num_leaves: int, branching: int) -> "Tree":
        """Make a tree over a sequence: group `branching` neighbours, level by level, up to one.

        All leaves are on the deepest level; the last group of a level may be smaller.

        Example:
            >>> Tree.over(num_leaves=10, branching=4).level_sizes
            (10, 3, 1)
        """
        return cls._canonical(over_parent(num_leaves, branching))

    @classmethod
    def quadtree(cls, height: int, width: int | None = None) -> "Tree":
        """Make the quad-tree of an image of any size; cells without pixels do not exist.

        Leaf k, left to right, is the pixel `morton_order(height, width)[k]`. All leaves are on
        the deepest level. `width` is `height` if not given.

        Example:
            >>> Tree.quadtree(28).level_sizes
            (784, 196, 49, 16, 4, 1)
        """
        height = checked_size("height", height)
        width = height if width is None else checked_size("width", width)
        return cls._canonical(grid_parent((height, width)))

    @classmethod
    def octree(cls, depth: int, height: int | None = None, width: int | None = None) -> "Tree":
        """Make the octree of a volume of any size, as `quadtree` does for an image.

        Within a cell of eight the width runs fastest and the depth slowest. `height` and `width`
        are `depth` if not given.

        Example:
            >>> Tree.octree(4, 4, 6).level_sizes
            (96, 12, 2, 1)
        """
        depth = checked_size("depth", depth)
        height = depth if height is None else checked_size("height", height)
        width = depth if width is None else checked_size("width", width)
        return cls._canonical(grid_parent((depth, height, width)))

    @classmethod
    def forest(cls, trees: Iterable["Tree"]) -> "Tree":
        """Put trees side by side, left to right, with their roots on one level.

        `input_index` counts through the nodes of the first tree, then of the second, and so on.

        Example:
            >>> forest = Tree.forest([Tree.star(2), Tree.chain(3)])
            >>> forest.parent
            array([ 3,  4,  4,  5, -1, -1])
            >>> forest.input_index
            array([3, 0, 1, 4, 2, 5])
        """
        members = list(trees)
        if not members:
            raise TreeError("a forest needs at least one tree, got none")
        for place, member in enumerate(members):
            if not isinstance(member, Tree):
                raise TreeError(f"member {place} of the forest is a {type(member).__name__}")
        return cls(disjoint_union([member.parent for member in members]))

    @classmethod
    def from_brackets(cls, text: str, *, labels: bool = False) -> "Tree":
        """Read bracketed text: every pair of brackets, round or square, and every word is a node.

        Several trees in a row make a forest. `input_index` counts the nodes in the order in which
        they begin in the text.

        Args:
            text: such as `"((a b) c)"` or `"[MAX 2 9 [MIN 4 7 ] 0 ]"`.
            labels: take a word right after an opening bracket for that node's label instead, and
                a pair that holds a label and one word, such as `(NN dog)`, for a leaf.

        Raises:
            TreeError: for unbalanced, mismatched or empty brackets, with the position in `text`.

        Example:
            >>> Tree.from_brackets("((a b) c)")
            Tree(num_nodes=5, num_leaves=3, num_levels=3, num_roots=1)
            >>> Tree.from_brackets("(3 (2 It) (4 (2 's) (4 good)))", labels=True)
            Tree(num_nodes=5, num_leaves=3, num_levels=3, num_roots=1)
        """
        return cls(bracket_parents(text, labels=labels))

    @classmethod
    def from_swc(cls, path: str | os.PathLike[str]) -> "Tree":
        r"""Read a neuron's morphology: lines of `id type x y z radius parent`.

        `input_index` counts the file's samples from 0.

        Raises:
            TreeError: if a line cannot be read or the samples form no forest, with file and line.

        Example:
            >>> import pathlib, tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     path = pathlib.Path(folder, "neuron.swc")
            ...     _ = path.write_text("1 1 0 0 0 5 -1\n7 3 1 0 0 1 1\n8 3 2 0 0 1 1\n")
            ...     Tree.from_swc(path)
            Tree(num_nodes=3, num_leaves=2, num_levels=2, num_roots=1)
        """
        return cls._canonical(*swc_numbering(path))

    @classmethod
    def from_graph(
        cls, weights: ArrayLike | tuple[ArrayLike, ArrayLike], *, root: int = 0
    ) -> "Tree":
        """Take the minimum spanning tree of an undirected graph.

        A graph in several parts gives a forest; a part without `root` is rooted at its smallest
        node. `input_index` gives the graph's nodes.

        Args:
            weights: symmetric float[n, n] in which inf means no edge and the diagonal is ignored,
                or a tuple `(edges, edge_weights)` of int[m, 2] and float[m] for a sparse graph,
                whose nodes run up to the largest one named by an edge.
            root: the node to hang the tree from.

        Raises:
            TreeError: for weights that describe no undirected graph, or a root that is no node.

        Example:
            >>> Tree.from_graph([[0, 1, 5], [1, 0, 2], [5, 2, 0]]).parent
            array([ 1,  2, -1])
        """
        return cls(spanning_parents(weights, root=root))

    def top(self, levels: int) -> "Tree":
        """Return the tree of the nodes on the `levels` levels nearest to the roots.

        They keep their order, so they are the last nodes of this tree, and `input_index` says
        which. A tree of fewer levels is returned as it is.

        Raises:
            TreeError: if `levels` is below one.

        Example:
            >>> tree = Tree.quadtree(4)
            >>> tree.level_sizes, tree.top(2).level_sizes
            ((16, 4, 1), (4, 1))
            >>> tree.top(2).input_index
            array([16, 17, 18, 19, 20])
        """
        levels = checked_size("levels", levels)
        if levels >= self.num_levels:
            return self
        first = sum(self.level_sizes[:-levels])
        parent = np.maximum(self.parent[first:] - first, -1)
        return Tree._canonical(parent, np.arange(first, self.num_nodes, dtype=np.int64))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return self is other or (
            np.array_equal(self.parent, other.parent)
            and np.array_equal(self.input_index, other.input_index)
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        names = ("num_nodes", "num_leaves", "num_levels", "num_roots")
        return f"Tree({', '.join(f'{name}={getattr(self, name)}' for name in names)})"

    @cached_property
    def _hash(self) -> int:
        return hash((self.parent.tobytes(), self.input_index.tobytes()))

    def __reduce__(self) -> tuple[object, ...]:
        return Tree._canonical, (self.parent, self.input_index)
