"""Taking the expected files, and nothing else, out of a downloaded archive.

The name of a file to write is never taken from the archive as it stands: it must match, whole, a
pattern that cannot lead out of the folder.
"""

import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

from myosotis.data.source import Archive
from myosotis.errors import DataError

__all__ = ["extract"]

_MOST_TIMES_LARGER = 50  # text packs to a quarter; far beyond that lies mischief
_ALWAYS_ALLOWED = 2**26
# What the readers of archives raise for nonsense: OSError for a place that is not in the file,
# NotImplementedError for a compression they do not know, RuntimeError for encryption.
_DAMAGE = (
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)


class _Member(NamedTuple):
    name: str
    size: int
    open: Callable[[], IO[bytes] | None]


def extract(path: Path, archive: Archive, into: Path) -> None:
    r"""Write the members of a gzipped tar or zip file that `archive` describes under `into`.

    Args:
        path: the archive; it should have been compared with its checksum.
        archive: which members to take, and how many of which size there may be.
        into: an empty folder; it keeps what was written if this raises.

    Raises:
        DataError: if the archive is damaged, or has too few, too many or too large members.

    Example:
        >>> import tempfile
        >>> wanted = Archive(r"trees/[a-z]+\.txt", into=".", count=1, largest=10)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "trees.zip")
        ...     with zipfile.ZipFile(path, "w") as file:
        ...         file.writestr("trees/dev.txt", "(2 so)")
        ...         file.writestr("../evil.txt", "never written")
        ...     extract(path, wanted, Path(folder, "new"))
        ...     Path(folder, "new/trees/dev.txt").read_text()
        '(2 so)'
    """
    count = 0
    for name, content in _wanted(path, archive):
        target = into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        count += 1
    if count != archive.count:
        raise DataError(f"{path} has {count} of the {archive.count} expected files")


def _wanted(path: Path, archive: Archive) -> Iterator[tuple[str, bytes]]:
    """Read the members whose names match."""
    pattern = re.compile(archive.pattern)
    names: set[str] = set()
    left = max(_ALWAYS_ALLOWED, _MOST_TIMES_LARGER * path.stat().st_size)
    try:
        for member in _members(path):
            left -= member.size
            if left < 0:
                raise DataError(f"{path} unpacks to far more than it should: it is no data set")
            if pattern.fullmatch(member.name):
                if member.name in names or len(names) == archive.count:
                    raise DataError(f"{path} has more than {archive.count} files: {member.name}")
                names.add(member.name)
                yield member.name, _content(member, archive, path)
    except _DAMAGE as error:
        raise DataError(f"{path} is truncated or damaged: {error}") from None


def _content(member: _Member, archive: Archive, path: Path) -> bytes:
    stream = member.open()
    if stream is None or member.size > archive.largest:
        raise DataError(
            f"{path}: {member.name} has {member.size:,} bytes, expected at most "
            f"{archive.largest:,} in a plain file"
        )
    with stream:
        content = stream.read(archive.largest + 1)
    if len(content) != member.size:
        raise DataError(f"{path} is truncated or damaged: {member.name} is incomplete")
    return content


def _members(path: Path) -> Iterator[_Member]:
    """List what is in the archive, reading on only as far as is asked."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as packed:
            for info in packed.infolist():
                yield _Member(info.filename, info.file_size, partial(packed.open, info))
    else:
        with tarfile.open(path, "r:gz") as tar:
            for entry in tar:
                # Of a link, extractfile would give what it leads to.
                opened = partial(tar.extractfile, entry) if entry.isfile() else _nothing
                yield _Member(entry.name, entry.size, opened)


def _nothing() -> None:
    """Stand for a member without content, such as a link."""
