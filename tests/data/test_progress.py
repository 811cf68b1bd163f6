"""The progress bar: on a terminal, and nowhere else."""

import sys

import pytest

from myosotis.data.progress import progress_bar


def test_silent_where_there_is_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    with progress_bar("counting", total=3) as advance:
        advance(3)
    assert capfd.readouterr() == ("", "")


def test_silent_without_rich(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with progress_bar("counting", total=3) as advance:
        advance(3)
    assert capfd.readouterr() == ("", "")


def test_shown_on_a_terminal(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress_bar("counting", total=8, done=2) as advance:
        advance(3)
    out, err = capfd.readouterr()
    assert not out
    assert "counting" in err
    assert "5/8" in err
