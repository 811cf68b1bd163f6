"""The list of tasks, and how one is asked for by name."""

import difflib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from myosotis.data.folder import data_folder
from myosotis.data.source import Source
from myosotis.data.task import Task
from myosotis.errors import ConfigError

__all__ = ["Entry", "Loader", "Origin", "available", "find", "load", "register"]

Loader = Callable[[Path], Task]
Origin = Literal["download", "generated", "embedded", "manual"]

# Each registers its tasks when it is imported, which happens when the list is first asked for.
_MODULES = (
    "myosotis.data.digits",
    "myosotis.data.images",
    "myosotis.data.imdb",
    "myosotis.data.listops_task",
    "myosotis.data.pathfinder",
    "myosotis.data.sst",
)
_entries: dict[str, "Entry"] = {}


@dataclass(frozen=True)
class Entry:
    """One line of the list of tasks.

    Attributes:
        name: what `load` takes.
        summary: what it is, in a few words.
        origin: whether the data is downloaded, generated, part of a library, or put there by hand.
        loader: makes the task from the data folder.
        unpadded: the same without padding, where there is such a thing.
        source: the publisher's files, if it has any.
        folder: where its files are, inside the data folder; None if it has none.

    Example:
        >>> find("zmnist").folder
        'mnist'
    """

    name: str
    summary: str
    origin: Origin
    loader: Loader
    unpadded: Loader | None = None
    source: Source | None = None
    folder: str | None = None


def register(
    name: str,
    *,
    summary: str,
    origin: Origin,
    source: Source | None = None,
    folder: str | None = None,
    unpadded: Loader | None = None,
) -> Callable[[Loader], Loader]:
    """Add a task to the list under `name`, to be made by the decorated function.

    The arguments are those of `Entry`; the folder of a `source` need not be repeated.

    Raises:
        ConfigError: if the name is taken.

    Example:
        >>> @register("digits", summary="another one", origin="embedded")
        ... def load_digits(root: Path) -> Task: ...
        Traceback (most recent call last):
        myosotis.errors.ConfigError: a task called 'digits' is there already
    """

    def add(loader: Loader) -> Loader:
        if name in _entries:
            raise ConfigError(f"a task called {name!r} is there already")
        place = source.folder if source is not None else folder
        _entries[name] = Entry(name, summary, origin, loader, unpadded, source, place)
        return loader

    return add


def available() -> Mapping[str, Entry]:
    """Return all tasks by name, in alphabetical order.

    Example:
        >>> available()["digits"].origin
        'embedded'
    """
    for module in _MODULES:
        import_module(module)
    return MappingProxyType(dict(sorted(_entries.items())))


def find(name: str) -> Entry:
    """Return the entry of a task.

    Raises:
        ConfigError: if there is none of that name, with the closest one and the list.

    Example:
        >>> find("digitz")
        Traceback (most recent call last):
        myosotis.errors.ConfigError: no task is called 'digitz': did you mean 'digits'? ...
    """
    entries = available()
    if name not in entries:
        close = difflib.get_close_matches(name, entries, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise ConfigError(f"no task is called {name!r}: {hint}There are {', '.join(entries)}")
    return entries[name]


def load(name: str, root: str | os.PathLike[str] | None = None, *, pad: bool = True) -> Task:
    """Load a task.

    Args:
        name: one of `available()`.
        root: the data folder; `MYOSOTIS_DATA` or else the user's cache if not given.
        pad: False leaves images of 28×28 as they are, on a quad-tree of 784 leaves, instead of
            padding them to 32×32.

    Raises:
        ConfigError: for an unknown name, or `pad=False` for a task that is not padded.
        DataError: for a file that is missing, truncated or altered.

    Example:
        >>> task = load("digits")
        >>> task.num_classes, len(task.train), len(task.validation), len(task.test)
        (10, 1257, 180, 360)
    """
    entry = find(name)
    if pad:
        return entry.loader(data_folder(root))
    if entry.unpadded is None:
        raise ConfigError(f"pad=False means nothing to {name!r}, which is not padded: leave it out")
    return entry.unpadded(data_folder(root))
