"""Checks of the numbers and flags that a mixer is built with."""

from collections.abc import Sequence
from operator import index
from typing import SupportsIndex

from myosotis.errors import ConfigError

__all__ = ["checked_choice", "checked_count", "checked_flag"]


def checked_count(name: str, value: object, least: int = 1) -> int:
    """Return `value` if it is an integer of at least `least`.

    Raises:
        ConfigError: it is not.

    Example:
        >>> checked_count("radius", 3)
        3
    """
    if type(value) is not bool and isinstance(value, SupportsIndex) and index(value) >= least:
        return index(value)
    raise ConfigError(f"{name} must be an integer of at least {least}, got {value!r}")


def checked_flag(name: str, value: object) -> bool:
    """Return `value` if it is True or False; the text "false" would count as true.

    Raises:
        ConfigError: it is something else.

    Example:
        >>> checked_flag("causal", False)
        False
    """
    if not isinstance(value, bool):
        raise ConfigError(f"{name} must be True or False, got {value!r}")
    return value


def checked_choice(name: str, value: str, choices: Sequence[str]) -> str:
    """Return `value` if it is one of `choices`.

    Raises:
        ConfigError: it is not.

    Example:
        >>> checked_choice("init", "lin", ("legs", "lin"))
        'lin'
    """
    if value not in choices:
        raise ConfigError(f"{name} must be one of {', '.join(choices)}; got {value!r}")
    return value
