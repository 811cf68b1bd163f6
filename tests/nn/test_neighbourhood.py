"""Pixels that are embedded together with those around them."""

import copy

import pytest
import torch
from torch import Tensor

from myosotis import Tree, morton_order
from myosotis.errors import ConfigError
from myosotis.nn import Classifier, ClassifierConfig
from myosotis.nn.neighbourhood import Neighbourhood
from myosotis.nn.portable import portable

TREE = Tree.quadtree(8)


def classifier(**options: object) -> Classifier:
    torch.manual_seed(0)
    settings: dict[str, object] = {"channels": 2, "dim": 8, "depth": 2, "neighbourhood": 3}
    return Classifier(ClassifierConfig(3, TREE, **settings | options))  # type: ignore[arg-type]


def images() -> Tensor:
    torch.manual_seed(1)
    return torch.randn(4, 64, 2)


def test_each_pixel_is_mapped_with_those_around_it() -> None:
    embed, x = Neighbourhood(2, 5, side=3, num_pixels=64), images()
    grid = torch.zeros(4, 10, 10, 2)  # with a border of zeros
    place = {int(pixel): at for at, pixel in enumerate(morton_order(8))}
    for pixel, at in place.items():
        grid[:, pixel // 8 + 1, pixel % 8 + 1] = x[:, at]
    out = embed(x)
    for pixel, at in place.items():
        row, column = divmod(pixel, 8)
        square = grid[:, row : row + 3, column : column + 3]
        expected = torch.einsum("bijc,dcij->bd", square, embed.filter.weight) + embed.filter.bias
        torch.testing.assert_close(out[:, at], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("inner", ["mean", "zero", "learned"])
@pytest.mark.parametrize("shifts", [(0,), (0, 3)])
def test_every_parameter_learns(inner: str, shifts: tuple[int, ...]) -> None:
    model = classifier(inner=inner, shifts=shifts, climb_after=(1,))
    model(images()).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name


def test_inner_nodes_start_from_the_mean_of_what_the_pixels_are_embedded_as() -> None:
    model = classifier(level_embedding=False)
    features = model.encoder(images(), TREE, None, None)
    torch.testing.assert_close(features[:, -1], features[:, :64].mean(1))


def test_sequences_look_around_too() -> None:
    model = classifier(mixer="attention", heads=2)
    assert model(images()).shape == (4, 3)


def test_it_is_saved_and_has_a_portable_form() -> None:
    model, x = classifier().eval(), images()
    again = Classifier(ClassifierConfig.from_dict(model.config.to_dict())).eval()
    again.load_state_dict(copy.deepcopy(model.state_dict()))
    assert torch.equal(again(x), model(x))
    torch.testing.assert_close(portable(model)(x), model(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"neighbourhood": 4}, "neighbourhood is 4; it must be an odd number"),
        ({"neighbourhood": 0}, "at least 1"),
        ({"tree": Tree.chain(9)}, "here it must be 1"),
        ({"tree": Tree.quadtree(6)}, "here it must be 1"),
        ({"channels": None, "vocabulary": 5}, "here it must be 1"),
        ({"inputs_on": "nodes"}, "here it must be 1"),
    ],
)
def test_mistakes(options: dict[str, object], message: str) -> None:
    settings: dict[str, object] = {"tree": TREE, "channels": 2, "neighbourhood": 3}
    with pytest.raises(ConfigError, match=message):
        ClassifierConfig(3, **settings | options)  # type: ignore[arg-type]


def test_a_mask_or_another_tree_is_a_mistake() -> None:
    model = classifier()
    with pytest.raises(ConfigError, match="give no mask"):
        model(images(), torch.ones(4, 64, dtype=torch.bool))
    with pytest.raises(ConfigError, match="its own tree only"):
        model(images(), tree=Tree.over(64, 2))
