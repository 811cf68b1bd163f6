"""What follows from the parents of a tree or forest in canonical numbering.

Nodes are numbered level by level, **deepest level first**, and left to right within a level. A
level holds the nodes at equal distance from the root, so a leaf may sit in any level. It follows
that the children of a node are contiguous, that every child has a smaller number than its parent,
and that the roots come last.
"""

import operator
from functools import cached_property
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from myosotis.errors import TreeError
from myosotis.tree.traversal import level_starts, subtree_spans

__all__ = ["Structure"]


class Structure:
    """Read-only facts about a canonically numbered forest of L nodes: the base of `Tree`.

    All but the simplest is computed when first asked for, then kept.

    Args:
        parent: int64[L], canonical parents, -1 for a root. Taken over, not copied.
        input_index: int64[L], canonical number -> the caller's index. Taken over, not copied.

    Example:
        >>> structure = Structure(np.array([2, 2, -1]), np.arange(3))
        >>> structure.num_leaves
        2
    """

    parent: NDArray[np.int64]
    input_index: NDArray[np.int64]
    _num_roots: int

    def __init__(self, parent: NDArray[np.int64], input_index: NDArray[np.int64]) -> None:
        # Past __setattr__, which refuses.
        self.__dict__.update(parent=_read_only(parent), input_index=_read_only(input_index))
        self.__dict__["_num_roots"] = int(np.count_nonzero(parent < 0))

    @property
    def num_nodes(self) -> int:
        """Number of nodes, L.

        Example:
            >>> from myosotis.tree import Tree
            >>> Tree.star(3).num_nodes
            4
        """
        return len(self.parent)

    @property
    def num_roots(self) -> int:
        """Number of roots: 1 for a tree, more for a forest.

        Example:
            >>> from myosotis.tree import Tree
            >>> Tree([-1, -1, 0]).num_roots
            2
        """
        return self._num_roots

    @property
    def num_edges(self) -> int:
        """Number of edges; the edge of node v < num_edges leads to its parent.

        Example:
            >>> from myosotis.tree import Tree
            >>> Tree.star(3).num_edges
            3
        """
        return self.num_nodes - self.num_roots

    @cached_property
    def num_leaves(self) -> int:
        """Number of nodes without children.

        Example:
            >>> from myosotis.tree import Tree
            >>> Tree.quadtree(28).num_leaves
            784
        """
        return int(np.count_nonzero(self.num_children == 0))

    @property
    def num_levels(self) -> int:
        """Number of levels: one more than the largest depth.

        Example:
            >>> from myosotis.tree import Tree
            >>> Tree.chain(5).num_levels
            5
        """
        return len(self._level_starts)

    @property
    def roots(self) -> NDArray[np.int64]:
        """int64[num_roots], the roots from left to right.

        Example:
            >>> from myosotis.tree import Tree
            >>> Tree([-1, -1, 0]).roots
            array([1, 2])
        """
        return _read_only(np.arange(self.num_edges, self.num_nodes, dtype=np.int64))

    @cached_property
    def leaves(self) -> NDArray[np.int64]:
        """int64[num_leaves], the leaves from left to right, as a depth-first walk meets them.

        Example:
            >>> from myosotis.tree import Tree
            >>> Tree.from_brackets("((a b) c (d))").leaves
            array([0, 1, 4, 2])
        """
        leaves = np.flatnonzero(self.num_children == 0)
        return _read_only(leaves[np.argsort(self.post_order[leaves])])

    @cached_property
    def num_children(self) -> NDArray[np.int64]:
        """int64[L], each node's number of children.

        Example:
            >>> from myosotis.tree import Tree
            >>> Tree([-1, 0, 0, 1]).num_children
            array([0, 1, 0, 2])
        """
        inner = self.parent[: self.num_edges]
        return _read_only(np.bincount(inner, minlength=self.num_nodes))

    @cached_property
    def first_child(self) -> NDArray[np.int64]:
        """int64[L], each node's leftmost child; 0 for a leaf.

        The children of v are `first_child[v]` up to `first_child[v] + num_children[v] - 1`.

        Example:
            >>> from myosotis.tree import Tree
            >>> Tree([-1, 0, 0, 1]).first_child
            array([0, 0, 0, 1])
        """
        parent = self.parent[: self.num_edges]
        first_siblings = np.flatnonzero(np.diff(parent, prepend=-1))
        first_child = np.zeros(self.num_nodes, dtype=np.int64)
        first_child[parent[first_siblings]] = first_siblings
        return _read_only(first_child)

    @cached_property
    def slot(self) -> NDArray[np.int64]:
        """int64[L], each node's place among its siblings, from 0; 0 for a root.

        Example:
            >>> from myosotis.tree import Tree
            >>> Tree.perfect(branching=2, depth=2).slot
            array([0, 1, 0, 1, 0, 1, 0])
        """
        slot = np.zeros(self.num_nodes, dtype=np.int64)
        parent = self.parent[: self.num_edges]
        slot[: self.num_edges] = np.arange(self.num_edges) - self.first_child[parent]
        return _read_only(slot)

    @cached_property
    def depth(self) -> NDArray[np.int64]:
        """int64[L], each node's distance from its root.

        Example:
            >>> from myosotis.tree import Tree
            >>> Tree([-1, 0, 0, 1]).depth
            array([2, 1, 1, 0])
        """
        depth_of_level = np.arange(self.num_levels, dtype=np.int64)[::-1]
        return _read_only(np.repeat(depth_of_level, self.level_sizes))

    @cached_property
    def height(self) -> NDArray[np.int64]:
        """int64[L], each node's distance from the farthest leaf below it; 0 for a leaf.

        Example:
            >>> from myosotis.tree import Tree
            >>> Tree([-1, 0, 0, 1]).height
            array([0, 1, 0, 2])
        """
        height = np.zeros(self.num_nodes, dtype=np.int64)
        for level in self.levels[:-1]:
            np.maximum.at(height, self.parent[level], height[level] + 1)
        return _read_only(height)

    @cached_property
    def level_sizes(self) -> tuple[int, ...]:
        """Number of nodes in each level, deepest first.

        Example:
            >>> from myosotis.tree import Tree
            >>> Tree([-1, 0, 0, 1]).level_sizes
            (1, 2, 1)
        """
        return tuple(np.diff(self._level_starts, append=self.num_nodes).tolist())

    @cached_property
    def levels(self) -> tuple[slice, ...]:
        """The nodes of each level, deepest first.

        Example:
            >>> from myosotis.tree import Tree
            >>> Tree([-1, 0, 0, 1]).levels
            (slice(0, 1, None), slice(1, 3, None), slice(3, 4, None))
        """
        starts = self._level_starts.tolist()
        return tuple(map(slice, starts, [*starts[1:], self.num_nodes]))

    @cached_property
    def post_order(self) -> NDArray[np.int64]:
        """int64[L], each node's place, from 0, in the depth-first post-order.

        Example:
            >>> from myosotis.tree import Tree
            >>> Tree.perfect(branching=2, depth=2).post_order
            array([0, 1, 3, 4, 2, 5, 6])
        """
        _, end = self._subtree_spans
        return _read_only(end - 1)

    @cached_property
    def leaf_spans(self) -> NDArray[np.int64]:
        """int64[L, 2], the leaves below each node: from the first to before the second.

        Leaves are counted from 0, left to right; a leaf is below itself.

        Example:
            >>> from myosotis.tree import Tree
            >>> Tree.perfect(branching=2, depth=2).leaf_spans[4:].tolist()
            [[0, 2], [2, 4], [0, 4]]
        """
        start, end = self._subtree_spans
        return _read_only(self._leaves_before[np.stack([start, end], axis=1)])

    @cached_property
    def member(self) -> NDArray[np.int64]:
        """int64[L], which tree of the forest each node belongs to, from 0, left to right.

        Example:
            >>> from myosotis.tree import Tree
            >>> Tree.forest([Tree.chain(1), Tree.star(2)]).member
            array([1, 1, 0, 1])
        """
        _, end = self._subtree_spans
        return _read_only(np.searchsorted(end[self.roots], self.post_order, side="right"))

    def children(self, node: int) -> NDArray[np.int64]:
        """Return the node's children from left to right, int64[number of children].

        Raises:
            TreeError: if there is no such node.

        Example:
            >>> from myosotis.tree import Tree
            >>> Tree.perfect(branching=2, depth=2).children(5)
            array([2, 3])
        """
        node = self._checked_node(node)
        first = self.first_child[node]
        return np.arange(first, first + self.num_children[node])

    def label(self, node: int) -> tuple[int, int]:
        """Return the first and last leaf below the node, counted from 1, left to right.

        Raises:
            TreeError: if there is no such node.

        Example:
            >>> from myosotis.tree import Tree
            >>> Tree.perfect(branching=2, depth=2).label(5)
            (3, 4)
        """
        first, end = self.leaf_spans[self._checked_node(node)]
        return int(first) + 1, int(end)

    @cached_property
    def _level_starts(self) -> NDArray[np.int64]:
        """int64[num_levels], the first node of each level, deepest first."""
        return level_starts(self.num_children)

    @cached_property
    def _subtree_spans(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """int64[L] twice, start and end of each node's subtree in the post-order."""
        return subtree_spans(self.parent)

    @cached_property
    def _leaves_before(self) -> NDArray[np.int64]:
        """int64[L + 1], number of leaves ahead of each place in the post-order."""
        is_leaf = np.empty(self.num_nodes, dtype=bool)
        is_leaf[self.post_order] = self.num_children == 0
        return np.concatenate([[0], np.cumsum(is_leaf)])

    def _checked_node(self, node: int) -> int:
        """Return `node` as an int if it is a node's number."""
        index = operator.index(node)
        if not 0 <= index < self.num_nodes:
            raise TreeError(f"node {node} does not exist: nodes are 0..{self.num_nodes - 1}")
        return index

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Tree is immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Tree is immutable: cannot delete {name!r}")


def _read_only(array: NDArray[np.int64]) -> NDArray[np.int64]:
    """Forbid writing to `array`, and return it."""
    array.setflags(write=False)
    return array
