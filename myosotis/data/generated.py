"""Generated datasets: made once, kept in files, mapped into memory ever after.

A finished dataset is a folder with one npy file for each of its arrays and a manifest that holds
the recipe and the files' checksums. It gets its name only when it is complete.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myosotis.data.growing import Arrays, Recipe, grow, seal
from myosotis.data.task import DataFile
from myosotis.errors import DataError

__all__ = ["Dataset", "dataset"]

_MANIFEST = "manifest.json"


@dataclass(frozen=True, eq=False)
class Dataset:
    """A finished dataset.

    Attributes:
        arrays: memory-mapped, read-only, examples along the first axis.
        files: what they are mapped from.
    """

    arrays: Arrays
    files: tuple[DataFile, ...]


def dataset(
    root: Path,
    place: str,
    recipe: Recipe,
    make: Callable[[int, int], Arrays],
    *,
    finish: Callable[[Arrays], None] = lambda arrays: None,
    workers: int | None = None,
) -> Dataset:
    """Return the dataset of a recipe; make it if it is not there.

    Args:
        root: the data folder.
        place: the folder inside it in which the dataset's own folder is, or will be.
        recipe: what to make.
        make: make(first, last) returns those examples; called from several threads at once.
        finish: called with the complete arrays, writable. It must bear being killed and repeated.
        workers: threads; as many as cores if not given. The result does not depend on it.

    Raises:
        DataError: if the files are damaged or from another recipe, or the disk is too small.

    Example:
        >>> import tempfile
        >>> recipe = Recipe(version=1, seed=0, count=5, arrays={"squares": ("<i8", ())}, block=2)
        >>> def make(first: int, last: int) -> dict[str, np.ndarray]:
        ...     return {"squares": np.arange(first, last) ** 2}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     dataset(Path(folder), "numbers", recipe, make).arrays["squares"].tolist()
        [0, 1, 4, 9, 16]
    """
    folder = root / place / recipe.name
    if not folder.exists():
        _generate(folder, recipe, make, finish, workers or os.cpu_count() or 1)
    manifest = _read_manifest(folder)
    if manifest.get("recipe") != recipe.as_json():
        raise DataError(_damaged(folder / _MANIFEST, "is of another recipe"))
    files = tuple(_checked_file(root, folder, manifest, name) for name in recipe.arrays)
    return Dataset({name: _map(folder, recipe, name) for name in recipe.arrays}, files)


def _generate(
    folder: Path,
    recipe: Recipe,
    make: Callable[[int, int], Arrays],
    finish: Callable[[Arrays], None],
    workers: int,
) -> None:
    """Make the folder of a dataset, unless another process does while we wait for it."""
    from filelock import FileLock

    partial = folder.with_name(f"{folder.name}.partial")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_name(f"{folder.name}.lock")):
            if folder.exists():
                return
            grow(partial, recipe, make, workers)
            manifest = {"recipe": recipe.as_json(), "files": seal(partial, recipe, finish)}
            (partial / _MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")
            os.replace(partial, folder)
    except OSError as error:
        raise DataError(
            f"{folder} cannot be written: {error.strerror or error}; choose another data folder"
        ) from None


def _read_manifest(folder: Path) -> Mapping[str, Any]:
    path = folder / _MANIFEST
    try:
        manifest = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise DataError(_damaged(path, f"cannot be read ({error})")) from None
    if not isinstance(manifest, dict):
        raise DataError(_damaged(path, "is no manifest"))
    return manifest


def _checked_file(root: Path, folder: Path, manifest: Mapping[str, Any], array: str) -> DataFile:
    """Return what the manifest says of the file of an array, having compared the size."""
    path = folder / f"{array}.npy"
    try:
        size, sha256 = manifest["files"][path.name]
    except (KeyError, TypeError, ValueError):
        raise DataError(_damaged(folder / _MANIFEST, f"lacks {path.name}")) from None
    found = path.stat().st_size if path.exists() else 0
    if found != size:
        raise DataError(_damaged(path, f"has {found:,} bytes, expected {size:,}"))
    return DataFile(path.relative_to(root).as_posix(), found, str(sha256))


def _map(folder: Path, recipe: Recipe, name: str) -> NDArray[Any]:
    path = folder / f"{name}.npy"
    dtype, shape = recipe.arrays[name]
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r")
    except ValueError as error:
        raise DataError(_damaged(path, f"is no npy file ({error})")) from None
    if array.dtype != dtype or array.shape != (recipe.count, *shape):
        raise DataError(_damaged(path, f"holds {array.dtype} {array.shape}"))
    return array


def _damaged(path: Path, fault: str) -> str:
    return f"{path} {fault}: remove {path.parent} to have it generated anew"
