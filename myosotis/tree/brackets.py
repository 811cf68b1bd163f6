"""Trees written as bracketed text: parse trees, nested expressions."""

import re
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from myosotis.errors import TreeError

__all__ = ["bracket_parents"]

_TOKEN = re.compile(r"[()\[\]]|[^\s()\[\]]+")
_CLOSING = {"(": ")", "[": "]"}


def bracket_parents(text: str, *, labels: bool = False) -> NDArray[np.int64]:
    """Return the parents of the nodes in the order in which they begin in `text`.

    Every pair of brackets, round or square, is a node, and so is every word. With `labels`, a
    word right after an opening bracket names that node and is none itself, and a pair that holds
    a label and one word, such as `(NN dog)`, is a single leaf.

    Args:
        text: one or several trees; several make a forest.
        labels: whether the first word in a pair of brackets is a label.

    Raises:
        TreeError: for unbalanced, mismatched or empty brackets, with the position in `text`.

    Example:
        >>> bracket_parents("((a b) c)")
        array([-1,  0,  1,  1,  0])
        >>> bracket_parents("(S (NN dogs) (VB bark))", labels=True)
        array([-1,  0,  0])
    """
    parents, is_word = _parse(text, labels)
    if not parents:
        raise TreeError("the text is empty: a tree has at least one node")
    parent = np.array(parents, dtype=np.int64)
    return _without_lone_words(parent, np.array(is_word)) if labels else parent


def _parse(text: str, labels: bool) -> tuple[list[int], list[bool]]:
    """Return each node's parent, and whether it is a word rather than a pair of brackets."""
    parents: list[int] = []
    is_word: list[bool] = []
    open_nodes = [-1]
    awaited: list[tuple[str, int]] = []  # closing bracket, index of the opening token
    previous = ""
    for index, token in enumerate(_TOKEN.findall(text)):
        if token in _CLOSING:
            open_nodes.append(len(parents))
            parents.append(open_nodes[-2])
            is_word.append(False)
            awaited.append((_CLOSING[token], index))
        elif token in (")", "]"):
            if not awaited or awaited[-1][0] != token or previous in _CLOSING:
                raise TreeError(_describe_closing(text, index, token, awaited))
            awaited.pop()
            open_nodes.pop()
        elif not (labels and previous in _CLOSING):
            parents.append(open_nodes[-1])
            is_word.append(True)
        previous = token
    if awaited:
        closing, index = awaited[-1]
        raise TreeError(f"bracket at position {_position(text, index)} needs a {closing!r}")
    return parents, is_word


def _without_lone_words(parent: NDArray[np.int64], is_word: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Drop words that are their parent's only child, so that the parent becomes the leaf."""
    num_children = np.bincount(parent + 1, minlength=len(parent) + 1)[1:]
    keep = ~is_word | (parent < 0) | (num_children[parent] > 1)
    new_number = np.cumsum(keep) - 1
    kept_parent = parent[keep]
    return np.where(kept_parent < 0, -1, new_number[kept_parent])


def _describe_closing(text: str, index: int, token: str, awaited: list[tuple[str, int]]) -> str:
    """Say why the closing bracket that is token number `index` cannot stand where it does."""
    where = f"{token!r} at position {_position(text, index)}"
    if not awaited:
        return f"{where} closes a bracket that was never opened"
    closing, opening_index = awaited[-1]
    opening = f"the bracket at position {_position(text, opening_index)}"
    if closing != token:
        return f"{where} does not match {opening}, which needs a {closing!r}"
    return f"{opening} is empty: a node in brackets has a child or a label"


def _position(text: str, index: int) -> int:
    """Return where in `text` token number `index` begins, counting characters from 0."""
    return next(islice(_TOKEN.finditer(text), index, None)).start()
