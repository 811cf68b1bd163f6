"""Myosotis: linear-cost sequence mixing by exact solution of block tree-structured systems."""

from importlib import import_module
from importlib.metadata import version
from types import ModuleType

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

_LAZY = ("data", "nn")  # what they import, a user of the solver alone need not wait for

__all__ = [
    "ConfigError",
    "DataError",
    "Factorization",
    "ShapeError",
    "SingularBlockError",
    "Tree",
    "TreeError",
    "TreeMatrix",
    "data",
    "hilbert_order",
    "morton_order",
    "nn",
    "snake_order",
    "ssm",
    "tree_solve",
    "tree_solve_diag",
    "tree_solve_factored",
]


def __getattr__(name: str) -> ModuleType:
    if name in _LAZY:
        return import_module(f"myosotis.{name}")
    raise AttributeError(f"module 'myosotis' has no attribute {name!r}")
