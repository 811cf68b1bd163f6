"""The positive definite solve (I−U) D (I−U^H) x = u, by the best means that there is."""

from collections.abc import Callable

import torch
from torch import Tensor

from myosotis import linalg
from myosotis.linalg import tree_solve_diag
from myosotis.tree import Tree

__all__ = ["solve_factored"]


def solve_factored(tree: Tree, a: Tensor, d: Tensor, u: Tensor, rows: Tensor | None) -> Tensor:
    """`tree_solve_factored`, or the same matrix written out for `tree_solve_diag`."""
    direct: Callable[..., Tensor] | None = getattr(linalg, "tree_solve_factored", None)
    if direct is not None:
        return direct(tree, a, d, u, rows)
    if rows is not None:
        a, d = a[rows], d[rows]
    E = tree.num_edges
    parent = torch.from_numpy(tree.parent[:E].copy())
    up = (a * a.conj() * d)[:E]
    return tree_solve_diag(tree, d.index_add(0, parent, up), -(a * d).conj(), -a * d, u)
