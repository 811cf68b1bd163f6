import pytest
import pytorch_lightning as pl
import torch
from safetensors.torch import load_file

from myosotis.train import ModelConfig, TrainConfig, create_run, run
from myosotis.train.saver import Saver

STEPS = 5  # in an epoch
CONFIG = TrainConfig(
    epochs=3,
    batch_size=256,
    checkpoint_every=0.0,
    early_stopping=10,
    model=ModelConfig(dim=8, depth=2, dropout=0.2, norm="batch"),
)


class CrashError(Exception):
    pass


def weights(folder):
    return load_file(folder / "checkpoints/last/model.safetensors")


def rows(folder):
    """The history without the columns that are times."""
    lines = (folder / "metrics.csv").read_text().splitlines()
    return [line.split(",")[:7] for line in lines]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = create_run(CONFIG, tmp_path_factory.mktemp("runs"), "whole")
    return folder, run(folder, show=False)


def crash_at(monkeypatch, hook, step):
    """Lets the run fail in a hook of the last callback, before it does anything there."""
    original = getattr(Saver, hook)

    def crashing(self, trainer, *arguments):
        if trainer.global_step == step:
            raise CrashError
        original(self, trainer, *arguments)

    monkeypatch.setattr(Saver, hook, crashing)


@pytest.mark.parametrize(
    ("hook", "step"),
    [
        ("on_train_batch_end", 1),  # before there is any checkpoint
        ("on_train_batch_end", 3),
        ("on_train_batch_end", STEPS),  # the last batch of an epoch, before validation
        ("on_train_epoch_end", STEPS),  # after it
        ("on_train_batch_end", STEPS + 1),  # the first of the next
        ("on_train_batch_end", 2 * STEPS + 3),
        ("on_train_epoch_end", 3 * STEPS),
    ],
)
def test_an_interrupted_run_ends_with_the_same_bits(
    monkeypatch, tmp_path, uninterrupted, hook, step
):
    whole, expected = uninterrupted
    folder = create_run(CONFIG, tmp_path)
    with monkeypatch.context() as patch:
        crash_at(patch, hook, step)
        with pytest.raises(CrashError):
            run(folder, show=False)
    torch.manual_seed(step)  # what is restored must not depend on what is there
    torch.rand(step)
    result = run(folder, show=False)
    assert rows(folder) == rows(whole)
    assert result.test_loss == expected.test_loss
    for name, tensor in weights(whole).items():
        assert torch.equal(weights(folder)[name], tensor), name


def test_a_finished_run_returns_its_result(monkeypatch, uninterrupted):
    folder, expected = uninterrupted
    monkeypatch.delattr(pl.Trainer, "fit")
    assert run(folder) == expected
