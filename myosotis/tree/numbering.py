"""From a parent array in any order to the canonical numbering of its nodes."""

from array import array

import numpy as np
from numpy.typing import ArrayLike, NDArray

from myosotis.errors import TreeError

__all__ = ["canonical_numbering"]


def canonical_numbering(parents: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the nodes level by level, deepest first, and left to right within a level.

    Siblings, and roots, stand left to right in the order of their indices in `parents`.

    Args:
        parents: int[L], each node's parent or -1 for a root.

    Returns:
        parent: int64[L], the parents in the new numbers, -1 for a root.
        input_index: int64[L], new number -> index in `parents`.

    Raises:
        TreeError: if `parents` is not a forest; the message names a node at fault.

    Example:
        >>> canonical_numbering([-1, 0, 0, 1])
        (array([ 1,  3,  3, -1]), array([3, 1, 2, 0]))
    """
    parents = _checked_parents(parents)
    input_index = _deepest_first(parents)
    if len(input_index) < len(parents):
        raise TreeError(_describe_cycle(parents, input_index))
    number = np.empty_like(input_index)
    number[input_index] = np.arange(len(parents))
    old_parent = parents[input_index]
    return np.where(old_parent < 0, -1, number[old_parent]), input_index


def _checked_parents(parents: ArrayLike) -> NDArray[np.int64]:
    """Return `parents` as int64[L] with every value in -1..L-1."""
    array = np.asarray(parents)
    if array.ndim != 1:
        raise TreeError(f"parents must have one axis, got shape {array.shape}")
    num_nodes = len(array)
    if num_nodes == 0:
        raise TreeError("parents is empty: a tree has at least one node")
    if not np.issubdtype(array.dtype, np.integer):
        raise TreeError(f"parents must be integers, got dtype {array.dtype}")
    out_of_range = np.flatnonzero((array < -1) | (array >= num_nodes))
    if len(out_of_range):
        node = out_of_range[0]
        raise TreeError(
            f"parents[{node}] is {array[node]}, out of range: "
            f"it must be -1 for a root or a node in 0..{num_nodes - 1}"
        )
    return array.astype(np.int64)


def _deepest_first(parents: NDArray[np.int64]) -> NDArray[np.int64]:
    """List the nodes that hang from a root, in canonical order.

    Canonical order is the reverse of a breadth-first search that goes right to left. The search
    is a plain loop: it costs the same for a chain as for a star, where one array operation per
    level would be slow for a chain.
    """
    num_nodes = len(parents)
    by_parent = num_nodes - 1 - np.argsort(parents[::-1], kind="stable")
    ends = np.cumsum(np.bincount(parents + 1, minlength=num_nodes + 1))
    # Roots fill by_parent[:ends[0]], the children of v by_parent[ends[v]:ends[v + 1]].
    # `array` is quick to index one by one and, unlike a list, compact: half the cache misses.
    right_to_left, end = array("q", by_parent.tobytes()), array("q", ends.tobytes())
    queue = right_to_left[: end[0]]
    for node in queue:  # the queue grows while it is read
        queue.extend(right_to_left[end[node] : end[node + 1]])
    queue.reverse()
    return np.array(queue, dtype=np.int64)


def _describe_cycle(parents: NDArray[np.int64], reached: NDArray[np.int64]) -> str:
    """Name a node on a cycle, given the nodes that hang from a root."""
    is_reached = np.zeros(len(parents), dtype=bool)
    is_reached[reached] = True
    node = int(np.argmin(is_reached))
    # Walking up from a node that hangs from no root must come back to where it has been.
    seen = set()
    while node not in seen:
        seen.add(node)
        node = int(parents[node])
    reason = f"node {node} is on a cycle: following its parents leads back to it"
    return reason if len(reached) else f"there is no root (no parent is -1), and {reason}"
