"""Two processes of `ddp` against one with batches twice as large; options of `myo train`."""

import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file

from myosotis import cli
from myosotis.train import runs
from myosotis.train.history import read_history
from tests.cases import relative_error
from tests.distributed import even_digits
from tests.distributed.world import run_ranks


def test_two_devices_learn_what_one_does_from_twice_the_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two, _ = run_ranks(even_digits.train_as_one_of_two, 2, tmp_path)
    monkeypatch.setattr(runs, "load", even_digits.even_task)
    one = even_digits.train(tmp_path / "one", devices=1, batch_size=314)
    weights, same = (load_file(run / "checkpoints/last/model.safetensors") for run in (one, two))
    assert set(weights) == set(same)
    for name, tensor in weights.items():
        assert relative_error(same[name], tensor) < 1e-9, name
    expected, history = (read_history(run / "metrics.csv") for run in (one, two))
    assert [row.step for row in history] == [4, 8] == [row.step for row in expected]
    for row, other in zip(history, expected, strict=True):
        assert row.validation_accuracy == other.validation_accuracy
        assert row.validation_loss == pytest.approx(other.validation_loss, rel=1e-9)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--devices", "2"), "a run on several devices needs a --name"),
        (("--devices", "0"), "devices is 0"),
        (("--strategy", "nonsense"), "strategy='nonsense'"),
    ],
)
def test_mistakes_on_the_command_line(
    options: tuple[str, ...],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["myo", "train", "digits", *options])
    with pytest.raises(SystemExit) as exit_info:
        cli.main()
    assert exit_info.value.code == 2
    assert complaint in " ".join(capsys.readouterr().err.split())
