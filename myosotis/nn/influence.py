"""The exact weight of every node in every other: rows of T⁻¹, one solve each."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from myosotis.errors import ConfigError, ShapeError
from myosotis.linalg import TreeMatrix
from myosotis.nn.classifier import Classifier
from myosotis.nn.index import row_index
from myosotis.nn.mask import leaves_below, silence
from myosotis.nn.myo import Myo
from myosotis.nn.shift import moved_nodes
from myosotis.tree import Tree

__all__ = ["influence", "layer_influence", "layers_on_the_whole_tree", "recorded_calls"]


@torch.no_grad()
def layer_influence(
    layer: Myo, tree: Tree, node: int, x: Tensor | None = None, mask: Tensor | None = None
) -> Tensor:
    """How much the right-hand side at each node weighs in the solution at one of them.

    That is row `node` of T⁻¹ for each head, by one solve with the adjoint system: the modulus of
    each entry, or the Frobenius norm of each block.

    Args:
        layer: whose systems they are.
        tree: which node hangs on which.
        node: canonical number of the node that listens.
        x: (batch, L, dim), the features that selective coefficients depend on.
        mask: bool (batch, leaves), False for padding, which neither weighs nor listens.

    Returns:
        Real (heads, L), or (batch, heads, L) if the systems depend on the example: through
        features or through a mask.

    Raises:
        TreeError: there is no such node.
        ShapeError: x or mask do not fit, or the coefficients are selective and x is missing.

    Example:
        >>> tree = Tree.star(2)
        >>> layer = Myo(4, tree, heads=3)
        >>> layer_influence(layer, tree, node=2).shape
        torch.Size([3, 3])
    """
    if x is not None and x.shape[1:] != (tree.num_nodes, layer.dim):
        raise ShapeError(
            f"x has shape {tuple(x.shape)}; expected (batch, {tree.num_nodes}, {layer.dim})"
        )
    alive = None if mask is None else leaves_below(tree, mask) > 0
    if x is not None and alive is not None:
        x = silence(x, alive)
    rows = row_index(layer.layout, tree).to(layer.skip.device)
    # As in the layer: where a silent subtree is as good as absent, its edges may stay.
    edges = None if layer.coefficients.silence_is_absence else alive
    A, B, C = layer.coefficients.blocks(tree, rows, x, edges)
    if layer.coefficients.block == 1:
        row = TreeMatrix.diag(tree, *(t[..., 0, 0] for t in (A, B, C))).influence(node)
        assert isinstance(row, Tensor)  # blocks are not given per level
        weights = row.abs().mT  # (…, heads, L)
    else:
        blocks = (t.movedim(-3, -4).contiguous() for t in (A, B, C))
        row = TreeMatrix(tree, *blocks).influence(node)
        assert isinstance(row, Tensor)
        weights = torch.linalg.matrix_norm(row)
    return weights if alive is None else weights * (alive & alive[:, node, None]).unsqueeze(-2)


@torch.no_grad()
def influence(
    model: Classifier,
    inputs: Tensor,
    node: int,
    mask: Tensor | None = None,
    tree: Tree | None = None,
) -> Tensor:
    """The influence of every node on one of them in each block of a model, for given inputs.

    Args:
        model: a classifier that mixes by `myo` or `chain-myo`. It is run once, in evaluation mode.
        inputs: as for the model.
        node: canonical number of the node that listens; for a chain, the place of the token.
        mask: as for the model; a chain takes none: leave the padding out.
        tree: as for the model.

    Returns:
        Real (blocks, batch, heads, L): of the blocks that work on the whole tree, which are all
        but those after the first climb.

    Raises:
        ConfigError: the model has no Myo layers, or a mask is given for a chain.
        TreeError: there is no such node.

    Example:
        >>> from myosotis.nn import ClassifierConfig
        >>> config = ClassifierConfig(10, Tree.quadtree(4), channels=1, dim=8, depth=2, heads=3)
        >>> influence(Classifier(config), torch.randn(5, 16, 1), node=20).shape
        torch.Size([2, 5, 3, 21])
    """
    layers = layers_on_the_whole_tree(model)
    if not layers:
        raise ConfigError(
            f"the mixer {model.config.mixer!r} solves no system: only myo and chain-myo know "
            f"the exact influence of each node"
        )
    if model.config.recursive:
        raise ConfigError("the layers of a recursive model see one family at a time, not the tree")
    if mask is not None and not model.over_nodes:
        raise ConfigError("on a chain the mask cuts paths: give one example without its padding")
    with recorded_calls(layers) as calls, _evaluating(model):
        model(inputs, mask, tree)
    found = []
    for place, (layer, (x, used)) in enumerate(zip(layers, calls, strict=True)):
        selects = layer.coefficients.select is not None
        shift = model.config.shift_of(place)
        moved = moved_nodes(used, shift, 0).tolist() if shift else range(used.num_nodes)
        listener = moved[node] if 0 <= node < used.num_nodes else node
        weights = layer_influence(layer, used, listener, x if selects else None, mask)
        found.append(weights[..., moved].expand(len(x), *weights.shape[-2:]))
    return torch.stack(found)


def layers_on_the_whole_tree(model: Classifier) -> list[Myo]:
    """The Myo layer of each block before the first climb: one and the same if blocks are tied.

    Example:
        >>> from myosotis.nn import ClassifierConfig
        >>> config = ClassifierConfig(2, Tree.quadtree(4), channels=1, dim=8, climb_after=(3,))
        >>> len(layers_on_the_whole_tree(Classifier(config)))
        3
    """
    return [
        module
        for place, block in enumerate(model.blocks)
        if model.config.climbs_before(place) == 0
        for module in block.modules()
        if isinstance(module, Myo)
    ]


@contextmanager
def recorded_calls(layers: list[Myo]) -> Iterator[list[tuple[Tensor, Tree]]]:
    """Collects the features and the tree that each layer is called with, in the order of calls."""
    calls: list[tuple[Tensor, Tree]] = []

    def record(layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        x, _, tree = (*args, None, None)[:3]
        tree = kwargs.get("tree", tree)
        calls.append((x, layer.tree if tree is None else tree))  # type: ignore[arg-type]

    different = dict.fromkeys(layers)
    handles = [layer.register_forward_pre_hook(record, with_kwargs=True) for layer in different]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    """Puts a model into evaluation mode for a while."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:  # parts may have been in different modes
            module.training = training
