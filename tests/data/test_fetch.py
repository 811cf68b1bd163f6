"""Downloads from a server on this machine, which can misbehave."""

import functools
import gzip
import hashlib
import io
import tarfile
import threading
from collections import Counter
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from myosotis.data.fetch import fetch
from myosotis.data.source import Archive, Download, Source
from myosotis.data.task import DataFile
from myosotis.errors import ConfigError, DataError

CONTENT = b"forget me not " * 1000
PACKED = gzip.compress(CONTENT, mtime=0)


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A folder that is served, its address, and how often each file was asked for."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    folder = tmp_path / "served"
    folder.mkdir()
    asked: Counter[str] = Counter()

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self):
            asked[self.path] += 1
            super().do_GET()

        def log_message(self, *arguments):
            pass

    handler = functools.partial(Handler, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield folder, f"http://127.0.0.1:{running.server_port}", asked
        running.shutdown()
        thread.join()


def data_file(path: str, content: bytes) -> DataFile:
    return DataFile(path, len(content), hashlib.sha256(content).hexdigest())


def md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def plain_source(*urls: str) -> Source:
    download = Download("flower.gz", len(PACKED), md5(PACKED), urls)
    return Source("toy", "us", "any", "toy", (data_file("flower", CONTENT),), (download,))


def packed_tar(members: dict[str, bytes]) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return written.getvalue()


def archive_source(packed: bytes, *urls: str) -> Source:
    archive = Archive(r"toy/[ab]/[0-9]\.txt", into=".", count=3, largest=100)
    download = Download("toy.tar.gz", len(packed), md5(packed), urls, archive)
    files = (data_file("a", b"onetwo"), data_file("b", b"three"))  # folders, as in IMDB
    return Source("toy", "us", "any", "toy", files, (download,))


MEMBERS = {"toy/a/1.txt": b"one", "toy/a/2.txt": b"two", "toy/b/1.txt": b"three"}


def files_in(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_a_file_is_fetched_once(server, tmp_path):
    folder, address, asked = server
    (folder / "flower.gz").write_bytes(PACKED)
    source, root = plain_source(f"{address}/flower.gz"), tmp_path / "new" / "root"
    assert fetch(source, root) == ["toy/flower"]
    assert files_in(root) == {"toy/flower.gz": PACKED}
    assert source.read(source.files[0], root) == CONTENT
    assert fetch(source, root) == []
    assert asked == {"/flower.gz": 1}


def test_mirrors_are_tried_in_turn_until_one_has_the_right_bytes(server, tmp_path):
    folder, address, asked = server
    (folder / "altered.gz").write_bytes(PACKED[:-1] + b"!")
    (folder / "truncated.gz").write_bytes(PACKED[:-5])
    (folder / "good.gz").write_bytes(PACKED)
    names = ["absent.gz", "altered.gz", "truncated.gz", "good.gz", "never.gz"]
    urls = ["http://127.0.0.1:1/flower.gz", *(f"{address}/{name}" for name in names)]
    fetch(plain_source(*urls), tmp_path / "root")
    assert files_in(tmp_path / "root") == {"toy/flower.gz": PACKED}
    assert list(asked) == ["/absent.gz", "/altered.gz", "/truncated.gz", "/good.gz"]


def test_what_is_not_to_be_had_leaves_nothing_behind(server, tmp_path):
    folder, address, _ = server
    (folder / "altered.gz").write_bytes(PACKED + b"!")
    source = plain_source(f"{address}/absent.gz", f"{address}/altered.gz")
    expected = (
        r"flower\.gz could not be downloaded .*absent\.gz: HTTPError; .*altered\.gz: ValueError"
        rf".*md5 {md5(PACKED)}, and put it into \S+toy$"
    )
    with pytest.raises(DataError, match=expected) as caught:
        fetch(source, tmp_path / "root")
    assert "\n" not in str(caught.value)
    assert files_in(tmp_path / "root") == {}


def test_an_archive_is_unpacked_and_not_kept(server, tmp_path):
    folder, address, _ = server
    packed = packed_tar({"toy/README": b"no", **MEMBERS, "../evil.txt": b"no"})
    (folder / "toy.tar.gz").write_bytes(packed)
    root = tmp_path / "root"
    assert fetch(archive_source(packed, f"{address}/toy.tar.gz"), root) == ["toy/a", "toy/b"]
    assert files_in(root) == MEMBERS
    assert [path.name for path in root.iterdir()] == ["toy"]


def test_an_archive_put_there_by_hand_is_used_and_kept(tmp_path):
    packed = packed_tar(MEMBERS)
    (tmp_path / "toy.tar.gz").write_bytes(packed)
    fetch(archive_source(packed, "http://127.0.0.1:1/toy.tar.gz"), tmp_path)
    assert files_in(tmp_path) == {"toy.tar.gz": packed, **MEMBERS}


def test_an_altered_archive_is_refused_and_kept(tmp_path):
    packed = packed_tar(MEMBERS)
    (tmp_path / "toy.tar.gz").write_bytes(packed[:-1])
    with pytest.raises(DataError, match=rf"toy\.tar\.gz is truncated .* expected {md5(packed)}"):
        fetch(archive_source(packed, "http://127.0.0.1:1/toy.tar.gz"), tmp_path)
    assert files_in(tmp_path) == {"toy.tar.gz": packed[:-1]}


def test_what_the_user_has_is_left_alone(tmp_path):
    packed = packed_tar(MEMBERS)
    (tmp_path / "toy.tar.gz").write_bytes(packed)
    (tmp_path / "toy" / "a").mkdir(parents=True)
    (tmp_path / "toy" / "a" / "1.txt").write_bytes(b"mine")
    assert fetch(archive_source(packed), tmp_path) == ["toy/b"]
    assert files_in(tmp_path / "toy") == {"a/1.txt": b"mine", "b/1.txt": b"three"}


def test_an_incomplete_archive_puts_nothing_in_place(tmp_path):
    packed = packed_tar({"toy/a/1.txt": b"one"})
    (tmp_path / "toy.tar.gz").write_bytes(packed)
    with pytest.raises(DataError, match="has 1 of the 3 expected files"):
        fetch(archive_source(packed), tmp_path)
    assert files_in(tmp_path) == {"toy.tar.gz": packed}


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "root").write_text("a file where a folder should be")
    with pytest.raises(DataError, match="cannot write into"):
        fetch(archive_source(packed_tar(MEMBERS)), tmp_path / "root")


def test_downloads_need_pooch(monkeypatch, tmp_path):
    monkeypatch.setattr("myosotis.data.fetch.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"myosotis\[data\]"):
        fetch(plain_source("http://127.0.0.1:1/flower.gz"), tmp_path)
