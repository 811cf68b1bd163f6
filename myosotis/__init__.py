"""Myosotis: linear-cost sequence mixing by exact solution of block tree-structured systems."""

from importlib.metadata import version

from myosotis import ssm
from myosotis.errors import ConfigError, DataError, ShapeError, SingularBlockError, TreeError
from myosotis.linalg import (
    Factorization,
    TreeMatrix,
    tree_solve,
    tree_solve_diag,
    tree_solve_factored,
)
from myosotis.tree import Tree, hilbert_order, morton_order, snake_order

__version__ = version("myosotis")

__all__ = [
    "ConfigError",
    "DataError",
    "Factorization",
    "ShapeError",
    "SingularBlockError",
    "Tree",
    "TreeError",
    "TreeMatrix",
    "hilbert_order",
    "morton_order",
    "snake_order",
    "ssm",
    "tree_solve",
    "tree_solve_diag",
    "tree_solve_factored",
]
