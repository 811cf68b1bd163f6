"""Files and folders that are there completely or not at all, whenever the process is killed."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from myosotis.errors import ConfigError

__all__ = ["complaint", "read_folder", "write_file", "write_folder"]

_PARTIAL, _OLD = ".partial", ".old"


def write_file(path: Path, content: bytes) -> None:
    """Write a file under a temporary name, and rename it when it is on the disk.

    Raises:
        ConfigError: the disk is full, or the folder cannot be written to.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_file(Path(folder, "a.txt"), b"hello")
        ...     os.listdir(folder)
        ['a.txt']
    """
    partial = path.with_name(path.name + _PARTIAL)
    try:
        _write(partial, content)
        partial.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise complaint(path, error) from error


def write_folder(path: Path, contents: Mapping[str, bytes]) -> None:
    """Replace a folder of files by a new one as a whole.

    No system renames a folder over another, so for a moment only the old one, under another name,
    is there: `read_folder` knows it.

    Raises:
        ConfigError: the disk is full, or the folder cannot be written to.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_folder(Path(folder, "last"), {"a": b"1", "b": b"2"})
        ...     write_folder(Path(folder, "last"), {"a": b"3"})
        ...     os.listdir(folder), read_folder(Path(folder, "last")).name
        (['last'], 'last')
    """
    partial, old = (path.with_name(path.name + suffix) for suffix in (_PARTIAL, _OLD))
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        for name, content in contents.items():
            _write(partial / name, content)
        _sync_folder(partial)
        if path.exists():
            shutil.rmtree(old, ignore_errors=True)
            path.rename(old)
        partial.rename(path)
        _sync_folder(path.parent)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        raise complaint(path, error) from error


def read_folder(path: Path) -> Path | None:
    """Return where the newest complete version of a folder is; None if there is none.

    Example:
        >>> read_folder(Path("no-such-folder")) is None
        True
    """
    return next((p for p in (path, path.with_name(path.name + _OLD)) if p.is_dir()), None)


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    if os.name != "posix":  # elsewhere folders cannot be opened
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def complaint(path: Path, error: OSError) -> ConfigError:
    """Return what to tell the user about a file or folder that could not be written.

    Example:
        >>> print(complaint(Path("runs"), OSError(28, "No space left on device")))
        cannot write runs: No space left on device; make room or choose another folder ...
    """
    return ConfigError(
        f"cannot write {path}: {error.strerror}; make room or choose another folder with --run-dir"
    )
