"""What is there of a task, and whether it is sound."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from myosotis.data.registry import Entry
from myosotis.data.source import file_digest
from myosotis.data.task import SPLITS, DataFile, Provenance, Task
from myosotis.errors import DataError

__all__ = ["Report", "Status", "check", "status"]


@dataclass(frozen=True)
class Status:
    """Whether the data of a task is at hand.

    Attributes:
        state: embedded in a library, present in the data folder, or how it would come there.
        size: bytes that it takes, or that would be downloaded; None if unknown.

    Example:
        >>> Status("present", 3_000_497).state
        'present'
    """

    state: Literal["embedded", "present", "downloadable", "generated on first use", "manual"]
    size: int | None


def status(entry: Entry, root: Path) -> Status:
    """Look for the files of a task, without reading them.

    Example:
        >>> from myosotis.data.registry import find
        >>> status(find("digits"), Path("nowhere")).state
        'embedded'
        >>> status(find("sst"), Path("nowhere"))
        Status(state='downloadable', size=789539)
    """
    if entry.origin == "embedded":
        return Status("embedded", None)
    if entry.source is not None:
        files = entry.source.files
        if all(entry.source.locate(file, root) for file in files):
            return Status("present", sum(file.size for file in files))
        return Status("downloadable", sum(d.size for d in entry.source.downloads))
    files_there = _finished_files(root / entry.folder) if entry.folder else []
    if files_there:
        return Status("present", sum(path.stat().st_size for path in files_there))
    return Status("generated on first use" if entry.origin == "generated" else "manual", None)


def _finished_files(folder: Path) -> list[Path]:
    """List the files below a folder, without those that are still being made."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    return [path for path in paths if ".partial" not in path.relative_to(folder).as_posix()]


@dataclass(frozen=True)
class Report:
    """What `check` found.

    Attributes:
        name: of the task.
        provenance: where the data came from, with the checksums that it was compared with.
        examples: number of examples in each split.
        balance: number of examples of each class, in each split.
        leaves: leaves of the tree that the examples share; None if each has its own.
        channels: values per leaf; 0 for tokens.
        vocabulary: number of tokens; 0 for values.

    Example:
        >>> from myosotis.data.registry import find, load
        >>> check(load("digits"), find("digits"), Path()).balance["validation"]
        [20, 20, 19, 20, 23, 9, 19, 12, 17, 21]
    """

    name: str
    provenance: Provenance
    examples: Mapping[str, int]
    balance: Mapping[str, Sequence[int]]
    leaves: int | None
    channels: int
    vocabulary: int


def check(task: Task, entry: Entry, root: Path) -> Report:
    """Count the examples of a task, and compare its files with their checksums.

    Args:
        task: as loaded, which has compared a publisher's files already.
        entry: of the task.
        root: the data folder.

    Raises:
        DataError: for a file that was altered, a label that is no class, or a split without
            examples.

    Example:
        >>> from myosotis.data.registry import find, load
        >>> check(load("digits"), find("digits"), Path()).examples
        {'train': 1257, 'validation': 180, 'test': 360}
    """
    if entry.source is None:
        for file in task.provenance.files:
            _verify(root / file.path, file)
    labels = {name: task.split(name).labels for name in SPLITS}
    for name, found in labels.items():
        if not len(found) or found.min() < 0 or found.max() >= task.num_classes:
            raise DataError(
                f"{task.name}: the {name} labels are not all in 0..{task.num_classes - 1}"
            )
    return Report(
        name=task.name,
        provenance=task.provenance,
        examples={name: len(found) for name, found in labels.items()},
        balance={
            name: np.bincount(found, minlength=task.num_classes).tolist()
            for name, found in labels.items()
        },
        leaves=None if task.tree is None else task.tree.num_leaves,
        channels=task.channels,
        vocabulary=task.vocabulary,
    )


def _verify(path: Path, expected: DataFile) -> None:
    found = file_digest(path, "sha256")
    if found != expected.sha256:
        raise DataError(f"{path} was altered: its sha256 is {found}, expected {expected.sha256}")
