"""Models that work on one node with its children at a time, from the lowest up."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from myosotis import Tree
from myosotis.errors import ConfigError
from myosotis.nn import Classifier, ClassifierConfig
from myosotis.nn.influence import influence
from myosotis.nn.portable import portable
from myosotis.nn.recursion import families
from tests.cases import TREES, relative_error


def classifier(tree: Tree | None = None, **options: object) -> Classifier:
    torch.manual_seed(0)
    settings: dict[str, object] = {
        "inputs_on": "nodes",
        "levels": 1,
        "branching": 3,
        "pool_levels": 1,
        "level_embedding": False,
        "recursive": True,
        "mixer_options": {"selective": True},
    } | options
    config = ClassifierConfig(3, tree, channels=2, dim=8, heads=4, depth=2, **settings)
    model = Classifier(config).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model


def settled(model: Classifier, x: Tensor, tree: Tree, node: int) -> Tensor:
    """What a node, features (L, dim), becomes: by its definition, family by family."""
    children = tree.children(node)
    if not len(children):
        return x[node]
    below = [settled(model, x, tree, int(child)) for child in children]
    star = Tree.star(len(children))
    y = torch.stack([*below, x[node]])[None]
    for block in model.blocks:
        y = block(y, lambda mixer, z: mixer(z, None, star), None, star)
    return y[0, -1]


@pytest.mark.parametrize("name", [n for n, t in TREES.items() if t.num_nodes < 200])
def test_every_node_is_made_of_its_settled_children(name: str) -> None:
    tree, model = TREES[name], classifier()
    inputs = torch.randn(2, tree.num_nodes, 2)
    with torch.no_grad():
        x = model.encoder(inputs, tree, None, None)
        found = model.classify_nodes(inputs, tree=tree)
        for b in range(2):
            for node in range(0, tree.num_nodes, max(1, tree.num_nodes // 7)):
                expected = model.head(model.norm(settled(model, x[b], tree, node)))
                assert relative_error(found[b, node], expected) < 1e-4
        roots = found[:, -tree.num_roots :].flatten(0, 1)
        assert relative_error(model(inputs, tree=tree), roots) < 1e-6


@pytest.mark.parametrize("name", list(TREES))
def test_families_hold_every_node_as_a_child_once(name: str) -> None:
    tree = TREES[name]
    found = families(tree)
    assert len(found) == tree.height.max()
    children = [n[: stars.num_edges] for stars, n in found]
    heads = [n[stars.num_edges :] for stars, n in found]
    empty = [torch.empty(0, dtype=torch.int64)]
    assert sorted(torch.cat(children + empty).tolist()) == list(range(tree.num_edges))
    inner = np.flatnonzero(tree.num_children)
    assert sorted(torch.cat(heads + empty).tolist()) == inner.tolist()
    for stars, nodes in found:
        for child in range(stars.num_edges):
            assert tree.parent[int(nodes[child])] == int(nodes[stars.parent[child]])


def test_what_is_above_a_node_does_not_change_it() -> None:
    small = Tree([-1, 0, 0, 1, 1])
    large = Tree([-1, 0, 0, 1, 1, 0, 5])  # the same, and more on its root
    model = classifier()
    x = torch.randn(7, 2)
    low = model.classify_nodes(x[small.input_index.tolist()][None], tree=small)[0]
    all_of_it = model.classify_nodes(x[large.input_index.tolist()][None], tree=large)[0]
    at_small, at_large = (t.input_index.tolist().index(1) for t in (small, large))
    assert relative_error(all_of_it[at_large], low[at_small]) < 1e-5


def test_every_parameter_learns_through_all_heights() -> None:
    model = classifier().train()
    tree = TREES["ragged"]
    x = torch.randn(1, tree.num_nodes, 2, requires_grad=True)
    model(x, tree=tree).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())
    assert (x.grad[0].abs().sum(-1) > 0).all()


def test_saved_and_compiled_it_is_the_same(tmp_path: Path) -> None:
    tree = TREES["ragged"]
    model, x = classifier(tree), torch.randn(2, tree.num_nodes, 2)
    logits = model(x)
    model.save_pretrained(tmp_path)
    assert torch.equal(Classifier.from_pretrained(tmp_path)(x), logits)
    torch.compiler.reset()  # torch compiles the same code for a few models only
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    assert relative_error(compiled(x), logits) < 1e-5


def test_mistakes_are_named() -> None:
    tree = Tree.quadtree(4)
    for options in ({"climb_after": (1,)}, {"shifts": (1,)}):
        with pytest.raises(ConfigError, match="goes up its trees by itself"):
            classifier(tree, **options)
    with pytest.raises(ConfigError, match="works on sequences"):
        classifier(tree, mixer="s5", inputs_on="leaves", mixer_options={})
    model = classifier(tree, inputs_on="leaves", mixer_options={})
    x = torch.zeros(1, 16, 2)
    with pytest.raises(ConfigError, match="give no mask"):
        model(x, torch.ones(1, 16, dtype=torch.bool))
    with pytest.raises(ConfigError, match="no portable form"):
        portable(model)
    with pytest.raises(ConfigError, match="one family at a time"):
        influence(model, x, node=0)
