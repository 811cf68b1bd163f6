"""The problems: seeded, well-conditioned systems on trees."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from myosotis.bench.case import Shape
from myosotis.tree import Tree

__all__ = [
    "BlockSystem",
    "DiagonalSystem",
    "FactoredSystem",
    "block_system",
    "diagonal_system",
    "factored_system",
    "make_tree",
    "recurrence",
]


@dataclass(frozen=True)
class DiagonalSystem:
    """The arguments of `tree_solve_diag`."""

    tree: Tree
    a: Tensor
    b: Tensor
    c: Tensor
    u: Tensor


@dataclass(frozen=True)
class FactoredSystem:
    """The arguments of `tree_solve_factored`; with `rows`, a and d are tables that it reads."""

    tree: Tree
    a: Tensor
    d: Tensor
    u: Tensor
    rows: Tensor | None


@dataclass(frozen=True)
class BlockSystem:
    """The arguments of `tree_solve`."""

    tree: Tree
    A: Tensor
    B: Tensor
    C: Tensor
    u: Tensor


def make_tree(shape: Shape) -> Tree:
    """The tree of a shape.

    Example:
        >>> make_tree(Shape("quad", nodes=1365)).level_sizes
        (1024, 256, 64, 16, 4, 1)
    """
    if shape.tree == "chain":
        return Tree.chain(shape.nodes)
    if shape.tree == "quad":
        tree = Tree.over(num_leaves=-(-3 * shape.nodes // 4), branching=4)
        assert tree.num_nodes == shape.nodes, "no perfect quad-tree has so many nodes"
        return tree
    draws = np.random.default_rng(0).random(shape.nodes - 1)
    earlier = (draws * np.arange(1, shape.nodes)).astype(np.int64)  # uniform below each node
    return Tree(np.concatenate([[-1], earlier]))


def diagonal_system(shape: Shape) -> DiagonalSystem:
    """Hermitian and strictly diagonally dominant, so that every peer can solve it."""
    tree = make_tree(shape)
    torch.manual_seed(0)
    own = (shape.batch,) if shape.per_sample else ()
    b = 0.5 * torch.randn(*own, tree.num_nodes, shape.channels, dtype=shape.dtype)
    b[..., tree.num_edges :, :] = 0
    row_sum = b.abs()
    row_sum.index_add_(-2, _parents(tree), row_sum[..., : tree.num_edges, :].clone())
    return DiagonalSystem(tree, (1 + row_sum).to(shape.dtype), b, b.conj_physical(), _right(shape))


def recurrence(shape: Shape) -> DiagonalSystem:
    """The chain x_k = f_k x_{k-1} + u_k with |f| < 1, the same for all samples."""
    tree = make_tree(shape)
    torch.manual_seed(0)
    f = torch.randn(tree.num_nodes, shape.channels, dtype=shape.dtype)
    c = -0.9 * f / (1 + f.abs())
    one = torch.ones((), dtype=shape.dtype)
    return DiagonalSystem(tree, one, 0 * one, c, _right(shape))


def factored_system(shape: Shape, tabled: bool) -> FactoredSystem:
    """The positive definite family, with a row per node or, `tabled`, per level and child slot."""
    tree = make_tree(shape)
    torch.manual_seed(0)
    rows = None
    num_rows = tree.num_nodes
    if tabled:
        rows = torch.from_numpy(tree.depth * 4 + tree.slot)
        num_rows = 4 * tree.num_levels
    a = torch.randn(num_rows, shape.channels, dtype=shape.dtype)
    a = 0.5 * a / (1 + a.abs())
    d = 1 + torch.rand(num_rows, shape.channels, dtype=shape.dtype.to_real())
    return FactoredSystem(tree, a, d, _right(shape), rows)


def block_system(shape: Shape) -> BlockSystem:
    """Dense blocks, dominated by their diagonal; one right-hand side per sample."""
    tree, d = make_tree(shape), shape.block
    torch.manual_seed(0)
    own = (shape.batch,) if shape.per_sample else ()
    A, B, C = (torch.randn(*own, tree.num_nodes, d, d, dtype=shape.dtype) for _ in range(3))
    A = 0.1 * A + 3 * torch.eye(d, dtype=shape.dtype)
    u = torch.randn(shape.batch, tree.num_nodes, d, 1, dtype=shape.dtype)
    return BlockSystem(tree, A, 0.3 * B / d, 0.3 * C / d, u)


def _right(shape: Shape) -> Tensor:
    batch = (shape.batch,) if shape.batch > 1 else ()
    return torch.randn(*batch, shape.nodes, shape.channels, dtype=shape.dtype)


def _parents(tree: Tree) -> Tensor:
    return torch.from_numpy(tree.parent[: tree.num_edges].copy())
