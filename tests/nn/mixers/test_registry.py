"""Mixers by name, and what is said about names that do not exist."""

import numpy as np
import pytest
import torch
from torch import nn

from myosotis import Tree
from myosotis.errors import ConfigError
from myosotis.nn import mixers
from myosotis.nn.mixers import registry

TREE = Tree.over(5, 2)
NAMES = {
    "attention": mixers.Attention,
    "dilated": mixers.DilatedAttention,
    "linear-attention": mixers.LinearAttention,
    "lstm": mixers.LSTM,
    "s4d": mixers.S4D,
    "s5": mixers.S5,
    "tree-attention": mixers.TreeAttention,
    "window": mixers.WindowAttention,
    "window-global": mixers.WindowGlobalAttention,
}


def test_names() -> None:
    assert mixers.available() == tuple(sorted(mixers.available()))
    for name, cls in NAMES.items():
        assert type(mixers.create(name, 8, TREE)) is cls
        assert mixers.over(name) == ("nodes" if name == "tree-attention" else "leaves")


def test_options_heads_device_and_dtype_arrive() -> None:
    mixer = mixers.create("window", 8, TREE, 2, {"radius": 5}, device="meta", dtype=torch.float64)
    assert (mixer.radius, mixer.heads) == (5, 2)
    parameter = next(mixer.parameters())
    assert (parameter.device.type, parameter.dtype) == ("meta", torch.float64)
    assert mixers.create("tree-attention", 8, TREE).tree is TREE


def test_unknown_mixer() -> None:
    with pytest.raises(ConfigError, match=r"no mixer 'windwo'; the closest is 'window' of: .*s5"):
        mixers.create("windwo", 8, TREE)
    with pytest.raises(ConfigError, match="the closest is 's4d'"):
        mixers.over("s4")


def test_unknown_option() -> None:
    message = r"option 'raduis' of mixer 'window-global'; the closest is 'radius' of: global_tokens"
    with pytest.raises(ConfigError, match=message):
        mixers.create("window-global", 8, TREE, options={"raduis": 3})
    with pytest.raises(ConfigError, match="'tree-attention': it has no options"):
        mixers.create("tree-attention", 8, TREE, options={"radius": 3})
    with pytest.raises(ConfigError, match="option 'device'"):
        mixers.create("s5", 8, TREE, options={"device": "cpu"})


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("window", {"radius": -1}, "radius must be an integer of at least 0, got -1"),
        ("window", {"radius": 2.0}, "radius must be an integer"),
        ("window-global", {"global_tokens": 0}, "global_tokens must be an integer of at least 1"),
        ("dilated", {"stride": 0}, "stride must be an integer of at least 1, got 0"),
        ("dilated", {"width": True}, "width must be an integer"),
        ("s5", {"bidirectional": "false"}, "bidirectional must be True or False, got 'false'"),
        ("s5", {"min_step": 0.0}, "min_step=0.0"),
        ("attention", {"causal": 1}, "causal must be True or False, got 1"),
    ],
)
def test_wrong_values(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        mixers.create(name, 8, TREE, options=options)


@pytest.mark.parametrize("name", NAMES)
def test_wrong_sizes(name: str) -> None:
    with pytest.raises(ConfigError, match="dim must be an integer of at least 1, got 0"):
        mixers.create(name, 0, TREE)
    with pytest.raises(ConfigError, match="heads must be an integer of at least 1, got 0"):
        mixers.create(name, 8, TREE, heads=0)


def test_sizes_from_numpy_are_integers_too() -> None:
    assert mixers.create("window", np.int64(8), TREE, options={"radius": np.int32(2)}).radius == 2


def test_a_name_is_given_once() -> None:
    with pytest.raises(ConfigError, match="'s5' is registered already"):
        mixers.register("s5")(nn.Identity)
    assert registry.create("s5", 4, TREE).heads == 2
