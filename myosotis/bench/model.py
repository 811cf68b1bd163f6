"""A mixing layer around the solve and a classifier of such layers, as small as they can be."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from myosotis.linalg import tree_solve_factored
from myosotis.tree import Tree

__all__ = ["Attention", "Classifier", "TreeMixer"]


class TreeMixer(nn.Module):
    """Projects to complex heads, solves a positive definite tree system, projects back.

    The coefficients are given per level and child slot. Tokens are the first nodes of the tree;
    nodes beyond them (the inner ones, when the tokens are the leaves) start from zero.

    Args:
        tree: nodes and edges.
        dim: width of a token.
        heads: number of complex scalar systems.
        solve: if False, the solution is the right-hand side: all of the layer but the solve.
    """

    def __init__(self, tree: Tree, dim: int, heads: int, *, solve: bool = True) -> None:
        super().__init__()
        self.tree, self.solve = tree, solve
        branching = int(tree.num_children.max())
        rows = torch.from_numpy(tree.depth * branching + tree.slot)
        self.register_buffer("rows", rows, persistent=False)
        num_rows = branching * tree.num_levels
        self.decay = nn.Parameter(torch.full((num_rows, heads), 0.1))
        self.phase = nn.Parameter(2 * math.pi * torch.rand(num_rows, heads))
        self.log_d = nn.Parameter(torch.zeros(num_rows, heads))
        self.scale = branching**-0.5
        self.project_in = nn.Linear(dim, 2 * heads)
        self.project_out = nn.Linear(2 * heads, dim)
        self.skip = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        """Mixes tokens (batch, n, dim), n at most the number of nodes."""
        u = torch.view_as_complex(self.project_in(x).unflatten(-1, (-1, 2)))
        num_tokens = u.shape[-2]
        if self.solve:
            if num_tokens < self.tree.num_nodes:
                u = functional.pad(u, (0, 0, 0, self.tree.num_nodes - num_tokens))
            a = torch.polar(self.scale * torch.exp(-functional.softplus(self.decay)), self.phase)
            rows = self.get_buffer("rows")
            u = tree_solve_factored(self.tree, a, self.log_d.exp(), u, rows=rows)
        mixed: Tensor = self.project_out(torch.view_as_real(u[..., :num_tokens, :]).flatten(-2))
        return mixed + self.skip * x


class Attention(nn.Module):
    """Softmax attention of torch between two projections."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.project_in = nn.Linear(dim, 3 * dim)
        self.project_out = nn.Linear(dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        """Mixes tokens (batch, n, dim)."""
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(-2, -3)
            for part in self.project_in(x).chunk(3, dim=-1)
        )
        mixed = functional.scaled_dot_product_attention(query, key, value)
        out: Tensor = self.project_out(mixed.transpose(-2, -3).flatten(-2))
        return out


class Block(nn.Module):
    """Norm, mixer, SiLU, gated linear unit, skip."""

    def __init__(self, tree: Tree, dim: int, heads: int, *, solve: bool) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.mixer = TreeMixer(tree, dim, heads, solve=solve)
        self.gate = nn.Linear(dim, 2 * dim)

    def forward(self, x: Tensor) -> Tensor:
        """Maps node features (batch, L, dim) to the same shape."""
        return x + functional.glu(self.gate(functional.silu(self.mixer(self.norm(x)))), dim=-1)


class Classifier(nn.Module):
    """Four blocks over all nodes of a perfect tree, pooled over the three levels at the root."""

    def __init__(
        self, tree: Tree, dim: int, heads: int, *, solve: bool, inputs: int = 3, classes: int = 10
    ) -> None:
        super().__init__()
        self.tree = tree
        self.encoder = nn.Linear(inputs, dim)
        self.level = nn.Embedding(tree.num_levels, dim)
        self.register_buffer("depth", torch.from_numpy(tree.depth.copy()), persistent=False)
        self.blocks = nn.Sequential(*(Block(tree, dim, heads, solve=solve) for _ in range(4)))
        self.head = nn.Linear(dim, classes)

    def forward(self, leaves: Tensor) -> Tensor:
        """Maps leaf inputs (batch, leaves, inputs) to logits (batch, classes)."""
        levels = [leaves]
        for size in self.tree.level_sizes[1:]:
            levels.append(levels[-1].unflatten(1, (size, -1)).mean(2))  # mean of the children
        x = self.encoder(torch.cat(levels, dim=1)) + self.level(self.get_buffer("depth"))
        x = self.blocks(x)
        top = sum(self.tree.level_sizes[-3:])
        logits: Tensor = self.head(x[:, -top:].mean(1))
        return logits
