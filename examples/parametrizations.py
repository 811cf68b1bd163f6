"""Which parametrization learns: MNIST at 16×16, one pass over 20,000 images, about five minutes.

    python examples/parametrizations.py            # needs MNIST: myo data fetch zmnist

All rows share architecture (4 blocks, 64 features, 32 complex heads), seed, data and optimiser;
only the coefficients of the tree systems differ.
"""

import argparse
import time

import torch
from torch import Tensor
from torch.nn import functional

from myosotis import Tree
from myosotis.data import load
from myosotis.nn import Classifier, ClassifierConfig

ROWS = {
    "dominant, slot": {"parametrization": "dominant"},
    "spectral, slot": {"parametrization": "spectral"},
    "factor, slot": {"parametrization": "factor"},
    "factor, node": {"parametrization": "factor", "sharing": "node"},
    "factor, slot, hippo": {"parametrization": "factor", "init": "hippo"},
}


def quarter(images: Tensor) -> Tensor:
    """32×32 in Morton order -> 16×16: every four neighbours in the sequence are one cell."""
    return images.unflatten(1, (-1, 4)).mean(2)


def train(options: dict[str, str], images: Tensor, labels: Tensor) -> Classifier:
    torch.manual_seed(0)
    config = ClassifierConfig(
        num_classes=10, tree=Tree.quadtree(16), channels=1, dim=64, depth=4, mixer_options=options
    )
    model = Classifier(config)
    batches = list(zip(images.split(50), labels.split(50), strict=True))
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, max_lr=3e-3, total_steps=len(batches), pct_start=0.1
    )
    for x, y in batches:
        optimiser.zero_grad()
        functional.cross_entropy(model(x), y).backward()
        optimiser.step()
        schedule.step()
    return model.eval()


@torch.no_grad()
def accuracy(model: Classifier, images: Tensor, labels: Tensor) -> float:
    right = [
        (model(x).argmax(-1) == y).sum()
        for x, y in zip(images.split(500), labels.split(500), strict=True)
    ]
    return float(sum(right)) / len(labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train", type=int, default=20_000, help="images to train on")
    parser.add_argument("--test", type=int, default=10_000, help="images to test on")
    sizes = parser.parse_args()
    task = load("zmnist")
    seen = next(task.train.batches(sizes.train, seed=0))
    unseen = next(task.test.batches(sizes.test))
    print(f"{'coefficients':24}{'accuracy':>10}{'parameters':>12}{'seconds':>9}")
    for name, options in ROWS.items():
        start = time.perf_counter()
        model = train(options, quarter(seen.inputs), seen.labels)
        seconds = time.perf_counter() - start
        share = accuracy(model, quarter(unseen.inputs), unseen.labels)
        count = sum(p.numel() for p in model.parameters())
        print(f"{name:24}{share:10.1%}{count:12,}{seconds:9.0f}", flush=True)


if __name__ == "__main__":
    main()
