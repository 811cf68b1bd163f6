"""Small trees from a line of text, and a system to solve on them."""

import re
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from myosotis.errors import TreeError
from myosotis.linalg import TreeMatrix
from myosotis.plot import example_matrix
from myosotis.tree import Tree

__all__ = ["SolvedSystem", "random_tree_text", "read_tree", "solve_example"]

_INTEGER = re.compile(r"[+-]?\d+")
_LONGEST = 4_000  # characters


def read_tree(text: str) -> Tree:
    """Return the tree that a text writes down.

    Args:
        text: words in brackets, such as `((a b) c)`; or the parent of each node, counted from 0
            and -1 for a root, such as `-1, 0, 0`, with or without square brackets around them.

    Raises:
        TreeError: the text is too long for a page, or is no tree.

    Example:
        >>> read_tree("((a b) c)") == read_tree("-1, 0, 1, 1, 0")
        True
        >>> read_tree("1, 0")
        Traceback (most recent call last):
        myosotis.errors.TreeError: ...
    """
    if len(text) > _LONGEST:
        raise TreeError(f"the text has {len(text):,} characters: {_LONGEST:,} fit on this page")
    parents = _parents(text.strip())
    return Tree.from_brackets(text) if parents is None else Tree(parents)


def _parents(text: str) -> list[int] | None:
    """The parents that a text lists; None if it is not a list of numbers."""
    if text.startswith("[") and text.endswith("]") and "," in text:
        text = text[1:-1]  # without commas it would be words in brackets
    words = text.replace(",", " ").split()
    if not words or not all(map(_INTEGER.fullmatch, words)):
        return None
    return [int(word) for word in words]


def random_tree_text(num_nodes: int, seed: int) -> str:
    """Write down a tree in which each node hangs below any of those before it.

    Example:
        >>> read_tree(random_tree_text(9, seed=0)).num_nodes
        9
    """
    parents = np.random.default_rng(seed).integers(np.arange(1, num_nodes))
    return ", ".join(map(str, [-1, *parents.tolist()]))


@dataclass(frozen=True, eq=False)
class SolvedSystem:
    """A system T x = u of scalars on a tree, with its solution.

    Attributes:
        matrix: T.
        right_side: float64[L], u in canonical numbering.
        solution: float64[L], x.
        residual: float64[L], u − T x.

    Example:
        >>> solve_example(Tree.chain(3), seed=0).solution.shape
        (3,)
    """

    matrix: TreeMatrix
    right_side: NDArray[np.float64]
    solution: NDArray[np.float64]
    residual: NDArray[np.float64]


def solve_example(tree: Tree, seed: int) -> SolvedSystem:
    """Solve the system that `myosotis.plot.example_matrix` makes, for a random right-hand side.

    Example:
        >>> float(np.abs(solve_example(Tree.perfect(2, 3), seed=1).residual).max()) < 1e-14
        True
    """
    matrix = example_matrix(tree)
    u = torch.from_numpy(np.random.default_rng(seed).standard_normal((tree.num_nodes, 1)))
    x = matrix.solve(u)
    assert isinstance(x, torch.Tensor)  # blocks are not given per level
    product = matrix @ x
    assert isinstance(product, torch.Tensor)
    u_v, x_v, left = (t.squeeze(-1).numpy() for t in (u, x, u - product))
    return SolvedSystem(matrix, u_v, x_v, left)
