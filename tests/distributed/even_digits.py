"""Training on digits, on so many examples that two devices share them evenly."""

import os
from dataclasses import replace
from pathlib import Path

import torch.distributed as dist
from lightning_utilities.core.rank_zero import rank_zero_only

from myosotis.data import Task, load
from myosotis.train import ModelConfig, TrainConfig, create_run, run, runs

EXAMPLES = 1256


def even_task(name: str, root: Path | None = None) -> Task:
    task = load(name, root)
    return replace(task, train=replace(task.train, rows=task.train.rows[:EXAMPLES]))


def train(folder: Path, *, devices: int, batch_size: int) -> Path:
    config = TrainConfig(
        epochs=2,
        batch_size=batch_size,
        precision="64-true",
        threads=1,
        devices=devices,
        strategy="ddp" if devices > 1 else "auto",
        model=ModelConfig(dim=8, depth=1),
    )
    made = create_run(config, folder, "even")
    if devices > 1:
        dist.barrier()  # the first rank makes the folder that the second looks into
    run(made, show=False)
    return made


def train_as_one_of_two(rank: int, folder: Path) -> Path:
    """What a launcher such as torchrun would have a rank do."""
    os.environ["LOCAL_RANK"] = str(rank)
    rank_zero_only.rank = rank  # read from the environment when Lightning was imported
    runs.load = even_task
    return train(folder, devices=2, batch_size=157)
