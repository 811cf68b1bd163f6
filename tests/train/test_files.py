import errno
import os
import shutil
from pathlib import Path

import pytest

from myosotis.errors import ConfigError
from myosotis.train import files
from myosotis.train.files import read_folder, write_file, write_folder


class Killed(BaseException):
    pass


def test_a_file_is_replaced_as_a_whole(tmp_path):
    write_file(tmp_path / "a", b"one")
    write_file(tmp_path / "a", b"2")
    assert (tmp_path / "a").read_bytes() == b"2"
    assert os.listdir(tmp_path) == ["a"]


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


OLD, NEW = {"a": b"1", "b": b"1"}, {"a": b"2", "b": b"2"}


@pytest.mark.parametrize("moment", range(20))
def test_a_folder_is_old_or_new_whenever_it_is_interrupted(monkeypatch, tmp_path, moment):
    """Kills the writer before each call that changes the disk, in turn, and then writes again."""
    folder = tmp_path / "last"
    write_folder(folder, OLD)
    calls = 0

    def killing(function):
        def wrapped(*arguments, **options):
            nonlocal calls
            calls += 1
            if calls > moment:
                raise Killed
            return function(*arguments, **options)

        return wrapped

    with monkeypatch.context() as patch:
        for owner, name in (
            (Path, "mkdir"),
            (Path, "open"),
            (Path, "rename"),
            (shutil, "rmtree"),
            (os, "fsync"),
        ):
            patch.setattr(owner, name, killing(getattr(owner, name)))
        try:
            write_folder(folder, NEW)
            assert moment >= calls
        except Killed:
            pass
    assert content(read_folder(folder)) in (OLD, NEW)
    write_folder(folder, NEW)
    assert content(read_folder(folder)) == NEW
    assert os.listdir(tmp_path) == ["last"]


@pytest.mark.parametrize("write", [write_file, lambda p, c: write_folder(p, {"a": c})])
def test_a_full_disk_is_a_clear_line(monkeypatch, tmp_path, write):
    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(ConfigError, match="No space left on device; make room"):
        write(tmp_path / "file", b"content")
    assert not (tmp_path / "file").exists()
