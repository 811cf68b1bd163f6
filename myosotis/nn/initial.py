"""How the couplings of a Myo layer start.

A coupling a_v says how much of a node's message its parent takes. Every start is a table of
numbers (or blocks) of modulus at most one; a parametrization then scales it to its own bounds.
"""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from myosotis.errors import ConfigError
from myosotis.nn.hippo import block_spectrum, log_uniform_steps, zero_order_hold
from myosotis.nn.sharing import Layout
from myosotis.tree import Tree

__all__ = ["Init", "Start", "start"]

HIGHEST_RATE = 3.0  # decay of the couplings per edge, for `scales`
LOWEST_RATE, LOWEST_RATE_ONE_WAY = 0.03, 0.0005
TURNS = 6.0  # a head that hears from one side turns at most so many times faster than it decays

Init = Literal["phase", "scales", "hippo", "ssm"]


@dataclass(frozen=True)
class Start:
    """Where a layer begins.

    Attributes:
        coupling: (rows, heads, block, block), of modulus at most one.
        spread: (rows, 1, 1, 1), the factor 1/√k that keeps the variance of the sum of k siblings.
        input_scale: (heads,), by which the input projection is multiplied; None for one.
    """

    coupling: Tensor
    spread: Tensor
    input_scale: Tensor | None


def start(
    init: Init,
    layout: Layout,
    tree: Tree | None,
    heads: int,
    *,
    block: int = 1,
    complex_heads: bool = True,
    hippo_blocks: int = 1,
    one_way: bool = False,
) -> Start:
    """Draws the start `init` in double precision.

    - `phase`: a random phase (sign, orthogonal or unitary block) per row and a little decay. What
      makes siblings differ is their phase.
    - `scales`: a random phase per row and head and a decay per head, log-uniform between e^-0.03
      and e^-3: heads that see from thirty nodes to one. For deep trees, where `phase` would add up
      what hundreds of nodes send. If messages go one way only, heads see up to 2,000 nodes, and
      those that see far turn slowly. Inputs are scaled so that on a chain of independent ones the
      solution is about as large as they are.
    - `hippo`: the eigenvalues Λ of the normal part of HiPPO-LegS with log-uniform time steps Δ;
      a child in slot j of k is k − j steps away from its parent, so a = exp(ΛΔ(k − j)).
    - `ssm`: the same Λ and Δ with a = exp(ΛΔ kˡ(k − 1 − j)) for children at height l, which makes
      what a node gathers exactly the state of the SSM over the leaves below it.

    Args:
        init: one of the above.
        layout: the rows of the table.
        tree: tells how many siblings the nodes of a row have; as many as the layout has slots if
            None.
        heads: number of heads.
        block: block size; other than 1 only for `phase`.
        complex_heads: complex numbers; needed by all but `phase`.
        hippo_blocks: how many equal blocks, each with its own HiPPO matrix, the heads are cut into.
        one_way: whether the messages of a head go up the tree only, or down only.
    """
    if init not in get_args(Init):
        raise ConfigError(f"init is {init!r}; it is one of {', '.join(get_args(Init))}")
    siblings = _siblings(layout, tree)
    spread = siblings.rsqrt().view(-1, 1, 1, 1)
    if init == "phase":
        coupling = _random_phases(layout.num_rows, heads, block, complex_heads=complex_heads)
        return Start(coupling, spread, None)
    if block != 1 or not complex_heads:
        raise ConfigError(f"init={init!r} is for complex heads with block=1; use init='phase'")
    if init == "scales":
        return _scales(layout.num_rows, heads, spread, one_way)
    if init == "ssm" and layout.sharing not in ("slot", "node"):
        raise ConfigError("init='ssm' differs by level and slot: use sharing='slot' or 'node'")
    eigenvalues = torch.from_numpy(block_spectrum(2 * heads, hippo_blocks))
    step = log_uniform_steps(heads)
    _, input_scale = zero_order_hold(eigenvalues, step)
    steps = _steps(init, layout, tree, siblings).unsqueeze(-1)  # (rows, 1)
    coupling = torch.exp(eigenvalues * step * steps)[..., None, None]
    return Start(coupling, spread if init == "hippo" else torch.ones_like(spread), input_scale)


def _scales(rows: int, heads: int, spread: Tensor, one_way: bool) -> Start:
    lowest = math.log(LOWEST_RATE_ONE_WAY if one_way else LOWEST_RATE)
    rate = torch.empty(heads, dtype=torch.float64).uniform_(lowest, math.log(HIGHEST_RATE)).exp()
    widest = (TURNS * rate).clamp(max=math.pi) if one_way else math.pi
    angle = torch.empty(rows, heads, dtype=torch.float64).uniform_(-1, 1) * widest
    size = (-rate).exp()
    # The variance of the solution on a chain with couplings a is about (1 − |a|²)⁻³, or
    # (1 − |a|²)⁻¹ if it adds up what comes from one side.
    scale = (1 - size**2) ** (0.5 if one_way else 1.5)
    return Start(torch.polar(size.expand_as(angle), angle)[..., None, None], spread, scale)


def _siblings(layout: Layout, tree: Tree | None) -> Tensor:
    """float64 (rows,), the mean number of children of the parents of a row's nodes, at least 1."""
    if tree is None:
        return torch.full((layout.num_rows,), layout.num_slots, dtype=torch.float64)
    counts = np.where(tree.parent < 0, 1, tree.num_children[tree.parent])
    return torch.from_numpy(layout.mean_over_rows(tree, counts)).clamp(min=1)


def _steps(init: Init, layout: Layout, tree: Tree | None, siblings: Tensor) -> Tensor:
    """float64 (rows,), how many time steps lie between a node of the row and its parent."""
    if tree is None:
        raise ConfigError(f"init={init!r} counts steps along a tree: give the layer one")
    after = siblings - 1 - torch.from_numpy(layout.mean_over_rows(tree, tree.slot))
    if init == "hippo":
        return after.clamp(min=0) + 1
    height = tree.num_levels - 1 - torch.from_numpy(layout.mean_over_rows(tree, tree.depth))
    return after.clamp(min=0) * siblings**height


def _random_phases(rows: int, heads: int, block: int, *, complex_heads: bool) -> Tensor:
    """(rows, heads, block, block): unitary blocks times a decay between e^-0.1 and e^-0.001."""
    dtype = torch.complex128 if complex_heads else torch.float64
    draw = torch.randn(rows, heads, block, block, dtype=dtype)
    unitary = torch.linalg.qr(draw).Q if block > 1 else draw.sgn()
    rate = torch.empty(rows, heads, 1, 1, dtype=torch.float64)
    return unitary * torch.exp(-rate.uniform_(math.log(1e-3), math.log(1e-1)).exp())
