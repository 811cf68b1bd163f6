"""Mixers by name, so that a configuration can choose one."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Literal, TypeVar

import torch
from torch import nn

from myosotis.errors import ConfigError
from myosotis.tree import Tree

__all__ = ["available", "create", "needs_positions", "over", "register"]

Over = Literal["leaves", "nodes"]
Mixer = TypeVar("Mixer", bound=type[nn.Module])

_FACTORY_ARGUMENTS = ("device", "dtype")  # of `create` itself, never options of a mixer
_NO_OPTIONS: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True)
class _Entry:
    build: Callable[..., nn.Module]
    over: Over
    positions: bool
    options: tuple[str, ...]


_entries: dict[str, _Entry] = {}


def register(
    name: str, over: Over = "leaves", *, positions: bool = False
) -> Callable[[Mixer], Mixer]:
    """Enter the decorated class under `name`.

    Args:
        name: how configurations call it.
        over: "leaves" for a mixer of sequences, built as `Cls(dim, heads, …)`; "nodes" for one of
            all nodes of a tree, built as `Cls(dim, tree, heads, …)`. Keyword-only parameters of
            the class are its options.
        positions: whether it needs to be told where a token stands, as attention does.

    Raises:
        ConfigError: the name is taken.

    Example:
        >>> @register("identity")
        ... class Identity(torch.nn.Identity):
        ...     def __init__(self, dim, heads=None, *, device=None, dtype=None):
        ...         super().__init__()
        >>> create("identity", 4, Tree.chain(3))
        Identity()
        >>> _ = _entries.pop("identity")  # leave the registry as it was
    """
    if name in _entries:
        raise ConfigError(f"a mixer {name!r} is registered already")

    def enter(cls: Mixer) -> Mixer:
        parameters = inspect.signature(cls).parameters.values()
        options = (p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
        kept = tuple(sorted(o for o in options if o not in _FACTORY_ARGUMENTS))
        _entries[name] = _Entry(cls, over, positions, kept)
        return cls

    return enter


def available() -> tuple[str, ...]:
    """The names of all mixers, sorted.

    Example:
        >>> "s5" in available()
        True
    """
    return tuple(sorted(_entries))


def over(name: str) -> Over:
    """Whether the mixer works on the "leaves" or on all "nodes" of a tree.

    Raises:
        ConfigError: there is no such mixer.

    Example:
        >>> over("lstm"), over("tree-attention")
        ('leaves', 'nodes')
    """
    return _entry(name).over


def needs_positions(name: str) -> bool:
    """Whether the mixer has to be told where a token stands.

    Raises:
        ConfigError: there is no such mixer.

    Example:
        >>> needs_positions("s5"), needs_positions("attention")
        (False, True)
    """
    return _entry(name).positions


def create(
    name: str,
    dim: int,
    tree: Tree | None,
    heads: int | None = None,
    options: Mapping[str, object] = _NO_OPTIONS,
    *,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
) -> nn.Module:
    """Build a mixer.

    Args:
        name: one of `available()`.
        dim: number of features.
        tree: the tree of a mixer over nodes; mixers of sequences do without.
        heads: number of heads or states; None for the mixer's own choice.
        options: what else the mixer takes, by name.
        device: where its parameters are.
        dtype: of its parameters.

    Raises:
        ConfigError: the name, an option or its value does not exist.

    Example:
        >>> mixer = create("window", 8, Tree.chain(5), heads=2, options={"radius": 1})
        >>> mixer(torch.ones(1, 5, 8)).shape
        torch.Size([1, 5, 8])
    """
    entry = _entry(name)
    for option in options:
        if option not in entry.options:
            raise ConfigError(
                _unknown(f"option {option!r} of mixer {name!r}", option, entry.options)
            )
    leading = (dim, tree, heads) if entry.over == "nodes" else (dim, heads)
    return entry.build(*leading, **options, device=device, dtype=dtype)


def _entry(name: str) -> _Entry:
    if name not in _entries:
        raise ConfigError(_unknown(f"mixer {name!r}", name, available()))
    return _entries[name]


def _unknown(what: str, name: str, valid: tuple[str, ...]) -> str:
    if not valid:
        return f"there is no {what}: it has no options"
    nearest = get_close_matches(name, valid, n=1, cutoff=0.0)[0]
    return f"there is no {what}; the closest is {nearest!r} of: {', '.join(valid)}"
