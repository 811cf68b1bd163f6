"""The cases of `myo bench solve`: the solver alone."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from myosotis.bench import ours, scan, sparse
from myosotis.bench.case import Case, Contender, Shape, Target, Work
from myosotis.bench.ours import OURS, ROUNDS
from myosotis.bench.systems import (
    DiagonalSystem,
    block_system,
    diagonal_system,
    factored_system,
    recurrence,
)
from myosotis.linalg import tree_solve_diag

__all__ = ["CASES"]

_REAL = Shape("quad", nodes=1365, batch=32, channels=128, dtype=torch.float32)
_COMPLEX = Shape("quad", nodes=1365, batch=32, channels=64, dtype=torch.complex64)
_CHAIN = Shape("chain", nodes=16_384, batch=8, channels=64, dtype=torch.complex64)
_RANDOM = Shape("random", nodes=100_000, dtype=torch.float64)
_BLOCKS = Shape("quad", nodes=1365, batch=32, block=4)
_SMALL = Shape("quad", nodes=85, batch=4, block=4)
_BOTH = "forward + backward"


@dataclass(frozen=True)
class TwoSizes:
    """A system on few nodes and one on many."""

    few: DiagonalSystem
    many: DiagonalSystem


def two_sizes(shape: Shape) -> TwoSizes:
    """The problem of the growth case: a 64th of the nodes, and all of them."""
    few = replace(shape, nodes=max(2, shape.nodes // 64))
    return TwoSizes(diagonal_system(few), diagonal_system(shape))


def _per_node(s: DiagonalSystem) -> Work:
    return Work(lambda: tree_solve_diag(s.tree, s.a, s.b, s.c, s.u), units=s.tree.num_nodes)


def _all_channels(s: DiagonalSystem) -> Work:
    return Work(lambda: tree_solve_diag(s.tree, s.a, s.b, s.c, s.u), units=s.u.shape[-1])


def _diagonal(name: str, shape: Shape, forward: float, backward: float) -> list[Case[Any]]:
    """Forward, forward with backward, and its memory, against a copy of u."""
    problem = diagonal_system
    both = (ours.diagonal(backward=True), ours.clone())
    return [
        Case(
            f"diagonal {name}, forward",
            "forward",
            shape,
            problem,
            (ours.diagonal(), ours.clone(), ours.diagonal("torch")),
            Target("clone", forward),
        ),
        Case(
            f"diagonal {name}, {_BOTH}",
            _BOTH,
            shape,
            problem,
            (*both, ours.diagonal("torch", backward=True)),
            Target("clone", backward),
        ),
        Case(
            f"diagonal {name}, memory",
            _BOTH,
            shape,
            problem,
            both,
            Target("clone", 3.5),
            quantity="memory",
        ),
    ]


def _factored(name: str, shape: Shape, tabled: bool) -> list[Case[Any]]:
    """The positive definite family, against a copy of u."""
    rows = "table" if tabled else "per node"
    return [
        Case(
            f"factored {name}, {rows}, {timed}",
            timed,
            shape,
            partial(factored_system, tabled=tabled),
            (
                ours.factored(backward=timed == _BOTH),
                ours.clone(),
                ours.factored("torch", backward=timed == _BOTH),
            ),
        )
        for timed in ("forward", _BOTH)
    ]


def _one_system(tree: str) -> Case[Any]:
    """One large system with gradients: nothing for threads to share but the tree itself."""
    return Case(
        f"one {tree} system, {_BOTH}",
        _BOTH,
        Shape(tree, nodes=65_536, channels=64),
        diagonal_system,
        (
            ours.diagonal(backward=True),
            ours.clone(),
            ours.diagonal("torch", backward=True),
        ),
    )


def _dense_blocks(name: str, shape: Shape) -> Case[Any]:
    return Case(
        f"blocks d=4 {name}",
        "forward",
        shape,
        block_system,
        (ours.blocks(), ours.blocks("torch")),
        Target(ROUNDS, 8, faster=True),
    )


CASES: list[Case[Any]] = [
    *_diagonal("float32", _REAL, forward=2.0, backward=7.0),
    *_diagonal("complex64", _COMPLEX, forward=2.5, backward=9.0),
    *_factored("float32", _REAL, tabled=False),
    *_factored("float32", _REAL, tabled=True),
    *_factored("complex64", _COMPLEX, tabled=False),
    *_factored("complex64", _COMPLEX, tabled=True),
    Case(
        "diagonal float32, coefficients per sample",
        "forward",
        replace(_REAL, per_sample=True),
        diagonal_system,
        (ours.diagonal(), ours.clone_everything(), ours.diagonal("torch")),
        Target("clone all", 2.0),
    ),
    Case(
        "recurrence on a chain",
        "forward",
        _CHAIN,
        recurrence,
        (ours.diagonal(), scan.associative_scan(), scan.pscan(), ours.diagonal("torch")),
        Target("JAX associative_scan", 5, faster=True),
    ),
    Case(
        "one random tree",
        "factor and solve",
        _RANDOM,
        diagonal_system,
        (
            ours.diagonal(),
            sparse.splu(),
            sparse.splu(leaf_to_root=True),
            sparse.cholmod(),
            sparse.cholmod(ordered=True),
            sparse.jaxley(),
            sparse.neuron(),
            ours.diagonal("torch"),
        ),
        Target("SciPy splu", 50, faster=True),
    ),
    Case(
        "256 systems on one random tree",
        "factor and solve, SciPy one system at a time",
        replace(_RANDOM, channels=256),
        diagonal_system,
        (Contender(OURS, _all_channels), sparse.splu()),
        Target("SciPy splu", 500, faster=True),
        unit="system",
    ),
    Case(
        "tridiagonal",
        "factor and solve",
        replace(_RANDOM, tree="chain"),
        diagonal_system,
        (ours.diagonal(), sparse.banded(), scan.tridiagonal(), ours.diagonal("torch")),
    ),
    _one_system("random"),
    _one_system("chain"),
    _dense_blocks("shared", _BLOCKS),
    _dense_blocks("per sample", replace(_BLOCKS, per_sample=True)),
    Case(
        "blocks d=4 on a small tree",
        "forward",
        _SMALL,
        block_system,
        (ours.blocks(), ours.blocks("torch"), ours.dense(), ours.blocks_reference()),
    ),
    Case(
        "diagonal on a small tree",
        "forward",
        replace(_SMALL, block=0, channels=16),
        diagonal_system,
        (ours.diagonal(), ours.diagonal("torch"), ours.diagonal_reference()),
    ),
    Case(
        "growth from 2^14 to 2^20 nodes",
        "forward",
        Shape("random", nodes=2**20, channels=64),
        two_sizes,
        (
            Contender(f"{OURS}, all nodes", lambda sizes: _per_node(sizes.many)),
            Contender("a 64th of the nodes", lambda sizes: _per_node(sizes.few)),
        ),
        Target("a 64th of the nodes", 1.5),
        unit="node",
    ),
    Case(
        "rounds on a chain",
        "forward",
        Shape("chain", nodes=16_384),
        diagonal_system,
        (ours.diagonal("torch"), ours.level_by_level(), ours.diagonal()),
        Target("level by level", 50, faster=True),
    ),
    Case(
        "rounds on a chain, 16 channels",
        "forward",
        Shape("chain", nodes=16_384, channels=16),
        diagonal_system,
        (ours.diagonal("torch"), ours.level_by_level(), ours.diagonal()),
    ),
]
