"""Models without the solver: plain real tensor operations, for ONNX and other run-times.

On a fixed tree with trained weights the elimination can be done once and for all. What is left of
a layer are two sweeps over the levels,

    up:  y_p = u_p + Σ_c W_c y_c        down:  x_v = G_v y_v + S_v x_p

with constant blocks. Complex numbers become real blocks of twice the size. The graph has a few
operations per level, so it is small for quad-trees and n-ary trees and long for chains.
"""

import copy
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from myosotis.errors import ConfigError
from myosotis.nn.block import Block
from myosotis.nn.classifier import Classifier
from myosotis.nn.encoder import MeanBelow
from myosotis.nn.index import row_index
from myosotis.nn.mask import leaves_below, silence
from myosotis.nn.myo import Myo
from myosotis.tree import Tree

__all__ = ["export_onnx", "portable"]


def portable(model: Classifier) -> nn.Module:
    """A frozen copy of the classifier whose tree solves are plain operations on real tensors.

    It is called as the classifier is, without `tree`, and gives the same logits to rounding.

    Raises:
        ConfigError: the mixer is not `myo`, the trees differ from call to call, the model is
            recursive, or the coefficients depend on the input.

    Example:
        >>> from myosotis.nn import Classifier, ClassifierConfig
        >>> tree = Tree.quadtree(4)
        >>> model = Classifier(ClassifierConfig(2, tree, channels=1, dim=8)).eval()
        >>> x = torch.randn(3, 16, 1)
        >>> torch.allclose(portable(model)(x), model(x), atol=1e-5)
        True
    """
    tree = model.config.tree
    if tree is None:
        raise ConfigError("a portable model needs a fixed tree; the configuration has none")
    if model.config.mixer != "myo":
        raise ConfigError(f"mixer {model.config.mixer!r} has no portable form; only myo has one")
    if model.config.recursive:
        raise ConfigError("a recursive model has no portable form: its blocks are not on one tree")
    frozen = copy.deepcopy(model).eval().requires_grad_(False)
    frozen.encoder.mean = _PortableMean(tree)
    for block in frozen.blocks:
        assert isinstance(block, Block)
        assert isinstance(block.mixer, Myo)
        assert block.mixer.tree is not None  # as the configuration has one
        block.mixer = _PortableMyo(block.mixer, block.mixer.tree)
    return frozen


def export_onnx(model: Classifier, file: str | Path) -> None:
    """Writes the classifier as an ONNX model with one input, `inputs`, and one output, `logits`.

    The number of examples is free. Needs the extra `onnx`.

    Raises:
        ConfigError: as for `portable`.
    """
    frozen, config = portable(model), model.config
    assert config.tree is not None  # portable() has seen to it
    count = config.tree.num_leaves if config.inputs_on == "leaves" else config.tree.num_nodes
    example = (
        torch.zeros(2, count, dtype=torch.int64)
        if config.channels is None
        else torch.zeros(2, count, config.channels)
    )
    torch.onnx.export(
        frozen,
        (example,),
        str(file),
        input_names=["inputs"],
        output_names=["logits"],
        dynamic_shapes={"inputs": {0: torch.export.Dim("batch", min=1)}},
        dynamo=True,
        external_data=False,
        verbose=False,
    )


class _LevelIndex(nn.Module):
    """Sums over children and copies from parents, one level at a time."""

    def __init__(self, tree: Tree) -> None:
        super().__init__()
        self.sizes = tree.level_sizes
        for number, level in enumerate(tree.levels[1:]):
            nodes = np.arange(level.start, level.stop)
            start = tree.levels[number].start
            slots = np.arange(max(1, int(tree.num_children[nodes].max())))
            child = tree.first_child[nodes, None] - start + slots
            none = self.sizes[number]  # the row of zeros behind the children
            child = np.where(slots < tree.num_children[nodes, None], child, none)
            self.register_buffer(f"child_{number}", torch.from_numpy(child), persistent=False)
            parent = tree.parent[tree.levels[number]] - level.start
            self.register_buffer(f"parent_{number}", torch.from_numpy(parent), persistent=False)

    def split(self, x: Tensor) -> list[Tensor]:
        """(batch, L, …) -> one (batch, n_l, …) per level, deepest first."""
        return list(x.split(self.sizes, dim=1))

    def sum_of_children(self, number: int, x: Tensor) -> Tensor:
        """x (batch, n_l, …) of level `number` -> its sums for the level above."""
        child = self.get_buffer(f"child_{number}")  # (n_{l+1}, slots)
        padded = torch.cat([x, torch.zeros_like(x[:, :1])], dim=1)
        gathered = padded.index_select(1, child.flatten())
        sums: Tensor = gathered.unflatten(1, tuple(child.shape)).sum(2)
        return sums

    def from_parent(self, number: int, x: Tensor) -> Tensor:
        """x of the level above -> the values that the nodes of level `number` see."""
        return x.index_select(1, self.get_buffer(f"parent_{number}"))


