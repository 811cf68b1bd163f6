import json
import statistics
import sys
from pathlib import Path

import pytest
import torch

from myosotis import cli

TINY = ("--set", "model.dim=8", "--set", "model.depth=1", "--set", "batch_size=256")


@pytest.fixture
def myo(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["myo", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_info:
            cli.main()
        return exit_info.value.code or 0

    yield run
    torch.set_num_threads(threads)


def test_table_picture_and_json(myo, capsys):
    mixers = ("--mixers", "myo,s5", "--seeds", 2)
    assert myo("compare", "digits", *mixers, *TINY, "--set", "epochs=1") == 0
    printed = capsys.readouterr().out
    for text in ("mixer", "samples/s", "parameters", "memory", "±", "comparison.png"):
        assert text in printed
    (folder,) = Path("runs").iterdir()
    assert (folder / "comparison.png").read_bytes().startswith(b"\x89PNG")
    document = json.loads((folder / "comparison.json").read_text())
    assert list(document["mixers"]) == ["myo", "s5"]
    for name, summary in document["mixers"].items():
        runs = summary["runs"]
        assert [run["seed"] for run in runs] == [0, 1]
        accuracies = [run["test_accuracy"] for run in runs]
        assert summary["test_accuracy_mean"] == statistics.mean(accuracies)
        assert summary["test_accuracy_deviation"] == statistics.stdev(accuracies)
        assert f"{100 * statistics.mean(accuracies):.2f} ± " in printed
        for run in runs:
            assert run["config"]["model"]["mixer"] == name
            assert json.loads((Path(run["run"]) / "result.json").read_text())["seed"] == run["seed"]
    first, second = (
        {**summary["runs"][0]["config"], "model": None} for summary in document["mixers"].values()
    )
    assert first == second  # all but the model


def test_a_time_budget_decides_instead_of_epochs(myo, capsys):
    options = ("--mixers", "lstm", "--time-budget", "0.5s", "--json")
    assert myo("compare", "digits", *options, *TINY) == 0
    (run,) = json.loads(capsys.readouterr().out)["mixers"]["lstm"]["runs"]
    assert 0.5 <= run["wall_seconds"] < 20
    assert run["config"]["epochs"] > 10_000


@pytest.mark.parametrize("mixers", ["myo,s6", "", "myo,,s5"])
def test_a_mixer_that_does_not_exist_is_found_before_anything_is_trained(myo, capsys, mixers):
    assert myo("compare", "digits", "--mixers", mixers, *TINY) == 2
    assert "there is no mixer" in capsys.readouterr().err
    assert not Path("runs").exists()


def test_ctrl_c_says_where_the_finished_runs_are(myo, capsys, monkeypatch):
    from myosotis.train import runs
    from myosotis.train.interrupt import InterruptionError

    def interrupt(folder, data_dir):
        raise InterruptionError

    monkeypatch.setattr(runs, "run", interrupt)
    assert myo("compare", "digits", "--mixers", "myo", *TINY) == 130
    assert "stopped; the runs so far are in runs/compare-digits-" in capsys.readouterr().err
