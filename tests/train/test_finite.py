import pytest
import torch
from torch import nn

from myosotis.errors import ConfigError
from myosotis.train.finite import check_parameters, explain_loss


class Model(nn.Module):
    """Layers of which one may divide by zero."""

    def __init__(self, scale):
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.second = nn.Linear(2, 2)
        self.scale = scale

    def forward(self, inputs, mask, tree):
        return self.second(self.first(inputs) / self.scale)


BATCH = (torch.ones(3, 2), torch.zeros(3).long(), *[None] * 4)


def test_the_first_layer_whose_output_is_no_number_is_named():
    message = str(explain_loss(Model(scale=0.0), BATCH, step=6))
    assert "the loss of step 7" in message
    assert "'second'" in message


def test_a_parameter_comes_before_the_layers_it_spoils():
    model = Model(scale=1.0)
    model.first.weight.data[0, 0] = float("inf")
    assert "after step 6 the parameter 'first.weight'" in str(explain_loss(model, BATCH, step=6))
    with pytest.raises(ConfigError, match=r"'first\.weight' has NaN or infinite"):
        check_parameters(model, 6)


def test_the_loss_alone_may_be_at_fault_and_no_hook_stays_behind():
    model = Model(scale=1.0)
    assert "in the loss itself" in str(explain_loss(model, BATCH, step=0))
    assert not any(module._forward_hooks for module in model.modules())
