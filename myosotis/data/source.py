"""A publisher's files: what they must hold, and how they are told from altered ones."""

import gzip
import hashlib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Literal, cast

from myosotis.data.task import DataFile, Provenance
from myosotis.errors import DataError

__all__ = ["Archive", "Download", "Source", "file_digest", "read_content"]

_CHUNK = 2**20


@dataclass(frozen=True)
class Archive:
    """What is taken out of a downloaded archive; everything else in it is ignored.

    Attributes:
        pattern: regular expression that the whole name of a member must match.
        into: folder, relative to the data folder, under which members keep their names.
        count: how many members there must be.
        largest: bytes that a member may have.

    Example:
        >>> from myosotis.data.published import IMDB
        >>> IMDB.downloads[0].archive.count
        50000
    """

    pattern: str
    into: str
    count: int
    largest: int


@dataclass(frozen=True)
class Download:
    """A file that the publisher offers.

    Attributes:
        filename: its name.
        size: its bytes.
        md5: its published checksum.
        urls: where it is to be had, tried in turn.
        archive: what to take out of it; None if the file itself is the data.

    Example:
        >>> from myosotis.data.published import MNIST
        >>> MNIST.downloads[0].filename, len(MNIST.downloads[0].urls)
        ('train-images-idx3-ubyte.gz', 3)
    """

    filename: str
    size: int
    md5: str
    urls: Sequence[str]
    archive: Archive | None = None


@dataclass(frozen=True)
class Source:
    """A published data set.

    Attributes:
        name: what `myo data fetch` calls it.
        publisher: who made it, and where it is described.
        license: its terms.
        folder: where its files are, inside the data folder.
        files: what must be there, relative to `folder`; a file may also be compressed, with `.gz`
            after its name.
        downloads: what the publisher offers.
        elsewhere: other folders in which a system may have the files.

    Example:
        >>> from myosotis.data.published import MNIST
        >>> MNIST.folder, len(MNIST.files)
        ('mnist', 4)
    """

    name: str
    publisher: str
    license: str
    folder: str
    files: Sequence[DataFile]
    downloads: Sequence[Download]
    elsewhere: Sequence[str] = ()

    def provenance(self, counts: Mapping[str, int]) -> Provenance:
        """Return where a task made of this comes from, given the examples in each part."""
        files = [replace(file, path=f"{self.folder}/{file.path}") for file in self.files]
        return Provenance(self.publisher, self.license, tuple(files), counts)

    def locate(self, file: DataFile, root: Path) -> Path | None:
        """Return the path of a file, compressed or not, or None if it is nowhere."""
        for folder in (root / self.folder, *map(Path, self.elsewhere)):
            for path in (folder / file.path, folder / f"{file.path}.gz"):
                if path.exists():
                    return path
        return None

    def find(self, file: DataFile, root: Path) -> Path:
        """Return the path of a file.

        Raises:
            DataError: if it is nowhere, with the place to put it.
        """
        path = self.locate(file, root)
        if path is None:
            raise DataError(
                f"{root / self.folder / file.path} is missing: "
                f"get it with 'myo data fetch {self.name}' or put it there"
            )
        return path

    def read(self, file: DataFile, root: Path) -> bytes:
        """Return what a file holds, if it is what was published.

        Raises:
            DataError: if it is missing, truncated or altered.
        """
        path = self.find(file, root)
        content = read_content(path, file.size)
        self.verify(path, len(content), hashlib.sha256(content).hexdigest(), file)
        return content

    def verify(self, path: Path, size: int, sha256: str, expected: DataFile) -> None:
        """Compare size and checksum of what `path` holds with what is expected.

        Raises:
            DataError: if they differ.
        """
        if (size, sha256) != (expected.size, expected.sha256):
            raise DataError(
                f"{path} is not what was published: it holds {size:,} bytes with sha256 {sha256}, "
                f"expected {expected.size:,} bytes with sha256 {expected.sha256}. "
                f"Move it away and run 'myo data fetch {self.name}'"
            )


def read_content(path: Path, limit: int) -> bytes:
    """Read a file, unpacking it if its name ends in `.gz`, without ever holding much too much.

    Args:
        path: the file.
        limit: bytes of content that it may have.

    Raises:
        DataError: if it cannot be read, is damaged, or holds more.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "letters.gz")
        ...     _ = path.write_bytes(gzip.compress(b"abc"))
        ...     read_content(path, limit=10)
        b'abc'
    """
    try:
        with path.open("rb") as file:
            packed = path.suffix == ".gz"
            stream = cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if packed else file
            content = _read_up_to(stream, limit + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path} is truncated or damaged: {error}") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    if len(content) > limit:
        raise DataError(f"{path} is too long: expected at most {limit:,} bytes of content")
    return content


def _read_up_to(stream: IO[bytes], limit: int) -> bytes:
    """Read at most `limit` bytes, in pieces: asking for all at once would allocate all at once."""
    pieces = []
    while limit > 0 and (piece := stream.read(min(limit, _CHUNK))):
        pieces.append(piece)
        limit -= len(piece)
    return b"".join(pieces)


def file_digest(path: Path, algorithm: Literal["md5", "sha256"]) -> str:
    """Return the checksum of a file as it is, in hexadecimal digits.

    Raises:
        DataError: if it cannot be read.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "empty")
        ...     path.touch()
        ...     file_digest(path, "md5")
        'd41d8cd98f00b204e9800998ecf8427e'
    """
    digest = hashlib.new(algorithm, usedforsecurity=False)
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    return digest.hexdigest()
