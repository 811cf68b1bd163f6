"""Trees by a short text, as arguments of commands."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from myosotis.errors import DataError, TreeError
from myosotis.tree import Tree
from myosotis.tree.sizes import checked_size

__all__ = ["FORMS", "parse_tree"]

FORMS = "chain:8, star:6, perfect:2x4, over:10x3, quad:8, quad:5x3, random:30, ((a b) c), cell.swc"

_NAMED = re.compile(r"([a-z]+):([0-9]+(?:x[0-9]+)*)")


def parse_tree(text: str) -> Tree:
    """Return the tree that a text describes.

    Args:
        text: a kind and its sizes, such as `perfect:2x4` (branching and depth) or `over:10x3`
            (leaves and branching); brackets; or the name of an SWC file.

    Raises:
        TreeError: it describes none.
        DataError: the file cannot be read.

    Example:
        >>> parse_tree("perfect:2x3")
        Tree(num_nodes=15, num_leaves=8, num_levels=4, num_roots=1)
        >>> parse_tree("((a b) c)").num_leaves
        3
    """
    if text.lower().endswith(".swc"):
        try:
            return Tree.from_swc(Path(text))
        except OSError as error:
            raise DataError(f"cannot read {text}: {error.strerror or error}") from None
    if text.lstrip().startswith(("(", "[")):
        return Tree.from_brackets(text)
    found = _NAMED.fullmatch(text.strip())
    kinds: dict[tuple[str, int], Callable[..., Tree]] = {
        ("chain", 1): Tree.chain,
        ("star", 1): Tree.star,
        ("perfect", 2): Tree.perfect,
        ("over", 2): Tree.over,
        ("quad", 1): Tree.quadtree,
        ("quad", 2): Tree.quadtree,
        ("random", 1): _random,
    }
    sizes = [] if found is None else [int(size) for size in found[2].split("x")]
    if found is None or (found[1], len(sizes)) not in kinds:
        raise TreeError(f"{text!r} is no tree: write one like {FORMS}")
    return kinds[found[1], len(sizes)](*sizes)


def _random(num_nodes: int) -> Tree:
    """Hang each node below any of those before it; the same tree each time."""
    others = np.arange(1, checked_size("number of nodes", num_nodes))
    return Tree(np.concatenate([[-1], np.random.default_rng(0).integers(others)]))
