"""Checks of the sizes that describe a tree or a grid."""

import operator
from typing import SupportsIndex

from myosotis.errors import TreeError

__all__ = ["checked_size"]


def checked_size(name: str, value: SupportsIndex, minimum: int = 1) -> int:
    """Return `value` as an int, or say which argument is not an integer of at least `minimum`.

    Example:
        >>> checked_size("height", 28)
        28
        >>> checked_size("height", 0)
        Traceback (most recent call last):
        myosotis.errors.TreeError: height must be an integer of at least 1, got 0
    """
    try:
        size = operator.index(value)
    except TypeError:
        size = minimum - 1
    if size < minimum:
        raise TreeError(f"{name} must be an integer of at least {minimum}, got {value!r}")
    return size
