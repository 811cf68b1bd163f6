"""What is measured: a case names a problem, those who solve it, and what is expected of us."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, Literal, TypeVar

import torch

__all__ = ["Case", "Contender", "Shape", "Target", "Work"]

P = TypeVar("P")

_TINY_NODES = {"quad": 21, "chain": 32, "random": 50}


@dataclass(frozen=True)
class Shape:
    """Size of a problem.

    Attributes:
        tree: `quad` (perfect, four children), `chain` or `random` (uniform attachment).
        nodes: number of nodes.
        batch: number of right-hand sides.
        channels: independent scalar systems, or complex heads of a layer.
        block: size d of dense blocks; 0 for diagonal ones.
        dtype: of the system.
        per_sample: every sample of the batch has its own coefficients.
        dim: width of the layer around the solve; 0 if there is none.
    """

    tree: str
    nodes: int
    batch: int = 1
    channels: int = 1
    block: int = 0
    dtype: torch.dtype = torch.float32
    per_sample: bool = False
    dim: int = 0

    def tiny(self) -> "Shape":
        """The same problem, small enough for a test.

        Example:
            >>> Shape("chain", nodes=100_000, channels=256).tiny()
            Shape(tree='chain', nodes=32, batch=1, channels=4, ...)
        """
        return replace(
            self,
            nodes=min(self.nodes, _TINY_NODES[self.tree]),
            batch=min(self.batch, 2),
            channels=min(self.channels, 4),
            dim=min(self.dim, 8),
        )

    def describe(self) -> str:
        """One line for tables.

        Example:
            >>> Shape("chain", nodes=16_384, batch=8, channels=64, dtype=torch.complex64).describe()
            'chain of 16,384 nodes, batch 8, 64 channels, complex64'
        """
        parts = [f"{self.tree} of {self.nodes:,} nodes"]
        parts += [f"batch {self.batch}"] if self.batch > 1 else []
        parts += [f"dim {self.dim}"] if self.dim else []
        parts += [f"{self.channels} channels"] if self.channels > 1 else []
        parts += [f"blocks d={self.block}"] if self.block else []
        parts += [str(self.dtype).removeprefix("torch.")]
        parts += ["coefficients per sample"] if self.per_sample else []
        return ", ".join(parts)


@dataclass(frozen=True)
class Work:
    """Something to measure.

    Attributes:
        call: what is timed.
        units: how many units of the case one call does.
        extra_bytes: memory of a call, for those who keep their own books; measured if None.
    """

    call: Callable[[], object]
    units: int = 1
    extra_bytes: int | None = None


@dataclass(frozen=True)
class Contender(Generic[P]):
    """One way of solving the problem of a case.

    Attributes:
        name: as in tables.
        prepare: everything that is not timed (conversion, assembly), up to the call that is.
        requires: modules without which it counts as not installed.
        absent: why there is nothing to call although the peer is known, if that is so.
    """

    name: str
    prepare: Callable[[P], Work]
    requires: tuple[str, ...] = ()
    absent: str = ""


@dataclass(frozen=True)
class Target:
    """What the first contender of a case must reach against another one.

    Attributes:
        against: name of the other contender.
        limit: see `faster`.
        faster: if False, ours may cost at most `limit` times the other; if True, the other must
            cost at least `limit` times ours.
    """

    against: str
    limit: float
    faster: bool = False

    def ratio(self, ours: float, other: float) -> float:
        """The figure that is held against the limit."""
        return other / ours if self.faster else ours / other

    def met(self, ratio: float) -> bool:
        """Whether the figure is within the limit.

        Example:
            >>> Target("clone", 2.0).met(1.9), Target("splu", 50, faster=True).met(49)
            (True, False)
        """
        return ratio >= self.limit if self.faster else ratio <= self.limit

    def describe(self) -> str:
        """The limit in words.

        Example:
            >>> Target("clone", 2.0).describe(), Target("splu", 50, faster=True).describe()
            ('≤ 2 × clone', '≥ 50 × faster than splu')
        """
        if self.faster:
            return f"≥ {self.limit:g} × faster than {self.against}"
        return f"≤ {self.limit:g} × {self.against}"


@dataclass(frozen=True)
class Case(Generic[P]):
    """One row of a benchmark. The first contender is the one that the others are held against.

    Attributes:
        name: unique, and what `--only` looks into.
        timed: what one call does.
        shape: size of the problem.
        problem: makes the inputs, the same for all contenders.
        contenders: ours first.
        target: what ours must reach, if something is asked of it.
        unit: what ratios are per: a call, or something a call does many of.
        quantity: what the ratios and the target are about.
    """

    name: str
    timed: str
    shape: Shape
    problem: Callable[[Shape], P]
    contenders: tuple[Contender[P], ...]
    target: Target | None = None
    unit: str = "call"
    quantity: Literal["time", "memory"] = "time"

    def tiny(self) -> "Case[P]":
        """The same case, small enough for a test."""
        return replace(self, shape=self.shape.tiny())
