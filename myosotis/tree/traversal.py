"""What follows from canonical parents: where levels begin, and what lies below each node.

The loops run over plain lists because each step needs the one before it; a chain would leave an
array operation per level with a single element.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["level_starts", "subtree_spans"]


def level_starts(num_children: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of every level's first node, deepest level first.

    Args:
        num_children: int64[L], in canonical numbering.

    Example:
        >>> level_starts(np.array([0, 0, 2, 0, 2]))
        array([0, 2, 4])
    """
    # The children of nodes 0..s-1 are the first nodes of all. So if a level starts at s, the next
    # deeper one starts right after them, and the top level after the children of all nodes.
    num_children_before = np.concatenate([[0], np.cumsum(num_children)]).tolist()
    starts = [num_children_before[-1]]
    while starts[-1] > 0:
        starts.append(num_children_before[starts[-1]])
    return np.array(starts[::-1], dtype=np.int64)


def subtree_spans(parent: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each node's subtree lies in the depth-first post-order.

    Args:
        parent: int64[L], canonical parents.

    Returns:
        start: int64[L], first place of the subtree.
        end: int64[L], one past its last place, which is that of the node itself.

    Example:
        >>> start, end = subtree_spans(np.array([2, 2, 4, 4, -1]))
        >>> start
        array([0, 1, 0, 3, 0])
        >>> end
        array([1, 2, 3, 4, 5])
    """
    num_nodes = len(parent)
    num_edges = num_nodes - int(np.count_nonzero(parent < 0))
    above = parent.tolist()

    size_below = [1] * num_nodes
    for node in range(num_edges):
        size_below[above[node]] += size_below[node]
    size = np.array(size_below, dtype=np.int64)

    # Siblings, and roots, are contiguous: their subtrees follow each other.
    is_first_sibling = np.diff(parent, prepend=-2) != 0
    before = np.cumsum(size) - size
    group = np.cumsum(is_first_sibling) - 1
    start_list = (before - before[is_first_sibling][group]).tolist()
    for node in reversed(range(num_edges)):
        start_list[node] += start_list[above[node]]
    start = np.array(start_list, dtype=np.int64)
    return start, start + size
