"""The model of scale: what it says, and that the page shows what it prints."""

from pathlib import Path

import pytest

from myosotis.distributed import model, plan
from myosotis.tree import Tree

LAYER, CLUSTER = model.Layer(), model.Cluster()
PAGE = Path(__file__).resolve().parents[2] / "docs/scale.md"


def test_the_page_has_the_table() -> None:
    assert "\n".join(model.table()) in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("ranks", model.RANKS)
def test_bytes_are_those_of_a_plan(ranks: int) -> None:
    division = plan(Tree.chain(1_000_000), ranks)
    assert division.num_slots == LAYER.slots
    payload = division.bytes_sent(LAYER.heads, LAYER.batch, LAYER.number_bytes)
    payload -= LAYER.number_bytes  # the mark of failure
    assert model.tree(10**6, ranks, LAYER, CLUSTER).sent == 2 * (ranks - 1) * payload


def test_only_attention_sends_and_computes_more_than_in_proportion() -> None:
    for mixer, power in ((model.tree, 1), (model.chain, 1), (model.ring, 2)):
        short, long = (mixer(length, 64, LAYER, CLUSTER) for length in (10**8, 10**9))
        assert long.compute / short.compute == pytest.approx(10**power, rel=1e-3)
        assert (long.sent == short.sent) == (mixer is not model.ring)


def test_what_is_hidden_costs_only_what_is_longer() -> None:
    cost = model.ring(10**6, 1024, LAYER, CLUSTER)
    assert cost.seconds == cost.exchange > cost.compute
    cost = model.tree(10**6, 1024, LAYER, CLUSTER)
    assert cost.seconds == cost.exchange + cost.compute
