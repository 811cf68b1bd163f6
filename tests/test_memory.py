"""What a process does with memory that it has freed."""

import ctypes
import subprocess
import sys

import pytest

from myosotis.memory import freed_memory_kept, return_free_pages

resource = pytest.importorskip("resource", reason="there is none on Windows")

_LARGE = 24 << 20  # bytes: as large as the activations of a layer

_MEASURED = f"""
import resource
import torch
from contextlib import nullcontext
from myosotis.memory import freed_memory_kept

def faults(calls):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(calls):
        pieces = [torch.ones({_LARGE} // 4) for _ in range(6)]
        del pieces
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults(3)
by_default = faults(4)
with freed_memory_kept():
    faults(3)
    kept = faults(4)
print(by_default, kept)
"""


def _has(name: str) -> bool:
    return hasattr(ctypes.CDLL(None), name)


@pytest.mark.skipif(sys.platform != "linux" or not _has("mallopt"), reason="needs glibc")
def test_memory_that_is_kept_is_not_paid_for_again() -> None:
    # In a process of its own: how the allocator behaves depends on all that was done before.
    out = subprocess.run([sys.executable, "-c", _MEASURED], capture_output=True, check=True)
    by_default, kept = map(int, out.stdout.split())
    assert kept < by_default / 10


def test_memory_is_returned_afterwards() -> None:
    if not _has("malloc_trim"):
        pytest.skip("needs glibc")
    with freed_memory_kept():
        pieces = [bytearray(_LARGE) for _ in range(4)]
        held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        del pieces
    return_free_pages()
    with open("/proc/self/statm", encoding="ascii") as file:
        resident = int(file.read().split()[1]) * resource.getpagesize() // 1024
    assert resident < held - 3 * _LARGE // 1024


def test_nothing_happens_without_a_c_library_that_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    with freed_memory_kept():
        pass
    return_free_pages()
