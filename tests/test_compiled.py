"""Machine code that is kept on disk must be that of the files as they are."""

import os
from types import SimpleNamespace
from typing import Any

import pytest

from myosotis import compiled
from myosotis.linalg.kernels import diagonal_sweeps


@pytest.mark.parametrize("file", ["diagonal_sweeps.py", "strips.py", "vectors.py", "dense.py"])
def test_a_change_in_any_file_a_kernel_is_made_from_is_noticed(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel: Any = diagonal_sweeps.sweep
    kept = kernel._cache._cache_file._source_stamp  # Numba takes nothing that has another stamp
    assert kept == compiled._stamp(kernel.py_func)
    stat = os.stat

    def changed(path: str) -> SimpleNamespace:
        found = stat(path)
        return SimpleNamespace(
            st_mtime=found.st_mtime, st_size=found.st_size + (os.path.basename(path) == file)
        )

    monkeypatch.setattr(os, "stat", changed)
    is_part = file != "dense.py"  # nothing in there is called by the sweep
    assert (kept != compiled._stamp(kernel.py_func)) == is_part
