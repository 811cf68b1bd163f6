import pytest
import torch

from myosotis import Tree
from myosotis.bench.model import Attention, Classifier, TreeMixer


@pytest.mark.parametrize("solve", [True, False])
@pytest.mark.parametrize("num_tokens", [16, 21])
def test_mixer_keeps_the_shape_and_has_gradients(solve, num_tokens):
    mixer = TreeMixer(Tree.quadtree(4, 4), dim=6, heads=3, solve=solve)
    x = torch.randn(2, num_tokens, 6, requires_grad=True)
    y = mixer(x)
    assert y.shape == x.shape
    y.square().sum().backward()
    assert x.grad.abs().min() > 0
    assert (mixer.phase.grad is not None) is solve


def test_the_solve_is_what_carries_one_token_to_another():
    x = torch.randn(1, 16, 6)
    changed = x.clone()
    changed[0, 0] += 1
    for solve in (True, False):
        mixer = TreeMixer(Tree.quadtree(4, 4), dim=6, heads=3, solve=solve)
        difference = (mixer(changed) - mixer(x))[0, 1:].abs().max()
        assert (difference > 1e-6) == solve


def test_classifier_and_attention_shapes():
    tree = Tree.quadtree(4, 4)
    logits = Classifier(tree, dim=8, heads=4, solve=True)(torch.randn(2, 16, 3))
    assert logits.shape == (2, 10)
    assert Attention(8, heads=4)(torch.randn(2, 16, 8)).shape == (2, 16, 8)
