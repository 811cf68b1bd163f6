"""Five hundred damaged files of every format: a named error or a valid load, nothing else."""

import gzip
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from myosotis.data.cifar import parse_cifar
from myosotis.data.idx import parse_idx
from myosotis.data.listops_files import read_tsv
from myosotis.data.source import read_content
from myosotis.data.sst import parse_treebank
from myosotis.errors import DataError
from myosotis.tree import Tree

NUM_MUTANTS = 500
LIMIT = 2**20  # bytes that the readers of whole files are told to expect at most


def truncated(rng, content):
    return content[: rng.integers(len(content))]


def flipped(rng, content):
    changed = np.frombuffer(content, np.uint8).copy()
    places = rng.integers(len(changed), size=rng.integers(1, 6))
    changed[places] ^= rng.integers(1, 256, size=len(places), dtype=np.uint8)
    return changed.tobytes()


def oversized_header(rng, content):
    place = 4 * rng.integers(5)
    return content[:place] + b"\xff\xff\xff\xff" + content[place + 4 :]


def repeated(rng, content):
    start, end = sorted(rng.integers(len(content) + 1, size=2))
    return content[:end] + content[start:end] * int(rng.integers(1, 4)) + content[end:]


def with_noise(rng, content):
    place = rng.integers(len(content) + 1)
    return content[:place] + rng.bytes(int(rng.integers(1, 30))) + content[place:]


def long_word(rng, content):
    place = rng.integers(len(content) + 1)
    return content[:place] + rng.bytes(1).hex().encode() * 10_000 + content[place:]


def deeply_nested(rng, content):
    opening = [b"(2 ", b"(", b"[MAX ", b"[", b"1 1 0 0 0 1 0\n"][rng.integers(5)]
    place = rng.integers(len(content) + 1)
    return content[:place] + opening * 100_000 + content[place:]


COMMON = (truncated, flipped, oversized_header, repeated, with_noise, long_word)


def mutants(content: bytes):
    """Mutants of all kinds, a few of them costly."""
    rng = np.random.default_rng(0)
    for number in range(NUM_MUTANTS):
        if number % 50 == 49:
            yield deeply_nested(rng, content)
        else:
            yield COMMON[number % len(COMMON)](rng, content)


def read_idx(path: Path) -> None:
    array = parse_idx(read_content(path, LIMIT), 3, str(path))
    assert array.nbytes <= LIMIT


def read_packed_idx(path: Path) -> None:
    read_idx(path.rename(path.with_suffix(".gz")))


def read_cifar(path: Path) -> None:
    images, labels = parse_cifar(read_content(path, LIMIT), str(path))
    assert len(images) == len(labels)
    assert labels.max() < 10


def read_trees(path: Path) -> None:
    bank = parse_treebank(read_content(path, LIMIT), str(path))
    for start, end in zip(bank.offsets[:-1], bank.offsets[1:], strict=True):
        assert Tree(bank.parents[start:end]).num_roots == 1
    assert len(bank.words) == len(bank.classes) == bank.offsets[-1]


def read_listops(path: Path) -> None:
    corpus = read_tsv(path)
    assert corpus.labels.min() >= 0
    assert corpus.labels.max() <= 9


def read_swc(path: Path) -> None:
    assert Tree.from_swc(path).num_nodes > 0


IDX = struct.pack(">4B3I", 0, 0, 8, 3, 5, 8, 8) + bytes(range(64)) * 5
TREES = "(3 (2 It) (4 (2 's) (4 naïve)))\n(1 No)\n(0 (1 (2 a) (3 b)) (4 c))\n" * 3
LISTOPS = "Source\tTarget\n( ( [MAX 2 ) 9 ) ]\t9\n[SM [MED 1 7 4 ] 5 ]\t9\n[MIN 3 4 ]\t3\n"
SWC = "# soma\n1 1 0 0 0 5 -1\n" + "".join(f"{n} 3 {n}.5 0 0 1 {n // 2}\n" for n in range(2, 30))
FORMATS = {
    "idx": (IDX, read_idx),
    "idx.gz": (gzip.compress(IDX, mtime=0), read_packed_idx),
    "cifar": (bytes([7, *[200] * 3072]) * 3, read_cifar),
    "ptb": (TREES.encode(), read_trees),
    "tsv": (LISTOPS.encode(), read_listops),
    "swc": (SWC.encode(), read_swc),
}


def complaint(read, path: Path) -> str | None:
    """What was said about a file, or None if it was read; any other exception is a failure."""
    try:
        read(path)
    except DataError as error:
        return str(error)
    return None


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_files_are_refused_by_name_or_valid(name, tmp_path):
    content, read = FORMATS[name]
    path = tmp_path / "damaged"
    complaints = []
    tracemalloc.start()
    try:
        for mutant in mutants(content):
            path.write_bytes(mutant)
            complaints.append(complaint(read, path))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    refused = [text for text in complaints if text is not None]
    assert len(refused) > 100
    assert all("damaged" in text for text in refused)  # the name of the file
    assert peak < 2**27


@pytest.mark.parametrize("name", FORMATS)
def test_whole_files_are_read(name, tmp_path):
    content, read = FORMATS[name]
    path = tmp_path / "whole"
    path.write_bytes(content)
    read(path)
