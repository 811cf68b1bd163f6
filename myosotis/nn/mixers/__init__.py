"""Mixers: layers that carry information between the tokens of a sequence or the nodes of a tree.

All are called as `mixer(x, mask)`. Importing this package registers each under the name by which
configurations choose it.
"""

from myosotis.nn.mixers.attention import Attention
from myosotis.nn.mixers.chain_myo import ChainMyo
from myosotis.nn.mixers.dilated import DilatedAttention
from myosotis.nn.mixers.linear_attention import LinearAttention
from myosotis.nn.mixers.lstm import LSTM
from myosotis.nn.mixers.registry import available, create, needs_positions, over, register
from myosotis.nn.mixers.s4d import S4D
from myosotis.nn.mixers.s5 import S5
from myosotis.nn.mixers.tree_attention import TreeAttention
from myosotis.nn.mixers.window import WindowAttention
from myosotis.nn.mixers.window_global import WindowGlobalAttention
from myosotis.nn.myo import Myo

__all__ = [
    "LSTM",
    "S4D",
    "S5",
    "Attention",
    "ChainMyo",
    "DilatedAttention",
    "LinearAttention",
    "TreeAttention",
    "WindowAttention",
    "WindowGlobalAttention",
    "available",
    "create",
    "needs_positions",
    "over",
    "register",
]

register("myo", over="nodes")(Myo)
