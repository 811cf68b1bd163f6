import csv
import errno
import json
import os
import shutil
import signal
import time
from dataclasses import replace

import pytest
import torch
from torch import nn

from myosotis.data import load
from myosotis.errors import ConfigError, DataError
from myosotis.nn import Classifier, Myo
from myosotis.train import (
    ModelConfig,
    OptimiserConfig,
    TrainConfig,
    best_model,
    create_run,
    run,
    runs,
    saved_model,
)
from myosotis.train.evaluate import evaluate
from myosotis.train.history import best_epoch, read_history
from myosotis.train.interrupt import InterruptionError
from myosotis.train.module import TrainingModule
from myosotis.train.recorder import Recorder

CONFIG = TrainConfig(epochs=2, batch_size=256, model=ModelConfig(dim=8, depth=1))
STEPS = 5  # in an epoch


def after_step(monkeypatch, step, action):
    """Does something when so many steps are complete, before any callback of ours."""
    original = Recorder.on_train_batch_end

    def acting(self, trainer, *arguments):
        if trainer.global_step == step:
            action()
        original(self, trainer, *arguments)

    monkeypatch.setattr(Recorder, "on_train_batch_end", acting)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = create_run(CONFIG, tmp_path_factory.mktemp("runs"), "done")
    return folder, run(folder, show=False)


def test_a_run_leaves_everything_behind(finished):
    folder, _ = finished
    assert folder.name == "digits-myo-done"
    files = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    models = {
        f"checkpoints/{n}/{f}"
        for n in ("best", "last")
        for f in ("config.json", "model.safetensors")
    }
    assert {"config.yaml", "metrics.csv", "result.json", "checkpoints/last/training.pt"} <= files
    assert models <= files
    document = json.loads((folder / "result.json").read_text())
    assert document["task"] == "digits"
    assert document["mixer"] == "myo"
    assert document["seed"] == 0
    assert document["steps"] == 2 * STEPS
    assert document["epochs"] == 2
    assert document["config"]["model"]["dim"] == 8
    assert document["versions"]["torch"] == torch.__version__
    assert 0 <= document["test_accuracy"] <= 1
    assert document["wall_seconds"] > 0
    assert document["samples_per_second"] > 0


def test_the_figures_are_those_of_the_best_model(finished):
    folder, result = finished
    task, model = load("digits"), best_model(folder)
    assert result.parameters == sum(p.numel() for p in model.parameters())
    assert result.test_accuracy == evaluate(model, task, "test").accuracy
    assert result.validation_accuracy == evaluate(model, task, "validation").accuracy
    history = read_history(folder / "metrics.csv")
    assert [row.epoch for row in history] == [1, 2]
    assert result.best_epoch == best_epoch(history).epoch
    assert history[1].seconds > history[0].seconds
    assert history[1].lr < history[0].lr


def test_tensorboard_has_the_epochs(finished):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = accumulator.EventAccumulator(str(finished[0] / "tensorboard")).Reload()
    with (finished[0] / "metrics.csv").open() as file:
        expected = [float(row["validation_loss"]) for row in csv.DictReader(file)]
    assert [e.value for e in events.Scalars("validation_loss")] == pytest.approx(expected)


def test_evaluation_agrees_with_one_batch_of_all(finished):
    task, model = load("digits"), best_model(finished[0])
    (batch,) = task.test.batches(len(task.test))
    with torch.no_grad():
        logits = model(batch.inputs)
    score = evaluate(model, task, "test", batch_size=100)
    assert score.examples == 360
    assert score.accuracy == (logits.argmax(-1) == batch.labels).double().mean().item()
    assert score.loss == pytest.approx(nn.functional.cross_entropy(logits, batch.labels).item())


def test_a_model_is_not_evaluated_on_what_it_was_not_made_for(finished):
    other = replace(load("digits"), num_classes=7)
    with pytest.raises(ConfigError, match="made for 10 classes, but 'digits' has 7"):
        evaluate(best_model(finished[0]), other)


