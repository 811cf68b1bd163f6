"""How much memory a call needs beyond what was there before it.

The kernel keeps the highest resident size of a process, and Linux lets a process reset that mark.
Free pages that the allocator holds on to would hide part of the need, so they are handed back
first. The measured call should have run before, so that what it loads and compiles is there.
"""

from collections.abc import Callable
from pathlib import Path

from myosotis.memory import return_free_pages

__all__ = ["peak_extra_bytes"]

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


def peak_extra_bytes(call: Callable[[], object]) -> int | None:
    """The growth of the resident size at its highest, while `call` runs and hands back its result.

    Returns:
        Bytes, to within some pages; None where the platform cannot say.
    """
    return_free_pages()
    if not _reset_peak():
        return None
    before = _status_bytes("VmRSS")
    result = call()
    peak = _status_bytes("VmHWM")
    del result
    return max(0, peak - before)


def _reset_peak() -> bool:
    try:
        _RESET.write_text("5", encoding="ascii")
    except OSError:
        return False
    return _STATUS.is_file()


def _status_bytes(key: str) -> int:
    for line in _STATUS.read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(":")
        if name == key:
            return int(value.split()[0]) * 1024  # the unit is kB
    raise KeyError(key)
