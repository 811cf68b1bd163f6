"""Generating ListOps expressions as the Long Range Arena does."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from myosotis.data.listops_examples import Expressions
from myosotis.data.listops_kernels import Limits, draw_expressions
from myosotis.errors import DataError

__all__ = ["LRA", "draw_block", "generate", "replace_duplicates"]

LRA = Limits(max_depth=10, max_args=10, min_length=500, max_length=2000)
"""The Long Range Arena's limits: a digit counts 1, an operator 2 and its arguments."""


def generate(count: int, *, seed: int, limits: Limits = LRA, places: int = 2048) -> Expressions:
    """Draw `count` different expressions.

    Below the maximum depth a node is an operator with probability 1/4, else a digit; operators,
    numbers of arguments and digits are uniform. Expressions that are too short or too long are
    thrown away, and so are those that were there before.

    Args:
        count: how many.
        seed: of all draws.
        limits: on depth, arguments and length.
        places: columns of the result, at least `limits.max_length` - 1.

    Raises:
        DataError: if the limits leave too few different expressions.

    Example:
        >>> from myosotis.data.listops import as_text
        >>> expressions = generate(1, seed=0, limits=Limits(3, 5, min_length=5, max_length=12))
        >>> as_text(expressions.tokens[0, : expressions.lengths[0]]), int(expressions.labels[0])
        ('[MAX 5 [MED 5 4 9 5 ] ]', 5)
    """
    expressions = draw_block(seed, 0, count, limits, places)
    replace_duplicates(expressions, seed, limits)
    return expressions


def draw_block(
    seed: int, first: int, last: int, limits: Limits = LRA, places: int = 2048
) -> Expressions:
    """Draw the expressions with numbers first..last-1; some may be equal.

    Example:
        >>> whole, part = draw_block(7, 0, 4), draw_block(7, 2, 4)
        >>> bool((whole.tokens[2:] == part.tokens).all())
        True
    """
    count = last - first
    tokens = np.empty((count, places), dtype=np.uint8)
    lengths, labels = np.empty((2, count), dtype=np.int64)
    draw_expressions(seed, first, limits, tokens, lengths, labels)
    return Expressions(tokens, lengths, labels)


def replace_duplicates(expressions: Expressions, seed: int, limits: Limits = LRA) -> None:
    """Put the expressions after the last in place of those that stand there a second time.

    Doing it again changes nothing.

    Example:
        >>> expressions = draw_block(0, 0, 2, Limits(2, 3, min_length=1, max_length=6))
        >>> expressions.tokens[1] = expressions.tokens[0]
        >>> replace_duplicates(expressions, 0, Limits(2, 3, min_length=1, max_length=6))
        >>> bool((expressions.tokens[1] == expressions.tokens[0]).all())
        False
    """
    count, places = expressions.tokens.shape
    seen: set[bytes] = set()
    repeated = []
    for row in range(count):
        digest = _digest(expressions.tokens[row])
        if digest in seen:
            repeated.append(row)
        seen.add(digest)
    following = iter(range(count, 100 * (count + 10)))
    for row in repeated:
        for number in following:
            drawn = draw_block(seed, number, number + 1, limits, places)
            digest = _digest(drawn.tokens)
            if digest not in seen:
                break
        else:
            raise DataError(f"there are too few expressions within {limits} to find {count}")
        seen.add(digest)
        expressions.labels[row] = drawn.labels[0]
        expressions.lengths[row] = drawn.lengths[0]
        expressions.tokens[row] = drawn.tokens[0]  # last: until now the row counted as repeated


def _digest(tokens: NDArray[np.uint8]) -> bytes:
    return hashlib.blake2b(tokens.tobytes(), digest_size=16).digest()
