import hashlib

import numpy as np
import pytest

from myosotis.data import ArraySplit, Provenance, Task
from myosotis.data.check import check, status
from myosotis.data.published import SST
from myosotis.data.registry import Entry
from myosotis.data.task import DataFile
from myosotis.errors import DataError
from myosotis.tree import Tree


def split(labels) -> ArraySplit:
    tokens = np.ones((len(labels), 4), dtype=np.uint8)
    return ArraySplit(tokens, np.array(labels, dtype=np.int64), np.arange(len(labels)))


def toy_task(files=(), test=(0, 1)) -> Task:
    return Task(
        name="toy",
        train=split([0, 1, 1, 1]),
        validation=split([1]),
        test=split(test),
        tree=Tree.over(4, 2),
        num_classes=2,
        kind="tokens",
        vocabulary=2,
        provenance=Provenance("us", "any", files),
    )


def entry(origin, **fields) -> Entry:
    return Entry("toy", "a toy", origin, lambda root: toy_task(), **fields)


def test_counts_and_balance():
    report = check(toy_task(), entry("embedded"), root=None)
    assert report.examples == {"train": 4, "validation": 1, "test": 2}
    assert report.balance == {"train": [1, 3], "validation": [0, 1], "test": [1, 1]}
    assert (report.leaves, report.channels, report.vocabulary) == (4, 0, 2)


@pytest.mark.parametrize("labels", [(), (0, 2), (-1, 0)])
def test_labels_must_be_classes(labels):
    with pytest.raises(DataError, match=r"toy: the test labels are not all in 0\.\.1"):
        check(toy_task(test=labels), entry("embedded"), root=None)


def test_generated_files_are_compared_with_their_checksums(tmp_path):
    path = tmp_path / "toy" / "made.npy"
    path.parent.mkdir()
    path.write_bytes(b"made")
    file = DataFile("toy/made.npy", 4, hashlib.sha256(b"made").hexdigest())
    check(toy_task([file]), entry("generated"), tmp_path)
    path.write_bytes(b"mada")
    with pytest.raises(DataError, match=rf"made\.npy was altered: .*expected {file.sha256}"):
        check(toy_task([file]), entry("generated"), tmp_path)
    path.unlink()
    with pytest.raises(DataError, match=r"made\.npy cannot be read"):
        check(toy_task([file]), entry("generated"), tmp_path)


def test_status_of_published_files(tmp_path):
    sst = entry("download", source=SST)
    assert status(sst, tmp_path).state == "downloadable"
    assert status(sst, tmp_path).size == SST.downloads[0].size
    for file in SST.files:
        path = tmp_path / "sst" / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert status(sst, tmp_path).state == "present"
    assert status(sst, tmp_path).size == sum(file.size for file in SST.files)


def test_status_of_generated_files(tmp_path):
    made = entry("generated", folder="made")
    assert (status(made, tmp_path).state, status(made, tmp_path).size) == (
        "generated on first use",
        None,
    )
    for name in ("v1.partial/half.npy", "v1.lock"):
        path = tmp_path / "made" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"half")
    assert status(made, tmp_path).state == "generated on first use"
    (tmp_path / "made" / "whole.npy").write_bytes(b"whole")
    assert (status(made, tmp_path).state, status(made, tmp_path).size) == ("present", 5)


def test_status_of_the_others(tmp_path):
    assert status(entry("embedded"), tmp_path).state == "embedded"
    assert status(entry("manual", folder="mine"), tmp_path).state == "manual"
