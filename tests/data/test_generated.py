"""Generated datasets: the same bytes however they came about, and no trust in damaged files."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from myosotis.data import growing
from myosotis.data.generated import Dataset, dataset
from myosotis.data.growing import Arrays, Recipe
from myosotis.errors import DataError

RECIPE = Recipe(
    version=3,
    seed=7,
    count=103,
    arrays={"squares": ("<i8", ()), "bytes": ("|u1", (5, 2))},
    settings={"power": 2.0},
    block=10,
)
FOLDER = "generated-v3-seed7-103"


def make(first: int, last: int) -> Arrays:
    numbers = np.arange(first, last)
    return {"squares": numbers**2, "bytes": np.outer(numbers, np.arange(10)) % 256}


def made(root: Path, function: Callable[[int, int], Arrays] = make, **options: int) -> Dataset:
    return dataset(root, "numbers", RECIPE, function, **options)


def interrupted(root: Path, after: int) -> None:
    def fails(first: int, last: int) -> Arrays:
        if first >= after:
            raise KeyboardInterrupt
        return make(first, last)

    with pytest.raises(KeyboardInterrupt):
        made(root, fails, workers=1)
    assert os.listdir(root / "numbers" / f"{FOLDER}.partial")
    assert not (root / "numbers" / FOLDER).exists()


def contents(root: Path) -> dict[str, bytes]:
    folder = root / "numbers" / FOLDER
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_arrays_hold_what_was_made(tmp_path: Path) -> None:
    arrays = made(tmp_path).arrays
    np.testing.assert_array_equal(arrays["squares"], np.arange(103) ** 2)
    np.testing.assert_array_equal(arrays["bytes"][102].reshape(-1), np.arange(10) * 102 % 256)
    assert isinstance(arrays["bytes"], np.memmap)
    assert not arrays["bytes"].flags.writeable
    assert sorted(contents(tmp_path)) == ["bytes.npy", "manifest.json", "squares.npy"]


@pytest.mark.parametrize("workers", [2, 5])
def test_bytes_do_not_depend_on_the_number_of_workers(tmp_path: Path, workers: int) -> None:
    made(tmp_path / "one", workers=1)
    made(tmp_path / "many", workers=workers)
    assert contents(tmp_path / "one") == contents(tmp_path / "many")


def test_a_finished_dataset_is_not_made_again(tmp_path: Path) -> None:
    def unwanted(first: int, last: int) -> Arrays:
        raise NotImplementedError

    first = made(tmp_path)
    assert made(tmp_path, unwanted).files == first.files


@pytest.mark.parametrize("torn", [0, 1, 37])
def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path, torn: int) -> None:
    made(tmp_path / "whole")
    interrupted(tmp_path / "cut", after=60)
    path = tmp_path / "cut" / "numbers" / f"{FOLDER}.partial" / "bytes.npy"
    os.truncate(path, path.stat().st_size - torn)
    starts = []

    def watched(first: int, last: int) -> Arrays:
        starts.append(first)
        return make(first, last)

    made(tmp_path / "cut", watched, workers=1)
    assert min(starts) == (60 if torn == 0 else 50)
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")


def test_what_was_begun_with_other_settings_is_dropped(tmp_path: Path) -> None:
    made(tmp_path / "whole")
    interrupted(tmp_path / "cut", after=60)
    recipe = tmp_path / "cut" / "numbers" / f"{FOLDER}.partial" / "recipe.json"
    recipe.write_text(recipe.read_text().replace("2.0", "3.0"))
    starts = []

    def watched(first: int, last: int) -> Arrays:
        starts.append(first)
        return make(first, last)

    made(tmp_path / "cut", watched)
    assert min(starts) == 0
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")


def test_finishing_touches_are_repeated_after_a_failure(tmp_path: Path) -> None:
    def breaks(arrays: Arrays) -> None:
        arrays["squares"][0] = -1
        raise KeyboardInterrupt

    def negate_first(arrays: Arrays) -> None:
        arrays["squares"][0] = -1

    with pytest.raises(KeyboardInterrupt):
        dataset(tmp_path, "numbers", RECIPE, make, finish=breaks)
    arrays = dataset(tmp_path, "numbers", RECIPE, make, finish=negate_first).arrays
    assert arrays["squares"][:3].tolist() == [-1, 1, 4]


def test_an_error_of_the_generator_comes_through(tmp_path: Path) -> None:
    def broken(first: int, last: int) -> Arrays:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        made(tmp_path, broken)


def damaged(root: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    made(root)
    path = root / "numbers" / FOLDER / name
    path.write_bytes(change(path.read_bytes()))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("bytes.npy", lambda b: b[:-1], r"bytes\.npy has 1,157 bytes, expected 1,158"),
        ("squares.npy", lambda b: b"", r"squares\.npy has 0 bytes, expected"),
        ("squares.npy", lambda b: b"?" + b[1:], r"squares\.npy is no npy file"),
        ("bytes.npy", lambda b: b.replace(b"|u1", b"|i1"), r"bytes\.npy holds int8 \(103, 5, 2\)"),
        ("manifest.json", lambda b: b[:-9], r"manifest\.json cannot be read"),
        ("manifest.json", lambda b: b"[]", r"manifest\.json is no manifest"),
        ("manifest.json", lambda b: b"{}", r"manifest\.json is of another recipe"),
        ("manifest.json", lambda b: b.replace(b"2.0", b"3.0"), r"is of another recipe"),
        ("manifest.json", lambda b: b.replace(b"bytes.npy", b"b"), r"lacks bytes\.npy"),
    ],
)
def test_damaged_files_are_refused(
    tmp_path: Path, name: str, change: Callable[[bytes], bytes], message: str
) -> None:
    damaged(tmp_path, name, change)
    with pytest.raises(DataError, match=f"{message}.*: remove .*{FOLDER} to have it generated"):
        made(tmp_path)


def test_files_have_the_checksums_of_the_manifest(tmp_path: Path) -> None:
    import hashlib

    files = made(tmp_path).files
    manifest = json.loads(contents(tmp_path)["manifest.json"])
    assert manifest["recipe"]["seed"] == 7
    for file in files:
        content = (tmp_path / file.path).read_bytes()
        assert file.size == len(content)
        assert file.sha256 == hashlib.sha256(content).hexdigest()


def test_a_disk_that_is_too_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(growing.shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(DataError, match=r"1,854 bytes are needed and 1,000 are free"):
        made(tmp_path)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "numbers").write_text("a file where the folder should be")
    with pytest.raises(DataError, match=r"cannot be written: .*; choose another data folder"):
        made(tmp_path)
