"""Models that leave the lower levels of their tree behind, and that see images moved."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from myosotis import Tree, morton_order
from myosotis.errors import ConfigError
from myosotis.nn import Classifier, ClassifierConfig
from myosotis.nn.index import leaf_nodes
from myosotis.nn.influence import influence
from myosotis.nn.portable import portable
from myosotis.nn.shift import is_square_quadtree, move, moved_nodes
from tests.cases import TREES, relative_error

CLIMBING = {"climb_after": (1, 2), "widen": 2}
SHIFTED = {"shifts": (0, 3)}


def classifier(tree: Tree | None = None, **options: object) -> Classifier:
    torch.manual_seed(0)
    settings: dict[str, object] = {"channels": 2, "dim": 8, "depth": 3, "heads": 2} | options
    return Classifier(ClassifierConfig(3, tree or Tree.quadtree(8), **settings)).eval()


def images(side: int = 8) -> Tensor:
    torch.manual_seed(1)
    return torch.randn(4, side * side, 2)


def rolled(x: Tensor, cells: int) -> Tensor:
    """Images (batch, leaves, channels) in Morton order, moved up and left around the border."""
    side = int(x.shape[1] ** 0.5)
    order = torch.from_numpy(morton_order(side))
    grid = x[:, order.argsort()].unflatten(1, (side, side))
    return grid.roll((-cells, -cells), (1, 2)).flatten(1, 2)[:, order]


@pytest.mark.parametrize("name", [n for n, t in TREES.items() if t.num_levels > 2])
def test_blocks_after_a_climb_work_on_the_rest_of_the_tree(name: str) -> None:
    tree = TREES[name]
    model = classifier(tree, climb_after=(2,), pool_levels=1)
    x = torch.randn(2, tree.num_leaves, 2)
    first, second, third = model.blocks
    y = model.encoder(x, tree, None, None)
    for block in (first, second):
        y = block(y, lambda mixer, z: mixer(z, None, tree), None, tree)
    upper = tree.top(tree.num_levels - 1)
    y = model.climbs[0](y[:, -upper.num_nodes :])
    y = third(y, lambda mixer, z: mixer(z, None, upper), None, upper)
    expected = model.head(model.norm(y[:, -upper.num_roots :])).flatten(0, 1)
    assert relative_error(model(x), expected) < 1e-6


@pytest.mark.parametrize("options", [CLIMBING, SHIFTED, CLIMBING | SHIFTED])
def test_every_parameter_learns(options: dict[str, object]) -> None:
    model = classifier(**options).train()
    model(images()).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


@pytest.mark.parametrize("options", [CLIMBING, SHIFTED, CLIMBING | SHIFTED])
def test_saved_compiled_and_portable_it_is_the_same(
    options: dict[str, object], tmp_path: Path
) -> None:
    model, x = classifier(**options), images()
    logits = model(x)
    model.save_pretrained(tmp_path)
    assert torch.equal(Classifier.from_pretrained(tmp_path)(x), logits)
    assert relative_error(portable(model)(x), logits) < 1e-5
    torch.compiler.reset()  # torch compiles the same code for a few models only
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    assert relative_error(compiled(x), logits) < 1e-5


def test_wider_after_each_climb() -> None:
    model = classifier(**CLIMBING)
    assert [block.mixer.dim for block in model.blocks] == [8, 16, 32]
    assert [block.mixer.tree.num_nodes for block in model.blocks] == [85, 21, 5]
    assert [block.mixer.channels[0] for block in model.blocks] == [2, 4, 8]


@pytest.mark.parametrize("norm", ["layer", "batch"])
def test_padding_changes_nothing_above_it_either(norm: str) -> None:
    short, long = Tree.over(6, 2), Tree.over(8, 2)
    options = {"climb_after": (1,), "norm": norm, "pool_levels": 2, "levels": 4, "branching": 2}
    model = classifier(long, **options)
    x = torch.randn(2, 6, 2)
    mask = torch.arange(8) < 6
    padded = torch.cat([x, torch.full((2, 2, 2), 7.0)], dim=1)
    other = classifier(short, **options)
    other.load_state_dict(model.state_dict())
    assert relative_error(model(padded, mask.expand(2, -1)), other(x)) < 1e-5


def test_a_shift_by_half_the_image_is_that_of_the_image_itself() -> None:
    plain, shifted = classifier(), classifier(shifts=(4,))
    x = images()
    assert relative_error(shifted(x), plain(rolled(x, 4))) < 1e-5
    assert relative_error(shifted(x), plain(x)) > 1e-3


@pytest.mark.parametrize("shift", [1, 3, 4, 7])
def test_pixels_move_exactly_and_cells_to_the_nearest(shift: int) -> None:
    tree = Tree.quadtree(8)
    place = torch.arange(tree.num_nodes).view(1, -1, 1)
    moved = move(place, tree, 0, shift)
    assert torch.equal(moved[:, :64], rolled(place[:, :64], shift))
    cells = int(np.floor(shift / 4 + 0.5))
    assert torch.equal(moved[:, 80:84], rolled(place[:, 80:84], cells))
    assert torch.equal(move(moved, tree, shift, 0), place)
    upper = tree.top(3)
    assert torch.equal(moved_nodes(upper, 0, shift, 1) + 64, moved[0, 64:, 0])


def test_only_quad_trees_of_whole_squares_can_shift() -> None:
    assert [is_square_quadtree(Tree.quadtree(side)) for side in (1, 2, 3, 4)] == [
        True,
        True,
        False,
        True,
    ]
    assert not is_square_quadtree(Tree.quadtree(4, 8))
    assert not is_square_quadtree(Tree.forest([Tree.quadtree(2), Tree.quadtree(2)]))
    assert is_square_quadtree(Tree.over(16, 4))  # the same tree, whatever the leaves mean


@pytest.mark.parametrize("selective", [False, True])
def test_influence_is_about_the_nodes_of_the_whole_tree_where_they_belong(
    selective: bool,
) -> None:
    options = {"mixer_options": {"selective": selective}, "climb_after": (2,)}
    plain, shifted = classifier(**options), classifier(**options, shifts=(4,))
    for model in (plain, shifted):
        torch.manual_seed(2)
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, std=0.3)
    x, tree = images(), Tree.quadtree(8)
    node = int(leaf_nodes(tree)[9])
    moved = moved_nodes(tree, 4, 0)
    found = influence(shifted, x, node)
    assert found.shape == (2, 4, 2, 85)
    expected = influence(plain, rolled(x, 4), int(moved[node]))[..., moved]
    assert relative_error(found, expected) < 1e-5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"climb_after": (0,)}, "above 0 and below the depth, 3"),
        ({"climb_after": (2, 1)}, "that increase"),
        ({"climb_after": (1, 2), "tree": Tree.star(2)}, "a tree of more than 2 levels"),
        (
            {"climb_after": (1,), "tree": None, "levels": 3, "branching": 2},
            "a tree of more than 1 levels",
        ),
        ({"shifts": ()}, "shifts is empty"),
        ({"shifts": (0, 1), "tree": Tree.quadtree(6)}, "a power of two"),
        ({"widen": 0}, "widen is 0"),
        ({"climb_after": (1,), "mixer": "s5"}, "neither climb nor shift"),
    ],
)
def test_mistakes_in_the_configuration_are_named(options: dict[str, object], words: str) -> None:
    settings = {"tree": Tree.quadtree(8), "channels": 2, "dim": 8, "depth": 3} | options
    with pytest.raises(ConfigError, match=words):
        Classifier(ClassifierConfig(3, **settings))


def test_mistakes_in_a_call_are_named() -> None:
    with pytest.raises(ConfigError, match="its own tree only"):
        classifier(**CLIMBING)(torch.zeros(1, 4, 2), tree=Tree.quadtree(2))
    with pytest.raises(ConfigError, match="give no mask"):
        classifier(**SHIFTED)(images(), torch.ones(4, 64, dtype=torch.bool))
    with pytest.raises(ConfigError, match="leaves the lower nodes behind"):
        classifier(**CLIMBING).classify_nodes(images())
