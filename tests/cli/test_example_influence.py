"""Where influence is drawn: a node always hears itself best, wherever its input stands."""

import numpy as np
import pytest
import torch

from myosotis import Tree
from myosotis.cli.example_influence import Example
from myosotis.data import ArraySplit, ForestSplit, ImageLayout, Provenance, Task
from myosotis.data.image_task import LabelledImages, image_task
from myosotis.errors import ConfigError
from myosotis.nn import Classifier, ClassifierConfig

NOBODY = Provenance("nobody", "any")


def model(task, mixer="myo"):
    torch.manual_seed(0)
    config = ClassifierConfig(
        task.num_classes,
        task.tree,
        channels=task.channels or None,
        vocabulary=task.vocabulary or None,
        inputs_on=task.inputs_on,
        dim=8,
        depth=2,
        heads=3,
        mixer=mixer,
        levels=4,
        branching=4,
    )
    return Classifier(config).eval()


def images(layout):
    pictures = np.random.default_rng(0).integers(0, 255, (9, 3, 4, 1), dtype=np.uint8)
    labelled = LabelledImages(pictures, np.arange(9))
    return image_task("pictures", labelled, labelled, layout, 2, NOBODY)


@pytest.mark.parametrize("order", [ImageLayout.morton, ImageLayout.snake])
@pytest.mark.parametrize("border", [0, 2])
def test_a_pixel_hears_itself_best(order, border):
    task = images(order(3, 4, border))
    example = Example.of(model(task), task, "test", 5)
    for row, column in np.ndindex(3, 4):
        listener = example.find(f"{row},{column}")
        assert example.pixel(listener) == (row, column)
        shares = example.shares(int(example.nodes[listener]))
        assert np.allclose(shares.sum(-1), 1)
        drawn = example.as_image(shares.mean((0, 1)))
        assert drawn.shape == (3, 4)
        assert np.unravel_index(drawn.argmax(), drawn.shape) == (row, column)


def text_task(**changes):
    tokens = np.array([[5, 6, 7, 0], [8, 9, 0, 0]], dtype=np.uint8)
    split = ArraySplit(tokens, np.array([0, 1]), np.arange(2), lengths=np.array([3, 2]))
    tree = Tree.over(4, 2)
    return Task("text", split, split, split, tree, 2, "tokens", NOBODY, vocabulary=10, **changes)


@pytest.mark.parametrize("mixer", ["myo", "chain-myo"])
def test_padding_is_left_out_of_a_text(mixer):
    task = text_task()
    example = Example.of(model(task, mixer), task, "test", 1)
    assert example.tokens == [8, 9]
    listener = example.find("2")
    shares = example.shares(int(example.nodes[listener]))
    assert shares.shape == (2, 3, 2)
    assert np.allclose(shares.sum(-1), 1)
    assert (shares.argmax(-1) == 1).all()


def test_tokens_on_all_nodes_of_a_tree_are_in_reading_order():
    split = ForestSplit(
        np.array([-1, 0, 1, 1, 0, -1]),
        np.array([0, 5, 6]),
        np.array([3, 4, 5, 6, 7, 8]),
        np.array([1, 0]),
        inputs_on="nodes",
    )
    task = Task(
        "trees", split, split, split, None, 2, "tokens", NOBODY, vocabulary=10, inputs_on="nodes"
    )
    example = Example.of(model(task), task, "test", 0)
    assert example.tokens == [3, 4, 5, 6, 7]
    assert example.nodes[0] == example.root
    for place in range(5):
        assert (example.shares(int(example.nodes[place])).argmax(-1) == place).all()


def test_the_description_says_what_the_model_takes_it_for():
    task = images(ImageLayout.morton(3, 4))
    made = model(task)
    example = Example.of(made, task, "test", 2)
    predicted = int(made(example.batch.inputs).argmax())
    assert example.describe() == f"pictures, class 2, taken for {predicted}"
    assert example.find("root") is None


@pytest.mark.parametrize("place", ["3,0", "0,4", "7", "-1,0", "top", ""])
def test_pixels_that_do_not_exist_are_named(place):
    task = images(ImageLayout.morton(3, 4))
    example = Example.of(model(task), task, "test", 0)
    with pytest.raises(ConfigError, match="such as 0,0 to 2,3"):
        example.find(place)


@pytest.mark.parametrize("place", ["0", "4", "1,1", "last"])
def test_tokens_that_do_not_exist_are_named(place):
    task = text_task()
    example = Example.of(model(task), task, "test", 0)
    with pytest.raises(ConfigError, match="one from 1 to 3"):
        example.find(place)


def test_examples_that_do_not_exist_or_fit_are_named():
    task = text_task()
    with pytest.raises(ConfigError, match="test has 2 examples"):
        Example.of(model(task), task, "test", 2)
    with pytest.raises(ConfigError, match="other inputs than those of 'pictures'"):
        Example.of(model(task), images(ImageLayout.morton(3, 4)), "test", 0)
