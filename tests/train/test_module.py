"""Learning from the classes of all nodes."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from myosotis.data import load
from myosotis.data.forests import ForestSplit
from myosotis.data.task import Provenance, Task
from myosotis.errors import ConfigError
from myosotis.nn import Classifier, ClassifierConfig
from myosotis.train import ModelConfig, TrainConfig
from myosotis.train.clock import Clock
from myosotis.train.module import TrainingModule
from myosotis.train.stream import Stream
from myosotis.tree import Tree

CONFIG = TrainConfig(
    task="sst-binary",
    learn_from="nodes",
    model=ModelConfig(dim=8, depth=1, levels=3, branching=2, pool_levels=1),
)


def sentences(node_weights: list[float] | None = None) -> Task:
    """Two trees of three and one nodes; one node has no class."""
    split = ForestSplit(
        parents=np.array([-1, 0, 0, -1]),
        offsets=np.array([0, 3, 4]),
        tokens=np.array([0, 2, 3, 1]),
        labels=np.array([1, 0]),
        node_labels=np.array([1, 0, -1, 0]),
        node_weights=None if node_weights is None else np.array(node_weights, dtype=np.float32),
    )
    origin = Provenance(source="made up", license="none", counts={})
    return Task(
        name="sst-binary",
        train=split,
        validation=split,
        test=split,
        tree=None,
        num_classes=2,
        kind="tokens",
        vocabulary=4,
        provenance=origin,
    )


@pytest.mark.parametrize("weights", [None, [1.0, 3.0, 7.0, 0.5]])
def test_the_loss_is_the_mean_over_all_nodes_with_a_class(weights: list[float] | None) -> None:
    task = sentences(weights)
    module = TrainingModule(CONFIG, task, Clock())
    (batch,) = Stream(task.train, 2)
    loss = module.training_step(batch, 0)
    inputs, labels, _, tree, node_labels, node_weights = batch
    assert tree is not None
    assert node_labels is not None
    logits = module.model.classify_nodes(inputs, None, tree)[0]
    seen = node_labels[0] >= 0
    each = functional.cross_entropy(logits[seen], node_labels[0][seen], reduction="none")
    if weights is None:
        assert node_weights is None
        torch.testing.assert_close(loss, each.mean())
    else:
        assert node_weights is not None
        assert sorted(node_weights[0].tolist()) == sorted(weights)
        counts = node_weights[0][seen]
        torch.testing.assert_close(loss, (each * counts).sum() / (1.0 + 3.0 + 0.5))
    right = (module.model(inputs, None, tree).argmax(-1) == labels).sum()
    assert module.correct == int(right)


def test_tasks_without_classes_of_nodes_are_refused() -> None:
    task = load("digits")
    config = replace(CONFIG, task="digits", model=ModelConfig(dim=8, depth=1))
    module = TrainingModule(config, task, Clock())
    with pytest.raises(ConfigError, match="'digits' have no labels; use learn_from: examples"):
        module.training_step(next(iter(Stream(task.train, 2))), 0)


def test_a_root_is_classified_like_its_tree() -> None:
    torch.manual_seed(0)
    tree = Tree.quadtree(4)
    model = Classifier(ClassifierConfig(3, tree, channels=1, dim=8, depth=2, pool_levels=1))
    x = torch.randn(2, 16, 1)
    torch.testing.assert_close(model.classify_nodes(x)[:, -1], model(x))
    sequence = Classifier(ClassifierConfig(3, tree, channels=1, dim=8, depth=1, mixer="s5"))
    with pytest.raises(ConfigError, match="works on sequences"):
        sequence.classify_nodes(x)
