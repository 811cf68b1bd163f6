"""The cases of `myo bench layer`: one mixing layer, against layers that do the same job."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from myosotis.bench.case import Case, Contender, Shape, Target, Work
from myosotis.bench.model import Attention, TreeMixer
from myosotis.bench.ours import OURS
from myosotis.bench.systems import make_tree

__all__ = ["CASES"]

# 1,024 tokens: the leaves of our tree, and the whole sequence for the others.
_SHAPE = Shape("quad", nodes=1365, batch=32, channels=64, dtype=torch.complex64, dim=128)


def _contender(
    name: str, layer: Callable[[Shape], nn.Module], backward: bool, *requires: str
) -> Contender[Shape]:
    """Forward on fresh tokens, and if asked backward to tokens and parameters."""

    def prepare(shape: Shape) -> Work:
        torch.manual_seed(0)
        module = layer(shape)
        x = torch.randn(shape.batch, make_tree(shape).num_leaves, shape.dim)
        if not backward:
            return Work(torch.no_grad()(lambda: module(x)))
        x.requires_grad_()
        gradient = torch.randn_like(x)
        leaves = [x, *module.parameters()]

        def call() -> tuple[Tensor, ...]:
            return torch.autograd.grad(module(x), leaves, gradient, allow_unused=True)

        return Work(call)

    return Contender(name, prepare, requires)


def _ours(shape: Shape) -> nn.Module:
    return TreeMixer(make_tree(shape), shape.dim, shape.channels)


def _attention(shape: Shape) -> nn.Module:
    return Attention(shape.dim, heads=4)


def _s5(shape: Shape) -> nn.Module:
    from s5 import S5

    layer: nn.Module = S5(shape.dim, shape.channels)
    return layer


def _mamba(shape: Shape) -> nn.Module:
    from mambapy.mamba import MambaBlock, MambaConfig

    layer: nn.Module = MambaBlock(MambaConfig(d_model=shape.dim, n_layers=1))
    return layer


def _case(timed: str) -> Case[Any]:
    backward = "backward" in timed
    return Case(
        f"layer, {timed}",
        timed,
        _SHAPE,
        lambda shape: shape,
        (
            _contender(OURS, _ours, backward),
            _contender("s5-pytorch", _s5, backward, "s5"),
            _contender("mambapy", _mamba, backward, "mambapy"),
            _contender("SDPA attention", _attention, backward),
        ),
        Target("s5-pytorch", 5, faster=True),
    )


CASES: list[Case[Any]] = [_case("forward"), _case("forward + backward")]
