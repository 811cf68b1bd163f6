import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from myosotis import cli
from myosotis.cli import train as train_command

TINY = ("--set", "model.dim=8", "--set", "model.depth=1", "--set", "batch_size=256")


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def myo(monkeypatch, tmp_path):
    """Runs `myo` in this process, in an empty folder, and returns its exit status."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["myo", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_info:
            cli.main()
        return exit_info.value.code or 0

    return run


def test_the_default_task_is_learned_from_the_recipe(myo, capsys):
    assert myo("train", "--epochs", 2, "--name", "first") == 0
    printed, errors = capsys.readouterr()
    for text in ("digits", "test accuracy", "samples/s", "runs/digits-myo-first/curve.png"):
        assert text in printed
    assert [line.split()[:2] for line in errors.splitlines()] == [["epoch", "1"], ["epoch", "2"]]
    folder = Path("runs/digits-myo-first")
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")
    result = json.loads((folder / "result.json").read_text())
    assert result["test_accuracy"] > 0.9
    assert myo("eval", folder, "--json") == 0
    score = json.loads(capsys.readouterr().out)
    assert score["accuracy"] == result["test_accuracy"]
    assert score["examples"] == 360
    assert myo("eval", folder, "--split", "validation") == 0
    assert f"{result['validation_accuracy']:.2%}" in capsys.readouterr().out


def test_json_and_every_option(myo, capsys, tmp_path):
    recipe = tmp_path / "my.yaml"
    recipe.write_text("epochs: 50\nmodel: {dim: 8, heads: 4}\n")
    options = ("--mixer", "s5", "--config", recipe, "--seed", 3, "--run-dir", tmp_path / "here")
    limits = ("--epochs", 40, "--time-budget", "0.2s", "--set", "batch_size=256")
    assert myo("train", "digits", *options, *limits, "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert Path(result["run"]).parent == tmp_path / "here"
    assert (result["mixer"], result["seed"]) == ("s5", 3)
    config = result["config"]
    assert (config["epochs"], config["time_budget"], config["batch_size"]) == (40, 0.2, 256)
    assert (config["model"]["dim"], config["model"]["heads"]) == (8, None)
    assert result["wall_seconds"] < 20


def test_ctrl_c_says_how_to_resume(myo, capsys, monkeypatch):
    from myosotis.train.recorder import Recorder

    original = Recorder.on_train_batch_end

    def interrupting(self, trainer, *arguments):
        if trainer.global_step == 2:
            os.kill(os.getpid(), signal.SIGINT)
        original(self, trainer, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "on_train_batch_end", interrupting)
        assert myo("train", *TINY, "--epochs", 2, "--name", "a") == 130
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.endswith("myo train --resume runs/digits-myo-a")
    resume = told.split("myo ")[-1].split()
    assert myo(*resume) == 0
    assert Path("runs/digits-myo-a/curve.png").exists()
    capsys.readouterr()
    assert myo(*resume, "--json") == 0  # nothing is left to do but to say it again
    printed, errors = capsys.readouterr()
    assert json.loads(printed)["steps"] == 10
    assert errors == ""


def test_a_full_disk_is_one_line_and_status_2(myo, capsys, monkeypatch):
    def full(path, contents):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("myosotis.train.files._write", full)
    assert myo("train", *TINY) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "No space left on device; make room or choose another folder" in line


def test_a_killed_run_ends_with_the_same_bits(myo, tmp_path):
    """`kill -9` in the middle of an epoch, from outside, at whatever moment it comes."""
    settings = (*TINY, "--epochs", 6, "--set", "checkpoint_every=0", "--set", "model.dropout=0.1")
    last = tmp_path / "runs/digits-myo-killed/checkpoints/last"
    process = subprocess.Popen(
        [sys.executable, "-m", "myosotis.cli", "train", *map(str, settings), "--name", "killed"],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    while not last.exists() and process.poll() is None:
        time.sleep(0.01)
    time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (last.parent.parent / "result.json").exists()
    assert myo("train", "--resume", last.parent.parent) == 0
    assert myo("train", *settings, "--name", "whole") == 0
    expected = load_file(tmp_path / "runs/digits-myo-whole/checkpoints/last/model.safetensors")
    found = load_file(last / "model.safetensors")
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert torch.equal(found[name], tensor), name


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["digitz"], "did you mean 'digits'?"),
        (["zmnist"], "is missing"),
        (["--mixer", "s6"], "there is no mixer 's6'"),
        (["--set", "model.dimm=3"], "did you mean 'model.dim'?"),
        (["--set", "model.dim=three"], "model.dim is 'three'; it must be a whole number"),
        (["--set", "model.mixer_options.x=1"], "there is no option 'x'"),
        (["--config", "no-such.yaml"], "cannot read no-such.yaml"),
        (["--time-budget", "soon"], "no length of time"),
        (["--resume", "no-such-run"], "cannot read no-such-run"),
        (["--resume", "run", "--epochs", 3], "--resume goes on with the settings of the run"),
        (["--run-dir", "file/runs"], "cannot make the folder"),
        (["--epochs", 0], "epochs is 0"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(myo, capsys, monkeypatch, tmp_path, arguments, message):
    monkeypatch.setenv("MYOSOTIS_DATA", str(tmp_path))
    (tmp_path / "file").touch()
    assert myo("train", *arguments) == 2
    printed, errors = capsys.readouterr()
    assert message in errors
    assert errors.count("\n") == 1
    assert printed == ""
    assert not (tmp_path / "runs").exists()


def test_without_the_extra_says_what_to_install(myo, capsys, monkeypatch):
    monkeypatch.setattr(train_command, "find_spec", lambda name: None)
    for command in (["train"], ["eval", "run"], ["compare", "digits", "--mixers", "myo"]):
        assert myo(*command) == 2
        assert "myosotis[train]" in capsys.readouterr().err


def test_other_commands_do_not_load_lightning():
    program = (
        "import sys; from myosotis import cli; cli._build_app(); "
        "print([m for m in ('pytorch_lightning', 'tensorboard', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_eval_of_what_is_no_model(myo, capsys, tmp_path):
    assert myo("eval", tmp_path) == 2
    assert "neither a run of 'myo train' nor a saved model" in capsys.readouterr().err
