"""A small classifier learns a small task in seconds."""

import pytest
import torch
from torch.nn import functional

from myosotis.data import load
from myosotis.nn import Classifier, ClassifierConfig


def test_two_blocks_learn_the_digits() -> None:
    pytest.importorskip("sklearn", reason="the digits come with scikit-learn")
    task, epochs, size = load("digits"), 15, 64
    torch.manual_seed(0)
    model = Classifier(
        ClassifierConfig(task.num_classes, task.tree, channels=task.channels, depth=2)
    )
    steps = epochs * (len(task.train) // size)
    optimiser = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 5e-3, total_steps=steps)
    for epoch in range(epochs):
        for batch in task.train.batches(size, seed=epoch, drop_last=True):
            optimiser.zero_grad()
            functional.cross_entropy(model(batch.inputs), batch.labels).backward()
            optimiser.step()
            schedule.step()
    model.eval()
    (unseen,) = task.test.batches(len(task.test))
    with torch.no_grad():
        right = model(unseen.inputs).argmax(-1) == unseen.labels
    assert right.float().mean() > 0.97
