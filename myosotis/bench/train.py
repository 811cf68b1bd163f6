"""The cases of `myo bench train`: what the solve adds to a step of training."""

from typing import Any

import torch
from torch.nn import functional

from myosotis.bench.case import Case, Contender, Shape, Target, Work
from myosotis.bench.model import Classifier
from myosotis.bench.ours import OURS
from myosotis.bench.systems import make_tree

__all__ = ["CASES"]


def _contender(name: str, *, solve: bool) -> Contender[Shape]:
    def prepare(shape: Shape) -> Work:
        torch.manual_seed(0)
        model = Classifier(make_tree(shape), shape.dim, shape.channels, solve=solve)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        inputs = torch.randn(shape.batch, model.tree.num_leaves, 3)
        classes = torch.randint(10, (shape.batch,))

        def step() -> None:
            optimizer.zero_grad()
            functional.cross_entropy(model(inputs), classes).backward()
            optimizer.step()

        return Work(step, units=shape.batch)

    return Contender(name, prepare)


CASES: list[Case[Any]] = [
    Case(
        "training step of a classifier",
        "forward, loss, backward, AdamW",
        Shape("quad", nodes=1365, batch=64, channels=32, dtype=torch.complex64, dim=64),
        lambda shape: shape,
        (_contender(OURS, solve=True), _contender("identity", solve=False)),
        Target("identity", 1.15),
        unit="sample",
    )
]
