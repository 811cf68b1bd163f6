"""Blocks with the same weights."""

from pathlib import Path

import pytest
import torch

from myosotis import Tree
from myosotis.errors import ConfigError
from myosotis.nn import Classifier, ClassifierConfig
from myosotis.nn.influence import influence
from myosotis.nn.portable import portable
from tests.cases import relative_error

TREE = Tree.quadtree(4, 3)


def classifier(**options: object) -> Classifier:
    torch.manual_seed(0)
    settings = {"channels": 2, "dim": 8, "depth": 3, "heads": 2, "tie_blocks": True} | options
    return Classifier(ClassifierConfig(3, TREE, **settings)).eval()


def test_blocks_differ_in_their_norms_only() -> None:
    tied, other = classifier(), classifier(tie_blocks=False)
    for block in tied.blocks:
        assert block.mixer is tied.blocks[0].mixer
        assert block.gate is tied.blocks[0].gate
    assert len({id(block.norm) for block in tied.blocks}) == 3
    # The same as different blocks whose weights happen to be equal.
    other.load_state_dict(tied.state_dict())
    x = torch.randn(2, 12, 2)
    assert relative_error(tied(x), other(x)) < 1e-6
    for model in (tied, other):
        model(x).square().sum().backward()
    shared = tied.blocks[0].mixer.project_in.weight.grad
    each = [block.mixer.project_in.weight.grad for block in other.blocks]
    assert relative_error(shared, sum(each)) < 1e-5


@pytest.mark.parametrize("norm", ["layer", "batch"])
def test_saved_compiled_and_portable_it_is_the_same(norm: str, tmp_path: Path) -> None:
    model, x = classifier(norm=norm), torch.randn(2, 12, 2)
    logits = model(x)
    model.save_pretrained(tmp_path)
    loaded = Classifier.from_pretrained(tmp_path)
    assert loaded.blocks[2].mixer is loaded.blocks[0].mixer
    assert torch.equal(loaded(x), logits)
    assert relative_error(portable(model)(x), logits) < 1e-5
    torch.compiler.reset()  # torch compiles the same code for a few models only
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    assert relative_error(compiled(x), logits) < 1e-5


def test_influence_has_every_application_of_the_block() -> None:
    assert influence(classifier(), torch.randn(2, 12, 2), node=0).shape == (3, 2, 2, 17)


def test_they_cannot_climb() -> None:
    with pytest.raises(ConfigError, match="cannot climb_after"):
        classifier(climb_after=(1,))
