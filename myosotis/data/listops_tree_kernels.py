"""The trees of ListOps expressions and the values in them, compiled.

Operators are at inner nodes, digits at leaves.
"""

import numpy as np
from numpy.typing import NDArray

from myosotis.compiled import kernel
from myosotis.data.listops import CLOSE, FIRST_DIGIT, FIRST_OPERATOR
from myosotis.data.listops_kernels import apply_operator

__all__ = ["choose_lists", "expression_trees", "list_values", "node_values"]


@kernel
def expression_trees(
    tokens: NDArray[np.uint8], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.int64]]:
    """Return the trees of expressions that are laid end to end.

    Args:
        tokens: uint8[total] of complete expressions, without padding.
        offsets: int64[number + 1], where each begins.

    Returns:
        int32[nodes] each node's parent, counted from the first node of its own expression, -1 for
        a root; uint8[nodes] its token; int64[number + 1] where the nodes of each expression begin.
        Nodes are in the order of the text; `]` is none.

    Example:
        >>> from myosotis.data.listops import tokenize
        >>> parents, _, _ = expression_trees(tokenize("[MAX 2 [MIN 4 7 ] 0 ]"), np.array([0, 8]))
        >>> parents
        array([-1,  0,  0,  2,  2,  0], dtype=int32)
    """
    total = np.sum(tokens != CLOSE)
    parents = np.empty(total, dtype=np.int32)
    node_tokens = np.empty(total, dtype=np.uint8)
    node_offsets = np.zeros(len(offsets), dtype=np.int64)
    end = 0
    for expression in range(len(offsets) - 1):
        start = end
        inside = -1  # the innermost operator that is still open
        for place in range(offsets[expression], offsets[expression + 1]):
            token = tokens[place]
            if token == CLOSE:
                inside = parents[start + inside]
                continue
            parents[end] = inside
            node_tokens[end] = token
            if token >= FIRST_OPERATOR:
                inside = end - start
            end += 1
        node_offsets[expression + 1] = end
    return parents, node_tokens, node_offsets


@kernel
def node_values(
    parents: NDArray[np.int32], tokens: NDArray[np.uint8], offsets: NDArray[np.int64]
) -> NDArray[np.int8]:
    """Return the value of every node of expressions as `expression_trees` gives them, 0 to 9.

    Example:
        >>> from myosotis.data.listops import tokenize
        >>> trees = expression_trees(tokenize("[MAX 2 [MIN 4 7 ] 0 ]"), np.array([0, 8]))
        >>> node_values(*trees)
        array([4, 2, 4, 4, 7, 0], dtype=int8)
    """
    values = np.empty(len(tokens), dtype=np.int8)
    for expression in range(len(offsets) - 1):
        first, last = offsets[expression], offsets[expression + 1]
        found = np.zeros((last - first, 10), dtype=np.int64)  # how often an argument has each value
        for node in range(last - 1, first - 1, -1):  # arguments come after their operator
            if tokens[node] < FIRST_OPERATOR:
                value = int(tokens[node]) - FIRST_DIGIT
            else:
                arguments = np.repeat(np.arange(10), found[node - first])
                value = apply_operator(int(tokens[node]) - FIRST_OPERATOR, arguments)
            values[node] = value
            if parents[node] >= 0:
                found[parents[node], value] += 1
    return values


@kernel
def list_values(
    tokens: NDArray[np.uint8], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.int8], NDArray[np.int16]]:
    """Return the value and height of its list for every `]` of expressions laid end to end.

    Other tokens have the value -1 and the height 0. A list of digits has the height 1.

    Example:
        >>> from myosotis.data.listops import tokenize
        >>> list_values(tokenize("[MAX 2 [MIN 4 7 ] 0 ]"), np.array([0, 8]))
        (array([-1, -1, -1, -1, -1,  4, -1,  4], dtype=int8),
         array([0, 0, 0, 0, 0, 1, 0, 2], dtype=int16))
    """
    parents, node_tokens, node_offsets = expression_trees(tokens, offsets)
    values = node_values(parents, node_tokens, node_offsets)
    heights = np.zeros(len(parents), dtype=np.int16)
    at_end = np.full(len(tokens), -1, dtype=np.int8)
    heights_at_end = np.zeros(len(tokens), dtype=np.int16)
    for expression in range(len(offsets) - 1):
        first = node_offsets[expression]
        for later in range(node_offsets[expression + 1] - 1, first, -1):
            above = first + parents[later]
            heights[above] = max(heights[above], heights[later] + 1)
        node, inside = first, -1
        for place in range(offsets[expression], offsets[expression + 1]):
            if tokens[place] == CLOSE:
                at_end[place] = values[first + inside]
                heights_at_end[place] = heights[first + inside]
                inside = parents[first + inside]
                continue
            if tokens[place] >= FIRST_OPERATOR:
                inside = node - first
            node += 1
    return at_end, heights_at_end


@kernel
def choose_lists(
    tokens: NDArray[np.integer],
    offsets: NDArray[np.int64],
    heights: NDArray[np.int16],
    wanted: NDArray[np.int64],
    draws: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where one list of each expression begins and ends, all laid end to end.

    Args:
        tokens: [total] of complete expressions.
        offsets: int64[number + 1], where each begins.
        heights: int16[total], as `list_values` gives them.
        wanted: int64[number], the height of the list; the whole expression if it has none such.
        draws: float64[number], at least 0 and below 1: which of those that are as high.

    Example:
        >>> from myosotis.data.listops import tokenize
        >>> tokens, offsets = tokenize("[MAX 2 [MIN 4 7 ] 0 ]"), np.array([0, 8])
        >>> _, heights = list_values(tokens, offsets)
        >>> choose_lists(tokens, offsets, heights, np.array([1]), np.array([0.5]))
        (array([2]), array([6]))
    """
    begins, ends = offsets[:-1].copy(), offsets[1:].copy()
    for expression in range(len(wanted)):
        first, last = offsets[expression], offsets[expression + 1]
        as_high = heights[first:last] == wanted[expression]
        left = int(draws[expression] * np.sum(as_high))
        for place in range(last - first):
            if not as_high[place]:
                continue
            if left == 0:
                begin, open_lists = first + place, 1
                while open_lists:
                    begin -= 1
                    if tokens[begin] == CLOSE:
                        open_lists += 1
                    elif tokens[begin] >= FIRST_OPERATOR:
                        open_lists -= 1
                begins[expression], ends[expression] = begin, first + place + 1
                break
            left -= 1
    return begins, ends
