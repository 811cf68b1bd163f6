"""The parts of the models: means, pooling, stochastic depth, contraction, shared rows."""

import numpy as np
import pytest
import torch

from myosotis import Tree
from myosotis.nn.block import drop_path
from myosotis.nn.contraction import contract, uncontract
from myosotis.nn.encoder import MeanBelow
from myosotis.nn.mask import joined_edges, leaves_below
from myosotis.nn.pool import pool_nodes
from myosotis.nn.sharing import Layout
from tests.cases import TREES, relative_error


def below(tree: Tree, node: int) -> list[int]:
    """The leaves below a node, by walking down."""
    children = tree.children(node)
    if not len(children):
        return [int(np.flatnonzero(tree.leaves == node)[0])]
    return [leaf for child in children for leaf in below(tree, int(child))]


@pytest.mark.parametrize("name", TREES)
def test_means_and_counts_of_the_leaves_below(name: str) -> None:
    tree = TREES[name]
    x = torch.randn(2, tree.num_leaves, 3, dtype=torch.float64)
    mask = torch.rand(2, tree.num_leaves) < 0.6
    counts = leaves_below(tree, mask)
    means = MeanBelow()(x, tree)
    masked = MeanBelow()(x.masked_fill(~mask.unsqueeze(-1), float("nan")), tree, mask, counts)
    for node in range(tree.num_nodes):
        leaves = below(tree, node)
        torch.testing.assert_close(means[:, node], x[:, leaves].mean(1))
        for example in range(2):
            real = [leaf for leaf in leaves if mask[example, leaf]]
            assert counts[example, node] == len(real)
            expected = x[example, real].mean(0) if real else torch.zeros(3, dtype=x.dtype)
            torch.testing.assert_close(masked[example, node], expected)


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("levels", [1, 2, None])
def test_pooling_takes_the_mean_over_the_top_levels_of_each_tree(
    name: str, levels: int | None
) -> None:
    tree = TREES[name]
    x = torch.randn(2, tree.num_nodes, 3, dtype=torch.float64)
    alive = torch.rand(2, tree.num_nodes) < 0.7
    all_nodes, some = pool_nodes(x, tree, levels), pool_nodes(x, tree, levels, alive)
    for root in range(tree.num_roots):
        top = (tree.member == root) & (tree.depth < (levels or tree.num_levels))
        torch.testing.assert_close(all_nodes[:, root], x[:, top].mean(1))
        for example in range(2):
            chosen = torch.from_numpy(top) & alive[example]
            expected = x[example, chosen].sum(0) / max(1, int(chosen.sum()))
            torch.testing.assert_close(some[example, root], expected)


def test_edges_join_nodes_that_are_both_alive() -> None:
    alive = torch.tensor([[True, False, True, True], [True, True, False, True]])
    expected = [[False, False, True, True], [True, False, False, True]]
    assert joined_edges(Tree.chain(4), alive).tolist() == expected


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_contraction_maps_singular_values_to_below_one(size: int, dtype: torch.dtype) -> None:
    M = torch.randn(50, size, size, dtype=dtype) * torch.logspace(-3, 6, 50).view(-1, 1, 1)
    got = torch.linalg.svdvals(contract(M))
    values = torch.linalg.svdvals(M)
    # The Gram matrix squares the condition number: small singular values beside large are lost.
    torch.testing.assert_close(got[:, 0], (values / (1 + values**2).sqrt())[:, 0])
    assert (got < 1 + 1e-12).all()
    unitary = torch.linalg.qr(M).Q * 0.7
    assert relative_error(contract(uncontract(unitary)), unitary) < 1e-12


def test_drop_path_drops_whole_examples_and_keeps_the_mean() -> None:
    torch.manual_seed(0)
    y = drop_path(torch.ones(4000, 3, 2), 0.25, training=True)
    per_example = y.flatten(1)
    assert ((per_example == 0).all(1) | (per_example == 1 / 0.75).all(1)).all()
    assert abs(float(y.mean()) - 1) < 0.03


@pytest.mark.parametrize("sharing", ["slot", "level", "tied"])
def test_rows_do_not_depend_on_the_company(sharing: str) -> None:
    members = [TREES["ragged"], Tree.star(4), Tree.chain(9)]
    forest = Tree.forest(members)
    layout = Layout.of(None, sharing, levels=4, branching=3)
    together = layout.rows(forest)
    assert together.max() < layout.num_rows
    for number, member in enumerate(members):
        assert together[forest.member == number].tolist() == layout.rows(member).tolist()
