"""From the values or tokens at the leaves to features of every node."""

import torch
from torch import Tensor, nn

from myosotis.linalg import tree_solve_diag
from myosotis.nn.config import ClassifierConfig
from myosotis.nn.index import depths, leaf_nodes, leaf_spans, num_children, places
from myosotis.nn.mask import silence
from myosotis.tree import Tree

__all__ = ["Encoder", "MeanBelow", "on_nodes", "sinusoids"]


class Encoder(nn.Module):
    """Embeds tokens or projects values, and starts the inner nodes.

    Args:
        config: kind and size of the inputs, width, start of the inner nodes, level embedding.
        over_nodes: make features for all nodes; otherwise for the leaves only, as a sequence.
        positions: add sinusoids of the place in the sequence.
    """

    def __init__(self, config: ClassifierConfig, *, over_nodes: bool, positions: bool) -> None:
        super().__init__()
        self.config, self.over_nodes, self.positions = config, over_nodes, positions
        self.embed: nn.Module
        if config.vocabulary is not None:
            self.embed = nn.Embedding(config.vocabulary, config.dim)
            # Short vectors: words too rare to be learned must not drown out the others.
            nn.init.normal_(self.embed.weight, std=config.dim**-0.5)
        else:
            assert config.channels is not None  # the configuration has one or the other
            self.embed = nn.Linear(config.channels, config.dim)
        self.mean = MeanBelow()
        starts_inner = over_nodes and config.inputs_on == "leaves"
        self.inner: nn.Parameter | None = None
        if starts_inner and config.inner == "learned":
            self.inner = nn.Parameter(torch.randn(config.dim) * config.dim**-0.5)
        self.level: nn.Embedding | None = None
        if over_nodes and config.level_embedding:
            self.level = nn.Embedding(config.num_levels, config.dim)
            nn.init.normal_(self.level.weight, std=config.dim**-0.5)

    def forward(
        self, inputs: Tensor, tree: Tree | None, mask: Tensor | None, below: Tensor | None
    ) -> Tensor:
        """Makes features.

        Args:
            inputs: values (batch, n, channels) or tokens (batch, n), n leaves or nodes.
            tree: the tree; not needed for sequences.
            mask: bool (batch, leaves), the leaves that are there; all if None.
            below: int64 (batch, L), how many of them are below each node; needed with mask.

        Returns:
            (batch, L, dim) for nodes, (batch, leaves, dim) for sequences.
        """
        if not self.over_nodes:
            x: Tensor = self.embed(inputs)
            return x + sinusoids(*x.shape[1:]).to(x) if self.positions else x
        assert tree is not None
        x = self._over_tree(inputs, tree, mask, below)
        if self.level is not None:
            depth = depths(tree).to(x.device).clamp(max=self.level.num_embeddings - 1)
            x = x + self.level(depth)
        if self.positions:
            x = x + sinusoids(*x.shape[1:]).to(x).index_select(0, places(tree).to(x.device))
        return x

    def _over_tree(
        self, inputs: Tensor, tree: Tree, mask: Tensor | None, below: Tensor | None
    ) -> Tensor:
        averaged = self.config.inputs_on == "leaves" and self.config.inner == "mean"
        if averaged and self.config.vocabulary is None:
            inputs = self.mean(inputs, tree, mask, below)  # of fewer channels than features
        x: Tensor = self.embed(inputs)
        if averaged and self.config.vocabulary is not None:
            x = self.mean(x, tree, mask, below)
        if averaged or self.config.inputs_on == "nodes":
            return x
        x = on_nodes(x, tree)
        if self.inner is None:
            return x
        is_inner = num_children(tree).to(x.device) > 0
        return torch.where(is_inner.unsqueeze(-1), self.inner, x)


def on_nodes(x: Tensor, tree: Tree) -> Tensor:
    """Puts x (batch, leaves, c) on the leaves of the tree and zeros elsewhere: (batch, L, c).

    Example:
        >>> on_nodes(torch.tensor([[[1.0], [2.0]]]), Tree.star(2)).flatten()
        tensor([1., 2., 0.])
    """
    zeros = x.new_zeros(x.shape[0], tree.num_nodes, x.shape[-1])
    return zeros.index_copy(1, leaf_nodes(tree).to(x.device), x)


class MeanBelow(nn.Module):
    """Mean over the real leaves below each node.

    Example:
        >>> MeanBelow()(torch.tensor([[[1.0], [2.0]]]), Tree.star(2)).flatten()
        tensor([1.0000, 2.0000, 1.5000])
    """

    def forward(
        self, x: Tensor, tree: Tree, mask: Tensor | None = None, below: Tensor | None = None
    ) -> Tensor:
        """Maps x (batch, leaves, c) to (batch, L, c); mask and below as for `Encoder`."""
        x = silence(x, mask)
        if below is None:
            first, end = leaf_spans(tree).to(x.device).unbind(1)
            below = (end - first).unsqueeze(0)
        return self.sums(on_nodes(x, tree), tree) / below.clamp(min=1).unsqueeze(-1)

    def sums(self, u: Tensor, tree: Tree) -> Tensor:
        """Sums of u (batch, L, c) over subtrees: y_p = u_p + Σ_c y_c, a tree system like any."""
        one = u.new_ones(1, 1)
        with torch.autocast(u.device.type, enabled=False):
            return tree_solve_diag(tree, one, 0 * one, -one, u)


def sinusoids(length: int, dim: int) -> Tensor:
    """(length, dim): sines, then cosines, of the position at wavelengths from 2π to 20,000π.

    Example:
        >>> sinusoids(3, 4)[0]
        tensor([0., 0., 1., 1.])
    """
    half = (dim + 1) // 2
    frequency = torch.exp(torch.arange(half) * (-torch.log(torch.tensor(10000.0)) / max(half, 1)))
    angle = torch.arange(length).unsqueeze(-1) * frequency
    return torch.cat([angle.sin(), angle.cos()], dim=-1)[:, :dim]
