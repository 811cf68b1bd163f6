"""Archives that are honest, damaged, or meant to do harm."""

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from myosotis.data.extract import extract
from myosotis.data.source import Archive
from myosotis.errors import DataError

WANTED = Archive(r"trees/(train|dev)\.txt", into=".", count=2, largest=1000)
GOOD = {"trees/train.txt": b"one", "trees/dev.txt": b"two"}
EVIL = [
    "../trees/train.txt",
    "trees/../../evil.txt",
    "/tmp/trees/train.txt",
    "trees/train.txt/../../../evil",
    "trees\\train.txt",
    "trees/train.txt\n",
    "C:/trees/train.txt",
    "./trees/train.txt",
]


def tar_file(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def zip_file(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return path


@pytest.fixture(params=["tar.gz", "zip"])
def pack(request, tmp_path):
    def packed(members: dict[str, bytes]) -> Path:
        make = zip_file if request.param == "zip" else tar_file
        return make(tmp_path / f"archive.{request.param}", members)

    return packed


def written(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_the_expected_files_and_no_others(pack, tmp_path):
    extract(pack({"trees/README": b"no", **GOOD, "trees": b""}), WANTED, tmp_path / "new")
    assert written(tmp_path / "new") == GOOD


@pytest.mark.parametrize("name", EVIL)
def test_names_that_lead_elsewhere_are_ignored(pack, tmp_path, name):
    path = pack({name: b"evil", **GOOD})
    extract(path, WANTED, tmp_path / "deep" / "new")
    assert written(tmp_path) == {
        path.name: path.read_bytes(),
        **{f"deep/new/{name}": content for name, content in GOOD.items()},
    }


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"trees/dev.txt": b"two"}, "has 1 of the 2 expected files"),
        ({}, "has 0 of the 2"),
        ({**GOOD, "trees/train.txt": bytes(1001)}, "has 1,001 bytes, expected at most 1,000"),
        ({"junk": bytes(2**26), **GOOD}, "far more than it should"),
    ],
)
def test_too_little_or_too_much(pack, tmp_path, members, message):
    with pytest.raises(DataError, match=message):
        extract(pack(members), WANTED, tmp_path / "new")


def test_a_link_is_no_file(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    path = tmp_path / "archive.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for name, kind in (
            ("trees/train.txt", tarfile.SYMTYPE),
            ("trees/dev.txt", tarfile.LNKTYPE),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, str(secret)
            tar.addfile(info)
    with pytest.raises(DataError, match="in a plain file"):
        extract(path, WANTED, tmp_path / "new")
    assert not list((tmp_path / "new").rglob("*"))


def test_a_name_that_comes_twice(tmp_path):
    path = tmp_path / "archive.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("trees/dev.txt", b"two")
        with pytest.warns(UserWarning, match="Duplicate name"):
            packed.writestr("trees/dev.txt", b"three")
    with pytest.raises(DataError, match="has more than 2 files"):
        extract(path, WANTED, tmp_path / "new")


@pytest.mark.parametrize("keep", [0, 1, 20, 80])
def test_truncated_archives(pack, tmp_path, keep):
    path = pack({name: content * 50 for name, content in GOOD.items()})
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(DataError, match=r"is truncated or damaged|of the 2 expected"):
        extract(path, WANTED, tmp_path / "new")


def test_flipped_bits_are_refused_or_harmless(pack, tmp_path):
    path = pack({name: content * 50 for name, content in GOOD.items()})
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xA5]) + whole[place + 1 :])
        try:
            extract(path, WANTED, tmp_path / "new")
        except DataError:
            continue
        assert set(written(tmp_path / "new")) == set(GOOD)
