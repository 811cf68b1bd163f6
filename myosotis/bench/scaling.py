"""Time and memory against the number of nodes, for the pictures."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import torch

from myosotis.bench import ours, scan, sparse
from myosotis.bench.case import Case, Contender, Shape, Work
from myosotis.bench.run import Measurement, Result, run_case
from myosotis.bench.systems import BlockSystem, DiagonalSystem, diagonal_system, recurrence
from myosotis.bench.timing import Settings

__all__ = ["SCALINGS", "Curves", "Scaling", "run_scaling"]

EXPONENTS = range(8, 21)
TINY_EXPONENTS = range(4, 7)


@dataclass(frozen=True)
class Scaling:
    """A problem that comes in all sizes, and those who solve it.

    Attributes:
        name: of the picture's file.
        title: of the picture.
        shape: all but the number of nodes.
        problem: makes the inputs.
        contenders: ours first.
    """

    name: str
    title: str
    shape: Shape
    problem: Callable[[Shape], DiagonalSystem]
    contenders: tuple[Contender[DiagonalSystem], ...]

    def case(self, nodes: int, without: Iterable[str] = ()) -> Case[DiagonalSystem]:
        """The case of one size, `without` those who would take too long."""
        contenders = tuple(c for c in self.contenders if c.name not in set(without))
        shape = replace(self.shape, nodes=nodes)
        return Case(f"{self.name}, {nodes} nodes", "forward", shape, self.problem, contenders)


@dataclass(frozen=True)
class Curves:
    """A scaling and the results at its sizes, smallest first."""

    scaling: Scaling
    results: tuple[Result, ...]

    def of(self, contender: str) -> list[tuple[int, Measurement]]:
        """Number of nodes and measurement wherever a contender ran."""
        return [
            (result.case.shape.nodes, m)
            for result in self.results
            for m in result.measurements
            if m.contender == contender and m.seconds is not None
        ]


def run_scaling(
    scaling: Scaling,
    exponents: Iterable[int],
    settings: Settings,
    *,
    cap: float = 1.0,
    on_call: Callable[[str], None] = lambda name: None,
) -> Curves:
    """Measures 2^k nodes for each exponent k; a contender that needs more than `cap` seconds stops.

    One that is missing or fails is accounted for at the size where that was found.
    """
    stopped: set[str] = set()
    results: list[Result] = []
    for exponent in exponents:
        result = run_case(scaling.case(2**exponent, stopped), settings, on_call)
        results.append(result)
        for m in result.measurements:
            if m.seconds is None or m.seconds.median > cap:
                stopped.add(m.contender)
        if len(stopped) == len(scaling.contenders):
            break
    return Curves(scaling, tuple(results))


def _dense() -> Contender[DiagonalSystem]:
    """The first channel with its matrix written out in full."""
    dense = ours.dense()

    def prepare(s: DiagonalSystem) -> Work:
        A, B, C = (t.unsqueeze(-1) for t in (s.a, s.b, s.c))
        return dense.prepare(BlockSystem(s.tree, A, B, C, s.u[None, ..., None]))

    return Contender(dense.name, prepare)


_RIVALS: tuple[Contender[Any], ...] = (ours.diagonal(), ours.diagonal("torch"))

SCALINGS: list[Scaling] = [
    Scaling(
        "scaling-random-tree",
        "One scalar system on a random tree, float64",
        Shape("random", nodes=1, dtype=torch.float64),
        diagonal_system,
        (*_RIVALS, sparse.splu(), sparse.cholmod(), sparse.jaxley(), _dense()),
    ),
    Scaling(
        "scaling-chain",
        "A recurrence of 16 channels on a chain, complex64",
        Shape("chain", nodes=1, channels=16, dtype=torch.complex64),
        recurrence,
        (*_RIVALS, scan.associative_scan(), scan.pscan()),
    ),
    Scaling(
        "scaling-tridiagonal",
        "One tridiagonal system, float64",
        Shape("chain", nodes=1, dtype=torch.float64),
        diagonal_system,
        (*_RIVALS, sparse.banded(), scan.tridiagonal()),
    ),
]