class _PortableMean(MeanBelow):
    """The mean over the leaves below each node, level by level."""

    def __init__(self, tree: Tree) -> None:
        super().__init__()
        self.levels = _LevelIndex(tree)

    def sums(self, u: Tensor, tree: Tree) -> Tensor:
        """Sums of u (batch, L, c) over subtrees."""
        parts = self.levels.split(u)
        for number in range(len(parts) - 1):
            parts[number + 1] = parts[number + 1] + self.levels.sum_of_children(
                number, parts[number]
            )
        return torch.cat(parts, dim=1)


class _PortableMyo(nn.Module):
    """A Myo layer with its elimination done."""

    def __init__(self, layer: nn.Module, tree: Tree) -> None:
        super().__init__()
        assert isinstance(layer, Myo)  # the only mixer of a portable model
        if layer.coefficients.select is not None:
            raise ConfigError("selective coefficients are not constant: no portable form")
        self.tree, self.levels = tree, _LevelIndex(tree)
        self.masks = layer.coefficients.silence_is_absence
        self.project_in, self.project_out, self.skip = (
            layer.project_in,
            layer.project_out,
            layer.skip,
        )
        heads, block, self.rhs = layer.channels
        self.shape = (heads, block, self.rhs, 2) if layer.complex_heads else layer.channels
        with torch.no_grad():
            doubled = copy.deepcopy(layer.coefficients).double()
            blocks = doubled.blocks(tree, row_index(layer.layout, tree))
        for name, constant in zip(("up", "pivot", "down"), _eliminate(tree, *blocks), strict=True):
            self.register_buffer(name, _as_real(constant).to(layer.skip), persistent=False)

    def forward(self, x: Tensor, mask: Tensor | None = None, tree: Tree | None = None) -> Tensor:
        """Mixes (batch, L, dim) as the layer did."""
        if mask is None:
            return self._mix(x)
        if not self.masks:
            raise ConfigError("with a mask only the parametrization 'factor' is portable")
        alive = leaves_below(self.tree, mask) > 0
        return silence(self._mix(silence(x, alive)), alive)

    def _mix(self, x: Tensor) -> Tensor:
        u = self.project_in(x).unflatten(-1, self.shape)
        if len(self.shape) == 4:  # (…, block, rhs, 2) -> (…, 2·block, rhs)
            u = u.movedim(-1, -3).flatten(-3, -2)
        solution = self._sweep(u)
        if len(self.shape) == 4:
            solution = solution.unflatten(-2, (2, -1)).movedim(-3, -1)
        mixed: Tensor = self.project_out(solution.flatten(2))
        return mixed + self.skip * x

    def _sweep(self, u: Tensor) -> Tensor:
        """Solves for u (batch, L, heads, e, rhs), e the size of a real block."""
        up, pivot, down = (self.get_buffer(name) for name in ("up", "pivot", "down"))
        parts, levels = self.levels.split(u), self.tree.levels
        for number in range(len(parts) - 1):
            sent = up[levels[number]] @ parts[number]
            parts[number + 1] = parts[number + 1] + self.levels.sum_of_children(number, sent)
        x = [pivot[level] @ y for level, y in zip(levels, parts, strict=True)]
        for number in reversed(range(len(parts) - 1)):
            above = self.levels.from_parent(number, x[number + 1])
            x[number] = x[number] + down[levels[number]] @ above
        return torch.cat(x, dim=1)


def _eliminate(tree: Tree, A: Tensor, B: Tensor, C: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """W, G, S of the module's docstring, (L, heads, d, d), from the blocks of the system."""
    pivot, inverse = A.clone(), torch.empty_like(A)
    up, down = torch.zeros_like(A), torch.zeros_like(A)
    for level in tree.levels:
        inverse[level] = torch.linalg.inv(pivot[level])
        edges = slice(level.start, min(level.stop, tree.num_edges))
        down[edges] = -inverse[edges] @ B[edges]
        up[edges] = -C[edges] @ inverse[edges]
        parent = torch.from_numpy(tree.parent[edges].copy())
        pivot.index_add_(0, parent, C[edges] @ down[edges])
    return up, inverse, down


def _as_real(blocks: Tensor) -> Tensor:
    """Complex d×d blocks as real 2d×2d ones that act on real parts above imaginary ones."""
    if not blocks.is_complex():
        return blocks
    re, im = blocks.real, blocks.imag
    return torch.cat([torch.cat([re, -im], dim=-1), torch.cat([im, re], dim=-1)], dim=-2)
