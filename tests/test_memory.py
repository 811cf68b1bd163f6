"""What a process does with memory that it has freed."""

import ctypes
import gc
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import Tensor

from myosotis import memory
from myosotis.memory import freed_memory_kept, return_free_pages, reusable

resource = pytest.importorskip("resource", reason="there is none on Windows")

_LARGE = 24 << 20  # bytes: as large as the activations of a layer

_MEASURED = f"""
import resource
import torch
from myosotis.memory import freed_memory_kept

def faults(calls):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(calls):
        pieces = [torch.ones({_LARGE} // 4) for _ in range(6)]
        del pieces
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

with freed_memory_kept():
    faults(3)
    print(faults(4))
"""


def _has(name: str) -> bool:
    return hasattr(ctypes.CDLL(None), name)


@pytest.mark.skipif(sys.platform != "linux" or not _has("mallopt"), reason="needs glibc")
def test_memory_that_is_kept_is_not_paid_for_again() -> None:
    # In a process of its own: how the allocator behaves depends on all that was done before.
    out = subprocess.run([sys.executable, "-c", _MEASURED], capture_output=True, check=True)
    pages = 4 * 6 * _LARGE // resource.getpagesize()  # of all pieces, were each of them new
    assert int(out.stdout) < pages / 100


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


def as_tensor(size: int) -> Tensor:
    return torch.from_numpy(reusable(size).view(np.float32).reshape(-1, 16))


def test_memory_is_used_again_once_nobody_has_it() -> None:
    return_free_pages()
    first = as_tensor(_LARGE)
    address = first.data_ptr()
    assert address % 64 == 0
    assert as_tensor(_LARGE).data_ptr() != address
    del first
    assert as_tensor(_LARGE - 1024).data_ptr() == address


@pytest.mark.parametrize(
    "part",
    [
        lambda t: t[3:5],
        lambda t: t.numpy()[1:].T,
        lambda t: t.untyped_storage(),
        lambda t: t.detach().view(torch.int32),
        lambda t: np.asarray(memoryview(t.numpy())[:1]),
    ],
    ids=["slice", "array", "storage", "view", "buffer"],
)
def test_memory_is_not_used_again_while_somebody_has_part_of_it(
    part: Callable[[Tensor], object],
) -> None:
    return_free_pages()
    whole = as_tensor(_LARGE)
    address, kept = whole.data_ptr(), part(whole)
    del whole
    gc.collect()
    others = [as_tensor(_LARGE) for _ in range(3)]
    assert address not in [other.data_ptr() for other in others]
    assert kept is not None


def test_little_memory_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    return_free_pages()
    monkeypatch.setattr(memory, "_MOST", 2 * _LARGE)
    arrays = [reusable(size) for size in (_LARGE, _LARGE, _LARGE, _LARGE // 2, 3 * _LARGE)]
    while arrays:
        arrays.pop(0)
    assert sum(size * len(blocks) for size, blocks in memory._held.items()) <= 2 * _LARGE
    return_free_pages()
    assert not memory._held


def test_threads_do_not_get_the_same_memory() -> None:
    def fill(number: int) -> bool:
        tensor = as_tensor(1 << 22)
        tensor.fill_(number)
        return bool((tensor == number).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(fill, range(200)))
