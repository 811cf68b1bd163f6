"""Reading files that are whole, damaged, compressed or none of ours."""

import gzip
import hashlib
import tracemalloc
from pathlib import Path

import pytest

from myosotis.data.source import Source, read_content
from myosotis.data.task import DataFile
from myosotis.errors import DataError

CONTENT = bytes(range(256)) * 50
FILE = DataFile("part/bytes.bin", len(CONTENT), hashlib.sha256(CONTENT).hexdigest())


def source(*elsewhere: Path) -> Source:
    return Source("toy", "us", "any", "toy", (FILE,), (), tuple(map(str, elsewhere)))


def write(folder: Path, content: bytes, name: str = FILE.path) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_plain_and_compressed_files_are_equal(tmp_path):
    write(tmp_path / "plain" / "toy", CONTENT)
    write(tmp_path / "packed" / "toy", gzip.compress(CONTENT), f"{FILE.path}.gz")
    assert source().read(FILE, tmp_path / "plain") == CONTENT
    assert source().read(FILE, tmp_path / "packed") == CONTENT


def test_the_data_folder_comes_before_others(tmp_path):
    other = write(tmp_path / "other", CONTENT)
    both = source(tmp_path / "other")
    assert both.find(FILE, tmp_path) == other
    own = write(tmp_path / "toy", CONTENT)
    assert both.find(FILE, tmp_path) == own


def test_a_missing_file_is_named(tmp_path):
    expected = r"toy.part.bytes\.bin is missing: .*'myo data fetch toy'"
    with pytest.raises(DataError, match=expected):
        source().read(FILE, tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (CONTENT[:-1], r"not what was published: it holds 12,799 bytes .* expected 12,800 bytes"),
        (CONTENT[:-1] + b"\x00", "not what was published: it holds 12,800 bytes"),
        (CONTENT + b"\x00", "too long: expected at most 12,800 bytes"),
        (b"", "not what was published: it holds 0 bytes"),
    ],
    ids=["truncated", "altered", "longer", "empty"],
)
@pytest.mark.parametrize("packed", [False, True])
def test_another_content_is_refused_and_left_alone(tmp_path, content, message, packed):
    written = gzip.compress(content) if packed else content
    path = write(tmp_path / "toy", written, FILE.path + (".gz" if packed else ""))
    with pytest.raises(DataError, match=message) as caught:
        source().read(FILE, tmp_path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == written


@pytest.mark.parametrize("cut", [1, 5, 12, 100])
def test_a_truncated_gzip_file(tmp_path, cut):
    path = write(tmp_path, gzip.compress(CONTENT)[:-cut], "bytes.gz")
    with pytest.raises(DataError, match=r"bytes\.gz is truncated or damaged"):
        read_content(path, len(CONTENT))


def test_a_flipped_bit_in_a_gzip_file(tmp_path):
    packed = bytearray(gzip.compress(CONTENT))
    packed[len(packed) // 2] ^= 16
    with pytest.raises(DataError, match="is truncated or damaged"):
        read_content(write(tmp_path, bytes(packed), "bytes.gz"), len(CONTENT))


def test_a_folder_cannot_be_read(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_content(tmp_path, 10)


@pytest.mark.parametrize("limit", [0, 1000, 2**40])
def test_no_more_is_held_than_there_is_or_may_be(tmp_path, limit):
    bomb = write(tmp_path, gzip.compress(bytes(2**24)), "bomb.gz")  # 16 MiB in 16 KiB
    tracemalloc.start()
    try:
        if limit > 2**24:
            assert len(read_content(bomb, limit)) == 2**24
        else:
            with pytest.raises(DataError, match="too long"):
                read_content(bomb, limit)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < (2 * 2**24 if limit > 2**24 else 2**22) + 2**22
