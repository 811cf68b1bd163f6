"""Influence against the dense inverse of the assembled matrix, and against the layer itself."""

import pytest
import torch
from torch import Tensor

from myosotis import Tree
from myosotis.errors import ConfigError, ShapeError, TreeError
from myosotis.nn import Classifier, ClassifierConfig, Myo
from myosotis.nn.influence import influence, layer_influence
from tests.cases import TREES, dense_matrix, relative_error

DIM, HEADS = 5, 2
PARAMETRIZATIONS = ["factor", "upward", "split", "dominant", "spectral", "free"]


def layer(tree: Tree, **options: object) -> Myo:
    """A layer in double precision whose coefficients are far from their start."""
    made = Myo(DIM, tree, HEADS, dtype=torch.float64, **options)
    for table in made.coefficients.tables.values():
        with torch.no_grad():
            table.add_(0.1 * torch.randn_like(table))
    if made.coefficients.select is not None:
        torch.nn.init.normal_(made.coefficients.select.weight, std=0.1)
    return made


def dense_row(made: Myo, tree: Tree, node: int, x: Tensor | None) -> Tensor:
    """(…, heads, L), from the inverse of the whole matrix."""
    rows = torch.from_numpy(made.layout.rows(tree))
    blocks = (t.detach().movedim(-3, -4) for t in made.coefficients.blocks(tree, rows, x))
    inverse = torch.linalg.inv(dense_matrix(tree, *blocks))
    d = made.channels[1]
    row = inverse[..., node * d : (node + 1) * d, :].unflatten(-1, (-1, d))
    return row.abs().square().sum((-3, -1)).sqrt()


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("parametrization", PARAMETRIZATIONS)
@pytest.mark.parametrize(("block", "complex_heads"), [(1, True), (2, False)])
def test_row_of_the_dense_inverse(
    name: str, parametrization: str, block: int, complex_heads: bool
) -> None:
    tree = TREES[name]
    options = {"parametrization": parametrization, "block": block, "complex_heads": complex_heads}
    tied = layer(tree, sharing="node", **options)
    selective = layer(tree, selective=True, **options)
    x = torch.randn(2, tree.num_nodes, DIM, dtype=torch.float64)
    for node in {0, tree.num_nodes // 2, tree.num_nodes - 1}:
        row = layer_influence(tied, tree, node)
        assert row.shape == (HEADS, tree.num_nodes)
        assert relative_error(row, dense_row(tied, tree, node, None)) < 1e-12
        row = layer_influence(selective, tree, node, x)
        assert row.shape == (2, HEADS, tree.num_nodes)
        assert relative_error(row, dense_row(selective, tree, node, x)) < 1e-12


@pytest.mark.parametrize("parametrization", PARAMETRIZATIONS)
def test_padding_does_not_weigh(parametrization: str) -> None:
    tree, kept = Tree.perfect(2, 2), Tree([-1, 0, 0, 1, 1, 2])  # without the last leaf
    made = layer(tree, parametrization=parametrization)
    mask = torch.tensor([[True, True, True, False]])
    alive = torch.tensor([0, 1, 2, 4, 5, 6])
    for short, node in enumerate(alive.tolist()):
        row = layer_influence(made, tree, node, mask=mask)[0]
        assert relative_error(row[:, alive], layer_influence(made, kept, short)) < 1e-12
        assert (row[:, 3] == 0).all()
    assert (layer_influence(made, tree, 3, mask=mask) == 0).all()


def model(**settings: object) -> Classifier:
    config = {"tree": Tree.quadtree(3), "channels": 1, "dim": 6, "depth": 2, "heads": 3}
    return Classifier(ClassifierConfig(4, **{**config, **settings}))


@pytest.mark.parametrize("selective", [False, True])
def test_each_block_of_a_model_is_asked_with_its_own_features(selective: bool) -> None:
    made = model(mixer_options={"selective": selective}, dropout=0.5).train()
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    made.norm.eval()
    inputs = torch.randn(2, 9, 1)
    found = influence(made, inputs, node=0)
    assert made.training
    assert not made.norm.training
    assert found.shape == (2, 2, 3, made.config.tree.num_nodes)
    made.eval()
    x = made.encoder(inputs, made.config.tree, None, None)
    for place, block in enumerate(made.blocks):
        features = block.norm(x) if selective else None
        row = layer_influence(block.mixer, made.config.tree, 0, features)
        assert relative_error(found[place], row.expand_as(found[place])) < 1e-5
        x = block(x, lambda mixer, y: mixer(y), None)
    assert not block.mixer._forward_pre_hooks  # nothing is left behind


def test_trees_that_come_with_the_call() -> None:
    made = model(tree=None, levels=4, branching=3)
    first, second = Tree.star(3), Tree.chain(4)
    forest = Tree.forest([first, second])
    found = influence(made, torch.randn(1, forest.num_leaves, 1), forest.num_nodes - 1, tree=forest)
    other = torch.from_numpy(forest.member == 0)
    assert (found[..., other] == 0).all()
    assert (found[..., ~other] > 0).all()


def test_a_chain_of_tokens() -> None:
    made = model(mixer="chain-myo")
    found = influence(made, torch.randn(1, 9, 1), node=4)
    assert found.shape == (2, 1, 3, 9)
    assert (found.argmax(-1) == 4).all()
    with pytest.raises(ConfigError, match="without its padding"):
        influence(made, torch.randn(1, 9, 1), 4, mask=torch.ones(1, 9, dtype=torch.bool))


def test_mistakes_are_named() -> None:
    tree = Tree.star(3)
    with pytest.raises(TreeError, match="node 4"):
        layer_influence(layer(tree), tree, 4)
    with pytest.raises(ShapeError, match="give x"):
        layer_influence(layer(tree, selective=True), tree, 0)
    with pytest.raises(ShapeError, match=r"expected \(batch, 4, 5\)"):
        layer_influence(layer(tree, selective=True), tree, 0, torch.zeros(1, 3, DIM))
    with pytest.raises(ConfigError, match="'attention' solves no system"):
        influence(model(mixer="attention"), torch.randn(1, 9, 1), 0)
