"""Plans: pieces, balance, and the size of the top."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from myosotis import Tree, TreeError
from myosotis.distributed import plan
from myosotis.distributed.deal import deal
from tests.cases import FAMILIES, TREES, trees


def pieces(tree: Tree, owner: np.ndarray) -> dict[int, set[int]]:
    """The connected pieces without the top, by their roots, found by walking up."""
    found: dict[int, set[int]] = {}
    for node in range(tree.num_nodes):
        if owner[node] >= 0:
            root = node
            while tree.parent[root] >= 0 and owner[tree.parent[root]] >= 0:
                root = int(tree.parent[root])
            found.setdefault(root, set()).add(node)
    return found


@given(trees(max_nodes=120), st.integers(1, 6))
def test_a_plan_is_a_division_into_pieces_with_two_neighbours(tree: Tree, ranks: int) -> None:
    try:
        division = plan(tree, ranks)
    except TreeError:
        assert tree.num_nodes < 2 * ranks
        return
    assert set(division.owner[division.owner >= 0].tolist()) == set(range(ranks))
    assert division.sizes.sum() + len(division.top) == tree.num_nodes
    for root, nodes in pieces(tree, division.owner).items():
        assert len({int(division.owner[v]) for v in nodes}) == 1
        below = [
            v for v in division.top.tolist() if tree.parent[v] >= 0 and tree.parent[v] in nodes
        ]
        assert len(below) <= 1
        above = int(tree.parent[root])
        assert above < 0 or division.owner[above] < 0
        rank = int(division.owner[root])
        assert set(below) | ({above} - {-1}) <= set(division.touched[rank].tolist())


@pytest.mark.parametrize("ranks", [2, 3, 8])
@pytest.mark.parametrize("family", FAMILIES)
def test_large_trees_are_divided_evenly_by_a_small_top(family: str, ranks: int) -> None:
    division = plan(FAMILIES[family](20_000, 3), ranks)
    assert division.balance <= 1.1
    assert len(division.top) <= 32 * ranks
    assert division.num_slots <= 16


def test_a_chain_is_cut_between_its_parts_only() -> None:
    division = plan(Tree.chain(1003), 4)
    assert len(division.top) == 3
    assert division.sizes.tolist() == [250] * 4


def test_one_rank_owns_everything_and_sends_nothing() -> None:
    for tree in TREES.values():
        division = plan(tree, 1)
        assert not division.owner.any()
        assert division.bytes_sent(channels=8) == 0


def test_a_forest_of_small_trees_needs_no_top() -> None:
    division = plan(Tree.forest([Tree.star(3)] * 10), 5)
    assert len(division.top) == 0
    assert division.sizes.tolist() == [8] * 5


@pytest.mark.parametrize("ranks", [0, -1])
def test_ranks_are_counted_from_one(ranks: int) -> None:
    with pytest.raises(TreeError, match="there is at least one"):
        plan(Tree.chain(3), ranks)


def test_fewer_nodes_than_ranks() -> None:
    with pytest.raises(TreeError, match="4 nodes falls into 2 pieces at most, too few for 5 ranks"):
        plan(Tree.chain(4), 5)


def smallest_largest(sizes: list[int], ranks: int) -> int:
    """The largest share of the best division into runs, by trying all."""
    if ranks == 1:
        return sum(sizes)
    return min(
        max(sum(sizes[:k]), smallest_largest(sizes[k:], ranks - 1))
        for k in range(1, len(sizes) - ranks + 2)
    )


@given(st.lists(st.integers(1, 20), min_size=1, max_size=9), st.integers(1, 5))
def test_dealing_is_the_best_there_is(sizes: list[int], ranks: int) -> None:
    ranks = min(ranks, len(sizes))
    rank = deal(np.array(sizes), ranks)
    assert (np.diff(rank) >= 0).all()
    assert set(rank.tolist()) == set(range(ranks))
    shares = np.bincount(rank, weights=sizes)
    assert shares.max() == smallest_largest(sizes, ranks)
