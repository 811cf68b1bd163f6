"""Minimum spanning trees of undirected graphs, by Prim's algorithm."""

from heapq import heappop, heappush

import numpy as np
from numpy.typing import ArrayLike, NDArray

from myosotis.errors import TreeError

__all__ = ["spanning_parents"]


def spanning_parents(
    weights: ArrayLike | tuple[ArrayLike, ArrayLike], *, root: int = 0
) -> NDArray[np.int64]:
    """Return the parents in a minimum spanning forest, rooted at `root`.

    A component without `root` is rooted at its smallest node.

    Args:
        weights: symmetric float[n, n] in which inf means no edge and the diagonal is ignored, or
            a tuple `(edges, edge_weights)` of int[m, 2] and float[m] for a sparse graph, whose
            nodes run up to the largest one named by an edge.
        root: the node to hang the tree from.

    Raises:
        TreeError: for weights that describe no undirected graph, or a root that is no node.

    Example:
        >>> spanning_parents([[0, 1, 5], [1, 0, 2], [5, 2, 0]])
        array([-1,  0,  1])
        >>> spanning_parents(([[0, 1], [1, 2], [0, 2]], [1.0, 2.0, 5.0]), root=2)
        array([ 1,  2, -1])
    """
    if isinstance(weights, tuple):
        edges, edge_weights = _checked_edges(*weights)
        num_nodes = int(edges.max()) + 1
        _check_root(root, num_nodes)
        return _prim_sparse(edges, edge_weights, num_nodes, root)
    matrix = _checked_matrix(weights)
    _check_root(root, len(matrix))
    return _prim_dense(matrix, root)


def _prim_dense(weights: NDArray[np.float64], root: int) -> NDArray[np.int64]:
    """Grow the tree by the nearest node, with one pass over a row of float[n, n] per node."""
    num_nodes = len(weights)
    parent = np.full(num_nodes, -1, dtype=np.int64)
    outside = np.ones(num_nodes, dtype=bool)
    distance = np.full(num_nodes, np.inf)  # of the nodes outside to the tree
    node = root
    for _ in range(num_nodes):
        outside[node] = False
        distance[node] = np.inf
        closer = outside & (weights[node] < distance)
        distance[closer] = weights[node, closer]
        parent[closer] = node
        nearest = int(np.argmin(distance))
        is_connected = distance[nearest] < np.inf
        node = nearest if is_connected else int(np.argmax(outside))
    return parent


def _prim_sparse(
    edges: NDArray[np.int64], edge_weights: NDArray[np.float64], num_nodes: int, root: int
) -> NDArray[np.int64]:
    """Grow the tree by the lightest edge that leaves it, kept on a heap."""
    source = np.concatenate([edges[:, 0], edges[:, 1]])
    by_source = np.argsort(source, kind="stable")
    ends = np.searchsorted(source[by_source], np.arange(num_nodes + 1)).tolist()
    targets = np.concatenate([edges[:, 1], edges[:, 0]])[by_source].tolist()
    lengths = np.concatenate([edge_weights, edge_weights])[by_source].tolist()

    parent = [-1] * num_nodes
    outside = [True] * num_nodes
    for start in (root, *range(num_nodes)):
        heap = [(0.0, start, -1)]
        while heap:
            _, node, origin = heappop(heap)
            if not outside[node]:
                continue
            outside[node] = False
            parent[node] = origin
            for edge in range(ends[node], ends[node + 1]):
                if outside[targets[edge]]:
                    heappush(heap, (lengths[edge], targets[edge], node))
    return np.array(parent, dtype=np.int64)


def _checked_matrix(weights: ArrayLike) -> NDArray[np.float64]:
    """Return a symmetric float64[n, n] without nan or -inf off the diagonal."""
    matrix = np.array(weights, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise TreeError(f"weights must be a square matrix, got shape {matrix.shape}")
    np.fill_diagonal(matrix, np.inf)
    unusable = np.argwhere(~(matrix > -np.inf))
    if len(unusable):
        row, column = unusable[0]
        value = matrix[row, column]
        raise TreeError(f"weights[{row}, {column}] is {value}: use inf where there is no edge")
    unequal = np.argwhere(matrix != matrix.T)
    if len(unequal):
        row, column = unequal[0]
        raise TreeError(
            f"weights must be symmetric, but weights[{row}, {column}] is {matrix[row, column]} "
            f"and weights[{column}, {row}] is {matrix[column, row]}"
        )
    return matrix


def _checked_edges(
    edges: ArrayLike, edge_weights: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return int64[m, 2] non-negative edges and their float64[m] finite weights."""
    pairs = np.asarray(edges)
    lengths = np.asarray(edge_weights, dtype=np.float64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not len(pairs):
        raise TreeError(f"edges must have shape (m, 2) with m > 0, got {pairs.shape}")
    if not np.issubdtype(pairs.dtype, np.integer):
        raise TreeError(f"edges must be integers, got dtype {pairs.dtype}")
    if lengths.shape != (len(pairs),):
        raise TreeError(f"{len(pairs)} edges need as many weights, got shape {lengths.shape}")
    negative = np.flatnonzero((pairs < 0).any(axis=1))
    if len(negative):
        edge = negative[0]
        raise TreeError(f"edges[{edge}] is {pairs[edge].tolist()}: a node cannot be negative")
    infinite = np.flatnonzero(~np.isfinite(lengths))
    if len(infinite):
        edge = infinite[0]
        raise TreeError(f"the weight of edges[{edge}] is {lengths[edge]}: it must be finite")
    return pairs.astype(np.int64), lengths


def _check_root(root: int, num_nodes: int) -> None:
    """Raise if `root` is not one of the graph's nodes."""
    if not 0 <= root < num_nodes:
        raise TreeError(f"root {root} is no node of the graph: it has nodes 0..{num_nodes - 1}")
