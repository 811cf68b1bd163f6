"""Sentiment of sentences, each on its own parse tree, without pretrained word vectors.

Every sentence of the Stanford Sentiment Treebank comes with its parse tree. A batch is the forest
of its sentences' trees, so that trees of all shapes go through the model together and nothing is
padded: words enter at the leaves, and the classes come out at the roots.

Prints the size of the first batch, and the validation accuracy of the most common class and of the
model, which is trained to tell positive from negative sentences. Fails if the model is not better
by ten points. Does nothing but say so if the treebank is not there: `myo data fetch sst-binary`
gets it.

    python examples/sentiment.py           # --small: a narrow model and 300 steps
"""

import argparse
from collections.abc import Iterator
from itertools import count, islice

import numpy as np
import torch
from torch.nn import functional

from myosotis.data import Batch, Split, Task, load
from myosotis.data.folder import data_folder
from myosotis.nn import Classifier, ClassifierConfig

BATCH = 32


def build(task: Task, dim: int) -> Classifier:
    """A classifier that gets its tree with each call and shares its coefficients over levels."""
    config = ClassifierConfig(
        num_classes=task.num_classes,
        vocabulary=task.vocabulary,
        dim=dim,
        depth=1,
        mixer_options={"sharing": "tied"},  # parse trees have no common number of levels
        levels=32,
        branching=2,
        dropout=0.3,
    )
    return Classifier(config)


def endless(split: Split) -> Iterator[Batch]:
    """Shuffled batches, epoch after epoch."""
    for epoch in count():
        yield from split.batches(BATCH, seed=epoch, drop_last=True)


def train(model: Classifier, task: Task, steps: int) -> None:
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 1e-2, total_steps=steps)
    model.train()
    for batch in islice(endless(task.train), steps):
        optimiser.zero_grad()
        functional.cross_entropy(model(batch.inputs, tree=batch.tree), batch.labels).backward()
        optimiser.step()
        schedule.step()


@torch.no_grad()
def accuracy(model: Classifier, split: Split) -> float:
    model.eval()
    right = sum(
        int((model(batch.inputs, tree=batch.tree).argmax(-1) == batch.labels).sum())
        for batch in split.batches(256)
    )
    return right / len(split)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="a narrow model, fewer steps")
    dim, steps = (32, 300) if parser.parse_args().small else (64, 1000)
    if not (data_folder() / "sst").is_dir():
        print(f"no treebank in {data_folder()}: get it with 'myo data fetch sst-binary'")
        return

    task = load("sst-binary")
    first = next(task.train.batches(BATCH))
    assert first.tree is not None
    print(f"a batch     {len(first.labels)} sentences are a forest of {first.tree.num_nodes} nodes")

    common = np.bincount(task.train.labels).argmax()
    baseline = float(np.mean(task.validation.labels == common))
    print(f"baseline    {baseline:.1%} of validation are of the most common class")

    torch.manual_seed(0)
    model = build(task, dim)
    train(model, task, steps)
    share = accuracy(model, task.validation)
    print(f"model       {share:.1%} after {steps} steps of {BATCH} sentences")
    if share < baseline + 0.1:
        raise SystemExit("the model is not ten points better than the most common class")


if __name__ == "__main__":
    main()
