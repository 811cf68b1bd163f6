"""Every example runs, at a small size where it takes one."""

import os
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
MNIST = Path(os.environ.get("MYOSOTIS_DATA") or "no data folder", "mnist")
SMALL = {"parametrizations.py": ["--train", "100", "--test", "50"]}
NEEDS_MNIST = ["parametrizations.py"]


@pytest.mark.parametrize("example", sorted(file.name for file in EXAMPLES.glob("*.py")))
def test_example(
    example: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if example in NEEDS_MNIST and not MNIST.is_dir():
        pytest.skip("no mnist under MYOSOTIS_DATA")
    monkeypatch.setattr(sys, "argv", [example, *SMALL.get(example, [])])
    runpy.run_path(str(EXAMPLES / example), run_name="__main__")
    assert capsys.readouterr().out
