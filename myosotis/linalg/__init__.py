"""Tree matrices and their solver."""

from myosotis.linalg.definite import definite_blocks, tree_solve_factored
from myosotis.linalg.factor import Factorization
from myosotis.linalg.matrix import TreeMatrix
from myosotis.linalg.solve import tree_solve, tree_solve_diag

__all__ = [
    "Factorization",
    "TreeMatrix",
    "definite_blocks",
    "tree_solve",
    "tree_solve_diag",
    "tree_solve_factored",
]
