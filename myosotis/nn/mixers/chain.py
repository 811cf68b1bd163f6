"""Chains by their length, for mixers that see a sequence as one."""

import operator

import torch

from myosotis.tree import Tree

__all__ = ["chain"]

_MOST_CHAINS = 256  # kept at a time; the oldest goes first


class _Chains:
    """Holds the chain of length n as its attribute `of_n`."""


_chains = _Chains()


def chain(length: int) -> Tree:
    """`Tree.chain(length)`, made once for each length.

    In code that is traced, too: a compiled graph is for one length, and holds its chain as a
    constant. Tracers look into the attributes of an object, but not behind `lru_cache`.

    Example:
        >>> chain(4) is chain(4)
        True
    """
    length = operator.index(length)  # of a length that a tracer left open, the actual one
    _remember(length)
    tree: Tree = getattr(_chains, f"of_{length}")
    return tree


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _remember(length: int) -> None:
    kept = vars(_chains)
    if f"of_{length}" not in kept:
        while len(kept) >= _MOST_CHAINS:
            del kept[next(iter(kept))]
        kept[f"of_{length}"] = Tree.chain(length)
