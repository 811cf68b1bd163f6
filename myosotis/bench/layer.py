"""The cases of `myo bench layer`: one mixing layer, against layers that do the same job."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from myosotis.bench.case import Case, Contender, Shape, Target, Work
from myosotis.bench.ours import OURS
from myosotis.bench.systems import make_tree
from myosotis.nn import Myo, mixers

__all__ = ["CASES"]

# For the mixers of sequences and for ours a chain; the quad-tree has 341 inner nodes in addition.
_SHAPE = Shape("quad", nodes=1365, batch=32, channels=64, dtype=torch.complex64, dim=128)
QUAD_TREE = f"{OURS}, quad-tree"


def _contender(
    name: str, layer: Callable[[Shape], nn.Module], backward: bool, *requires: str
) -> Contender[Shape]:
    """Forward, and if asked backward to tokens and parameters."""

    def prepare(shape: Shape) -> Work:
        torch.manual_seed(0)
        module, tree = layer(shape), make_tree(shape)
        length = tree.num_nodes if name == QUAD_TREE else tree.num_leaves
        x = torch.randn(shape.batch, length, shape.dim)
        if not backward:
            return Work(torch.no_grad()(lambda: module(x)))
        x.requires_grad_()
        gradient = torch.randn_like(x)
        leaves = [x, *module.parameters()]

        def call() -> tuple[Tensor, ...]:
            return torch.autograd.grad(module(x), leaves, gradient, allow_unused=True)

        return Work(call)

    return Contender(name, prepare, requires)


def _quad_tree(shape: Shape) -> nn.Module:
    return Myo(shape.dim, make_tree(shape), shape.channels)


def _mixer(name: str, heads: int | None = None) -> Callable[[Shape], nn.Module]:
    def layer(shape: Shape) -> nn.Module:
        return mixers.create(name, shape.dim, None, shape.channels if heads is None else heads)

    return layer


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
            _contender(OURS, _mixer("chain-myo"), backward),
            _contender(QUAD_TREE, _quad_tree, backward),
            _contender(f"{OURS}, s5", _mixer("s5"), backward),
            _contender("s5-pytorch", _s5, backward, "s5"),
            _contender("mambapy", _mamba, backward, "mambapy"),
            _contender("SDPA attention", _mixer("attention", heads=4), backward),
        ),
        Target("s5-pytorch", 5, faster=True),
    )


CASES: list[Case[Any]] = [_case("forward"), _case("forward + backward")]
