"""A model on paper of long sequences on many GPUs: `python -m myosotis.distributed.model`.

For one layer, forward and backward, of three ways to mix a sequence that is divided among GPUs, it
computes the bytes that a GPU sends, the messages that wait for each other, and the time that
follows from the published speeds of GPU and links, overlapped where the algorithm allows it:

- *tree*: this package. Work linear in the length; one all-gather of a few numbers per channel.
- *chain*: a state space model in the same manner: the states at the ends of the parts are gathered.
- *ring*: softmax attention; keys and values of all parts pass every GPU, while it computes.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Cluster", "Cost", "Layer", "chain", "ring", "table", "tree"]


@dataclass(frozen=True)
class Cluster:
    """One GPU and its links, by the data sheets of the H100 SXM and of NDR InfiniBand.

    Attributes:
        flops: of dense bfloat16 products, per second.
        memory_speed: bytes per second.
        memory: bytes.
        fast_link: bytes per second that a GPU sends to others of its machine.
        slow_link: bytes per second that it sends to other machines.
        machine: GPUs in a machine.
        latency: seconds of a message between machines.
        efficiency: share of `flops` and `memory_speed` that programs reach.
    """

    flops: float = 989e12
    memory_speed: float = 3.35e12
    memory: float = 80e9
    fast_link: float = 450e9
    slow_link: float = 50e9
    machine: int = 8
    latency: float = 5e-6
    efficiency: float = 0.5

    def link(self, ranks: int) -> float:
        """Bytes per second of the slowest link among so many GPUs."""
        return self.fast_link if ranks <= self.machine else self.slow_link


@dataclass(frozen=True)
class Layer:
    """Sizes of a layer, and what was measured of ours.

    Attributes:
        dim: features of a position.
        heads: complex heads or states.
        feature_bytes: of one feature.
        number_bytes: of one number of a system.
        batch: examples.
        branching: children of a node of the tree.
        slots: `Plan.num_slots`; 1 or 2 for regular trees and chains, up to 13 for random ones.
        copies: how many copies of its right-hand side a solve takes as long as, forward and
            backward: 6.5 by docs/performance.md, and a part of a tree is solved for twice.
    """

    dim: int = 1024
    heads: int = 512
    feature_bytes: int = 2
    number_bytes: int = 8
    batch: int = 1
    branching: int = 4
    slots: int = 2
    copies: float = 13.0


@dataclass(frozen=True)
class Cost:
    """What a layer costs each GPU, forward and backward.

    Attributes:
        sent: bytes that it sends.
        steps: messages, one after the other.
        compute: seconds of arithmetic and memory traffic.
        exchange: seconds of messages, of which `hidden` says whether they overlap the arithmetic.
        memory: bytes of what it holds of the sequence.
    """

    sent: float
    steps: int
    compute: float
    exchange: float
    hidden: bool
    memory: float

    @property
    def seconds(self) -> float:
        """Time of the layer."""
        if self.hidden:
            return max(self.compute, self.exchange)
        return self.compute + self.exchange


def tree(length: int, ranks: int, layer: Layer, cluster: Cluster) -> Cost:
    """A Myo layer whose nodes are divided among the GPUs.

    Example:
        >>> costs = [tree(length, 64, Layer(), Cluster()) for length in (10**6, 10**9)]
        >>> costs[0].sent == costs[1].sent
        True
    """
    nodes = length * layer.branching / (layer.branching - 1)
    return _gathered(nodes, layer.slots * (3 + layer.batch), ranks, layer, cluster)


def chain(length: int, ranks: int, layer: Layer, cluster: Cluster) -> Cost:
    """A state space model whose steps are divided: each part sends its transition and last state.

    Example:
        >>> chain(10**6, 8, Layer(), Cluster()).steps
        6
    """
    return _gathered(length, 1 + layer.batch, ranks, layer, cluster)


def _gathered(nodes: float, numbers: int, ranks: int, layer: Layer, cluster: Cluster) -> Cost:
    """Work in proportion to the nodes, and an all-gather of some numbers per head each way."""
    own = layer.batch * nodes / ranks
    steps = 2 * math.ceil(math.log2(ranks))
    sent = 2 * (ranks - 1) * numbers * layer.heads * layer.number_bytes
    projections = 3 * 2 * 2 * layer.dim * 2 * layer.heads * own  # two of them; backward is twice
    traffic = 2 * layer.copies * layer.heads * layer.number_bytes * own  # read and written
    return Cost(
        sent=sent,
        steps=steps,
        compute=(projections / cluster.flops + traffic / cluster.memory_speed) / cluster.efficiency,
        exchange=sent / cluster.link(ranks) + steps * cluster.latency,
        hidden=False,
        memory=own * (2 * layer.dim * layer.feature_bytes + 2 * layer.heads * layer.number_bytes),
    )


def ring(length: int, ranks: int, layer: Layer, cluster: Cluster) -> Cost:
    """Softmax attention, not causal: keys and values go round, their gradients on the way back.

    Example:
        >>> ring(10**6, 8, Layer(), Cluster()).sent > 100 * tree(10**6, 8, Layer(), Cluster()).sent
        True
    """
    own = layer.batch * length / ranks
    part = 2 * layer.dim * layer.feature_bytes * own  # keys and values of one GPU
    sent = (ranks - 1) * part * (1 + 2)  # forward; backward carries their gradients as well
    steps = 2 * (ranks - 1)
    products = 4 * layer.dim * length * own * 3.5  # backward computes the scores anew
    projections = 3 * 2 * 4 * layer.dim**2 * own
    return Cost(
        sent=sent,
        steps=steps,
        compute=(products + projections) / cluster.flops / cluster.efficiency,
        exchange=sent / cluster.link(ranks) + steps * cluster.latency,
        hidden=True,
        memory=own * 5 * layer.dim * layer.feature_bytes,
    )


LENGTHS = (10**6, 10**7, 10**8, 10**9)
RANKS = (8, 64, 1024)


def table(layer: Layer | None = None, cluster: Cluster | None = None) -> Iterator[str]:
    """Lines of the table in Markdown.

    Example:
        >>> print(next(table()))
        | length | GPUs | mixer | sent by a GPU | steps | compute | exchange | layer | memory |
    """
    layer, cluster = layer or Layer(), cluster or Cluster()
    yield "| length | GPUs | mixer | sent by a GPU | steps | compute | exchange | layer | memory |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for length in LENGTHS:
        for ranks in RANKS:
            for name, model in (("tree", tree), ("chain", chain), ("ring", ring)):
                cost = model(length, ranks, layer, cluster)
                cells = [
                    f"10^{round(math.log10(length))}",
                    f"{ranks:,}",
                    name,
                    _amount(cost.sent, _BYTES),
                    f"{cost.steps:,}",
                    _amount(cost.compute, _SECONDS),
                    _amount(cost.exchange, _SECONDS),
                    _amount(cost.seconds, _SECONDS),
                    _amount(cost.memory, _BYTES) + (" ✗" if cost.memory > cluster.memory else ""),
                ]
                yield f"| {' | '.join(cells)} |"


_BYTES = {"TB": 1e12, "GB": 1e9, "MB": 1e6, "kB": 1e3, "B": 1.0}
_SECONDS = {"d": 86400.0, "h": 3600.0, "s": 1.0, "ms": 1e-3, "µs": 1e-6}


def _amount(value: float, units: dict[str, float]) -> str:
    """Three digits and the largest unit that the value has one of."""
    unit = next((name for name, size in units.items() if value >= size), list(units)[-1])
    return f"{value / units[unit]:.3g} {unit}"


if __name__ == "__main__":
    for line in table():
        print(line)
