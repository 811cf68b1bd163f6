"""How long a run has taken, interruptions left out."""

import time

__all__ = ["Clock"]


class Clock:
    """Counts from when it is started, on top of what it counted before an interruption.

    Example:
        >>> clock = Clock()
        >>> clock.start(after=60.0)
        >>> 60 <= clock.elapsed() < 61
        True
    """

    def __init__(self) -> None:
        self._start: float | None = None

    def start(self, after: float = 0.0) -> None:
        """Begin to count at `after` seconds."""
        self._start = time.monotonic() - after

    def elapsed(self) -> float:
        """Return the seconds counted so far; 0 before the start."""
        return 0.0 if self._start is None else time.monotonic() - self._start
