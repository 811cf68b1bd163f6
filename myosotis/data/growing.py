"""Files that grow block by block while a dataset is generated.

Blocks are appended in order, whoever made them: how long the files are is all there is to know
about what is done, so a run that was killed goes on where it stopped and ends with the same bytes.
"""

import hashlib
import json
import os
import shutil
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from myosotis.data.progress import progress_bar
from myosotis.errors import DataError

__all__ = ["Arrays", "Recipe", "grow", "seal"]

_CHUNK = 2**20
_RECIPE = "recipe.json"

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Recipe:
    """All that the bytes of a generated dataset depend on.

    Attributes:
        version: of the generator; another one may draw other examples from the same seed.
        seed: of all draws.
        count: number of examples.
        arrays: dtype and shape of one example in each array.
        settings: of the generator, for the record.
        block: examples that are made in one go; the bytes do not depend on it.

    Example:
        >>> recipe = Recipe(1, 0, 100, {"images": ("|u1", (4, 4)), "labels": ("<i8", ())})
        >>> recipe.name, recipe.row_bytes("images")
        ('generated-v1-seed0-100', 16)
    """

    version: int
    seed: int
    count: int
    arrays: Mapping[str, tuple[str, tuple[int, ...]]]
    settings: Mapping[str, float] = field(default_factory=dict)
    block: int = 256

    @property
    def name(self) -> str:
        """Name of the folder that holds the dataset."""
        return f"generated-v{self.version}-seed{self.seed}-{self.count}"

    def row_bytes(self, array: str) -> int:
        """Size of one example in an array."""
        dtype, shape = self.arrays[array]
        return int(np.dtype(dtype).itemsize * np.prod(shape, dtype=np.int64))

    def as_json(self) -> dict[str, object]:
        """Return the recipe as it stands in a manifest."""
        return {
            "version": self.version,
            "seed": self.seed,
            "count": self.count,
            "settings": dict(self.settings),
            "arrays": {name: [dtype, list(shape)] for name, (dtype, shape) in self.arrays.items()},
        }


def grow(partial: Path, recipe: Recipe, make: Callable[[int, int], Arrays], workers: int) -> None:
    """Append to the files in the folder `partial` all examples that are not there yet.

    Raises:
        DataError: if the disk is too small.
    """
    _claim(partial, recipe)
    with ExitStack() as stack:
        files = {name: stack.enter_context(_opened(partial, name)) for name in recipe.arrays}
        done = _cut_to_whole_blocks(files, recipe)
        _check_space(partial, recipe, recipe.count - done)
        label = f"generating {partial.parent.name}"
        advance = stack.enter_context(progress_bar(label, recipe.count, done))
        for arrays in _in_order(make, range(done, recipe.count, recipe.block), recipe, workers):
            for name, file in files.items():
                dtype, shape = recipe.arrays[name]
                rows = np.ascontiguousarray(arrays[name], dtype=dtype).reshape(-1, *shape)
                file.write(rows.data)
                file.flush()  # what is still in our own hands is lost when we are killed
            advance(len(rows))


def seal(
    partial: Path, recipe: Recipe, finish: Callable[[Arrays], None]
) -> dict[str, tuple[int, str]]:
    """Finish the complete arrays; return size and sha256 of each file."""
    paths = [partial / f"{name}.npy" for name in recipe.arrays]
    finish({path.stem: np.load(path, mmap_mode="r+") for path in paths})
    (partial / _RECIPE).unlink(missing_ok=True)
    return {path.name: (path.stat().st_size, _sha256(path)) for path in paths}


def _claim(partial: Path, recipe: Recipe) -> None:
    """Make the folder, or empty it if what was begun there is something else."""
    path = partial / _RECIPE
    text = json.dumps(recipe.as_json(), indent=2)
    if partial.exists() and not (path.exists() and path.read_text() == text):
        shutil.rmtree(partial)
    partial.mkdir(exist_ok=True)
    path.write_text(text)


def _opened(partial: Path, name: str) -> BinaryIO:
    path = partial / f"{name}.npy"
    path.touch()
    return path.open("r+b")


def _cut_to_whole_blocks(files: Mapping[str, BinaryIO], recipe: Recipe) -> int:
    """Shorten the files to the blocks that all of them have; return how many examples these are."""
    done = recipe.count
    starts = {}
    for name, file in files.items():
        size = file.seek(0, os.SEEK_END)
        starts[name] = _write_header(file, recipe, name)
        done = min(done, max(0, size - starts[name]) // recipe.row_bytes(name))
    if done < recipe.count:
        done -= done % recipe.block
    for name, file in files.items():
        file.truncate(starts[name] + done * recipe.row_bytes(name))
        file.seek(0, os.SEEK_END)
    return done


def _write_header(file: BinaryIO, recipe: Recipe, name: str) -> int:
    """Write the header that the complete npy file will need; return where it ends."""
    dtype, shape = recipe.arrays[name]
    header = {"descr": dtype, "fortran_order": False, "shape": (recipe.count, *shape)}
    file.seek(0)
    np.lib.format.write_array_header_1_0(file, header)
    return file.tell()


def _check_space(folder: Path, recipe: Recipe, examples: int) -> None:
    needed = examples * sum(recipe.row_bytes(name) for name in recipe.arrays)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise DataError(
            f"{folder}: {needed:,} bytes are needed and {free:,} are free: "
            "make room, or choose another data folder"
        )


def _in_order(
    make: Callable[[int, int], Arrays], starts: range, recipe: Recipe, workers: int
) -> Iterator[Arrays]:
    """Yield the blocks that begin at `starts`, in order, while threads work a little ahead."""
    waiting: deque[Future[Arrays]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="generate") as pool:
        try:
            for start in starts:
                end = min(start + recipe.block, recipe.count)
                waiting.append(pool.submit(make, start, end))
                if len(waiting) > 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
