"""Getting a published data set onto this machine."""

import os
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from myosotis.data.extract import extract
from myosotis.data.progress import Advance, progress_bar
from myosotis.data.source import Download, Source, file_digest
from myosotis.data.task import DataFile
from myosotis.errors import ConfigError, DataError

__all__ = ["fetch"]

_TIMEOUT = 30  # seconds without a byte before the next mirror is tried
_CHUNK = 2**16


def fetch(source: Source, root: Path) -> list[str]:
    """Download what is missing of a data set, and unpack it.

    Every download is compared with its published checksum, and appears in the data folder only
    when it is complete. What is there already is left alone. An archive that lies in the data
    folder is unpacked instead of downloaded.

    Args:
        source: the data set.
        root: the data folder.

    Returns:
        The files that were missing, relative to the data folder.

    Raises:
        DataError: if a file is not to be had, with the place to put it by hand.
        ConfigError: if there is something to download and pooch is not installed.

    Example:
        >>> fetch(Source("none", "nobody", "any", "none", files=(), downloads=()), Path())
        []
    """
    missing = [file for file in source.files if source.locate(file, root) is None]
    try:
        for download in source.downloads if missing else ():
            if download.archive is not None:
                _fetch_archive(source, download, missing, root)
            elif any(download.filename in (f.path, f"{f.path}.gz") for f in missing):
                _download(download, root / source.folder, f"put it into {root / source.folder}")
    except OSError as error:
        raise DataError(f"cannot write into {root}: {error.strerror or error}") from None
    return [f"{source.folder}/{file.path}" for file in missing]


def _fetch_archive(
    source: Source, download: Download, missing: Sequence[DataFile], root: Path
) -> None:
    """Unpack an archive aside, then move what is missing into its place."""
    assert download.archive is not None
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root, prefix=f".{source.name}-") as aside:
        by_hand = f"put it into {root} and run 'myo data fetch {source.name}' again"
        path = _archive_by_hand(download, root) or _download(download, Path(aside), by_hand)
        extract(path, download.archive, Path(aside) / download.archive.into)
        for file in missing:
            target = root / source.folder / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(Path(aside) / source.folder / file.path, target)


def _archive_by_hand(download: Download, root: Path) -> Path | None:
    """Return the archive that somebody put into the data folder, if it is the right one."""
    path = root / download.filename
    if not path.exists():
        return None
    found = file_digest(path, "md5")
    if found != download.md5:
        raise DataError(
            f"{path} is truncated or altered: its md5 is {found}, expected {download.md5}. "
            "Move it away and try again"
        )
    return path


def _download(download: Download, folder: Path, by_hand: str) -> Path:
    """Try the mirrors in turn until one has the file with the published checksum."""
    if find_spec("pooch") is None:
        raise ConfigError("downloads need the extra data: pip install 'myosotis[data]'")
    import pooch

    pooch.get_logger().setLevel("WARNING")  # the progress bar says enough
    reasons = []
    for url in download.urls:
        with progress_bar(download.filename, download.size) as advance:
            downloader = pooch.HTTPDownloader(
                progressbar=_Bar(advance), chunk_size=_CHUNK, timeout=_TIMEOUT
            )
            try:
                return Path(
                    pooch.retrieve(
                        url,
                        known_hash=f"md5:{download.md5}",
                        fname=download.filename,
                        path=folder,
                        downloader=downloader,
                    )
                )
            # What requests raises is an OSError; a wrong checksum is a ValueError.
            except (OSError, ValueError) as error:
                reasons.append(f"{url}: {type(error).__name__}")
    raise DataError(
        f"{download.filename} could not be downloaded ({'; '.join(reasons)}): "
        f"get it from there, md5 {download.md5}, and {by_hand}"
    )


class _Bar:
    """What pooch needs of a progress bar."""

    def __init__(self, advance: Advance) -> None:
        self.total = 0
        self._advance = advance
        self._done = 0

    def update(self, count: int) -> None:
        self._advance(count)
        self._done += count

    def reset(self) -> None:
        self.update(-self._done)

    def close(self) -> None:
        pass