def test_saved_models_are_found(finished, tmp_path):
    assert saved_model(finished[0])[1] == "digits"
    assert saved_model(finished[0] / "checkpoints/best", "digits")[1] == "digits"
    with pytest.raises(ConfigError, match="name its task with --task"):
        saved_model(finished[0] / "checkpoints/best")
    with pytest.raises(ConfigError, match="neither a run"):
        saved_model(tmp_path)


def test_equal_seeds_give_equal_bits_and_others_do_not(tmp_path, finished):
    short = replace(CONFIG, epochs=1, deterministic=True)
    losses = [
        run(create_run(replace(short, seed=seed), tmp_path, name), show=False).test_loss
        for seed, name in ((0, "a"), (0, "b"), (1, "c"))
    ]
    assert losses[0] == losses[1] != losses[2]
    assert not torch.are_deterministic_algorithms_enabled()


def test_threads_are_set_for_the_run_only(monkeypatch, tmp_path):
    seen, before = [], torch.get_num_threads()
    after_step(monkeypatch, 1, lambda: seen.append(torch.get_num_threads()))
    run(create_run(replace(CONFIG, epochs=1, threads=2), tmp_path), show=False)
    assert seen == [2]
    assert torch.get_num_threads() == before == 1


def test_a_time_budget_ends_the_run_in_time_and_lets_the_rate_fall(tmp_path):
    config = replace(CONFIG, epochs=10_000, time_budget=1.0)
    begin = time.monotonic()
    folder = create_run(config, tmp_path)
    result = run(folder, show=False)
    assert time.monotonic() - begin < 30
    assert 0.9 < result.wall_seconds < 10  # noted a moment before the clock is looked at
    last = read_history(folder / "metrics.csv")[-1]
    assert last.step == result.steps < 10_000
    assert last.lr < config.optimiser.lr / 10
    (folder / "result.json").unlink()
    assert run(folder, show=False).steps == result.steps  # the time is still up


def test_early_stopping(tmp_path):
    config = replace(
        CONFIG, epochs=50, early_stopping=2, optimiser=OptimiserConfig(lr=1e-30, dynamics_lr=None)
    )
    folder = create_run(config, tmp_path)
    assert run(folder, show=False).epochs == 3  # the first is the best, and two more
    (folder / "result.json").unlink()
    assert run(folder, show=False).epochs == 3  # it had to stop, so it does not go on


def test_ctrl_c_saves_when_the_step_is_complete(monkeypatch, tmp_path):
    folder = create_run(replace(CONFIG, checkpoint_every=1e9), tmp_path)
    before = signal.getsignal(signal.SIGINT)  # ignored, if the tests run in the background
    with monkeypatch.context() as patch:
        after_step(patch, 3, lambda: os.kill(os.getpid(), signal.SIGINT))
        with pytest.raises(InterruptionError):
            run(folder, show=False)
    state = torch.load(folder / "checkpoints/last/training.pt", weights_only=True)
    assert state["global_step"] == 3
    assert not (folder / "result.json").exists()
    assert signal.getsignal(signal.SIGINT) is before
    assert run(folder, show=False).steps == 2 * STEPS


def test_a_second_ctrl_c_does_not_wait(monkeypatch, tmp_path):
    folder = create_run(replace(CONFIG, checkpoint_every=1e9), tmp_path)

    def twice():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    after_step(monkeypatch, 3, twice)
    with pytest.raises(InterruptionError):
        run(folder, show=False)
    assert not (folder / "checkpoints/last").exists()


def test_a_loss_that_is_no_number_names_step_and_layer(monkeypatch, tmp_path):
    original = Myo.forward

    def spoiling(self, *arguments):
        result = original(self, *arguments)
        return result * float("nan") if self.training and spoiled else result

    spoiled = []
    after_step(monkeypatch, 3, lambda: spoiled.append(True))
    monkeypatch.setattr(Myo, "forward", spoiling)
    with pytest.raises(ConfigError, match=r"step 4 .* 'blocks\.0\.mixer'.*lower optimiser\.lr"):
        run(create_run(CONFIG, tmp_path), show=False)


