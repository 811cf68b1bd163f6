import signal
import threading

import pytest

from myosotis.train.interrupt import InterruptionError, listening


def test_the_first_asks_and_the_second_does_not_wait():
    before = signal.getsignal(signal.SIGINT)
    with listening() as request:
        assert not request.made
        signal.raise_signal(signal.SIGINT)
        assert request.made
        with pytest.raises(InterruptionError):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_in_another_thread_signals_are_left_alone():
    handlers = []

    def listen():
        with listening() as request:
            handlers.append(signal.getsignal(signal.SIGINT))
            assert not request.made

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=listen)
    thread.start()
    thread.join()
    assert handlers == [before]
