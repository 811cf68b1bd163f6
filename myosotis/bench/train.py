"""The cases of `myo bench train`: what the solve adds to a step of training."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from myosotis.bench.case import Case, Contender, Shape, Target, Work
from myosotis.bench.ours import OURS
from myosotis.bench.systems import make_tree
from myosotis.nn import Classifier, ClassifierConfig, Myo
from myosotis.tree import Tree

__all__ = ["CASES"]


class _Identity(nn.Module):
    """Coefficients whose solution is the right-hand side: all of the layer but the solve."""

    def solve(self, tree: Tree, rows: Tensor, u: Tensor, x: Tensor, edges: None) -> Tensor:
        return u


def _classifier(shape: Shape) -> Classifier:
    torch.manual_seed(0)
    return Classifier(
        ClassifierConfig(10, make_tree(shape), channels=3, dim=shape.dim, heads=shape.channels)
    )


def _without_solve(shape: Shape) -> Classifier:
    model = _classifier(shape)
    for layer in list(model.modules()):
        if isinstance(layer, Myo):
            layer.coefficients = _Identity()  # type: ignore[assignment]
    return model


def _step_by_step(shape: Shape) -> Classifier:
    model = _classifier(shape)
    for block in model.blocks:
        block.register_forward_hook(lambda *_: None)  # a block that is watched is not fused
    return model


def _compiled(shape: Shape) -> nn.Module:
    model = _classifier(shape)
    model.compile(fullgraph=True)
    return model


def _contender(name: str, make: Callable[[Shape], nn.Module]) -> Contender[Shape]:
    def prepare(shape: Shape) -> Work:
        model = make(shape)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        inputs = torch.randn(shape.batch, make_tree(shape).num_leaves, 3)
        classes = torch.randint(10, (shape.batch,))

        def step() -> None:
            optimizer.zero_grad()
            functional.cross_entropy(model(inputs), classes).backward()
            optimizer.step()

        return Work(step, units=shape.batch)

    return Contender(name, prepare)


_SHAPE = Shape("quad", nodes=1365, batch=64, channels=32, dtype=torch.complex64, dim=64)
_TIMED = "forward, loss, backward, AdamW"

CASES: list[Case[Any]] = [
    Case(
        "training step of a classifier",
        _TIMED,
        _SHAPE,
        lambda shape: shape,
        (
            _contender(OURS, _classifier),
            _contender("identity", _without_solve),
            _contender("blocks step by step", _step_by_step),
        ),
        Target("identity", 1.15),
        unit="sample",
    ),
    Case(
        "training step, compiled",
        _TIMED,
        _SHAPE,
        lambda shape: shape,
        (_contender(f"{OURS}, torch.compile", _compiled), _contender(OURS, _classifier)),
        Target(OURS, 1.0),
        unit="sample",
    ),
]