def test_a_parameter_that_is_no_number_is_not_saved(monkeypatch, tmp_path):
    folder = create_run(replace(CONFIG, checkpoint_every=0), tmp_path)
    modules = []
    original = TrainingModule.__init__

    def remembering(self, *arguments):
        original(self, *arguments)
        modules.append(self)

    monkeypatch.setattr(TrainingModule, "__init__", remembering)
    after_step(monkeypatch, 3, lambda: modules[0].model.head.bias.data.fill_(float("inf")))
    with pytest.raises(ConfigError, match=r"after step 3 the parameter 'head\.bias'"):
        run(folder, show=False)
    state = torch.load(folder / "checkpoints/last/training.pt", weights_only=True)
    assert state["global_step"] == 2


def test_bad_inputs_are_the_fault_of_the_data(monkeypatch, tmp_path):
    task = load("digits")
    scale = replace(task.train.scale, std=task.train.scale.std * float("nan"))
    spoiled = replace(task, train=replace(task.train, scale=scale))
    monkeypatch.setattr("myosotis.train.runs.load", lambda name, root: spoiled)
    with pytest.raises(DataError, match="the inputs of step 1 have NaN"):
        run(create_run(CONFIG, tmp_path), show=False)


def test_a_logger_without_space_is_a_clear_line(monkeypatch, tmp_path):
    loggers = pytest.importorskip("pytorch_lightning.loggers")
    pytest.importorskip("tensorboard")

    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(loggers.TensorBoardLogger, "log_metrics", full)
    with pytest.raises(ConfigError, match="No space left on device; make room"):
        run(create_run(CONFIG, tmp_path), show=False)


def test_a_damaged_model_is_named(tmp_path, finished):
    copy = tmp_path / "model"
    shutil.copytree(finished[0] / "checkpoints/best", copy)
    weights = copy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-50])
    with pytest.raises(DataError, match=f"the model in {copy} is damaged"):
        saved_model(copy, "digits")


def test_a_run_is_not_overwritten(tmp_path):
    folder = create_run(CONFIG, tmp_path, "a")
    with pytest.raises(ConfigError, match=f"--resume {folder}"):
        create_run(CONFIG, tmp_path, "a")


def test_several_devices_need_a_name_that_all_processes_know(monkeypatch, tmp_path):
    config = replace(CONFIG, devices=2)
    with pytest.raises(ConfigError, match="needs a --name"):
        create_run(config, tmp_path)
    folder = create_run(config, tmp_path, "a")
    monkeypatch.setattr("myosotis.train.runs.is_main_process", lambda: False)
    assert create_run(config, tmp_path, "a") == folder


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(ConfigError, match=r"cannot make the folder .* choose another"):
        create_run(CONFIG, tmp_path / "runs", "a")


def test_a_folder_that_is_no_run(tmp_path):
    with pytest.raises(ConfigError, match="cannot read"):
        run(tmp_path, show=False)


@pytest.mark.parametrize("mixer", ["s5", "lstm", "tree-attention"])
def test_other_mixers_train(tmp_path, mixer):
    config = replace(CONFIG, epochs=1, model=ModelConfig(dim=8, depth=1, mixer=mixer))
    result = run(create_run(config, tmp_path), show=False)
    assert result.mixer == mixer
    assert isinstance(saved_model(next(tmp_path.iterdir()))[0], Classifier)


def test_other_processes_wait_for_the_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(runs.rank_zero_only, "rank", 1)
    monkeypatch.setattr(runs, "PATIENCE", 0.1)
    with pytest.raises(ConfigError, match="did not appear within 0 s; is the run's folder on a"):
        create_run(CONFIG, tmp_path, "shared")
    folder = tmp_path / "digits-myo-shared"
    folder.mkdir()
    (folder / "config.yaml").write_text("task: digits")
    assert create_run(CONFIG, tmp_path, "shared") == folder
