"""Ctrl-C during a training."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["InterruptionError", "StopRequest", "listening"]


class InterruptionError(Exception):
    """The user stopped a run, which can be resumed.

    An ordinary exception, because Lightning ends the process at a `KeyboardInterrupt`.
    """


class StopRequest:
    """Whether the user has asked for an end.

    Attributes:
        made: set by the first Ctrl-C, to be honoured when the present step is complete.
    """

    def __init__(self) -> None:
        self.made = False

    def receive(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal: the second one does not wait.

        Raises:
            InterruptionError: at the second.
        """
        if self.made:
            raise InterruptionError
        self.made = True


@contextmanager
def listening() -> Iterator[StopRequest]:
    """Turn Ctrl-C into a request for as long as the context lasts.

    Only the main thread receives signals; in another, no request is ever made.

    Example:
        >>> import os
        >>> with listening() as request:
        ...     signal.raise_signal(signal.SIGINT)
        ...     request.made
        True
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = signal.signal(signal.SIGINT, request.receive)
    try:
        yield request
    finally:
        signal.signal(signal.SIGINT, before)
