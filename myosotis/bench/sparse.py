"""Sparse direct solvers, and the tree solvers of neuron simulators, as contenders."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from myosotis.bench.case import Contender, Work
from myosotis.bench.systems import DiagonalSystem
from myosotis.bench.xla import compiled

__all__ = ["banded", "cholmod", "jaxley", "neuron", "splu"]

Vector = NDArray[Any]


def splu(*, leaf_to_root: bool = False) -> Contender[DiagonalSystem]:
    """SciPy's SuperLU: ordering, factorization and solve of the first channel.

    With `leaf_to_root` it is told the order that causes no fill, and not to exchange rows.
    """

    def prepare(s: DiagonalSystem) -> Work:
        from scipy.sparse.linalg import splu

        T, u = _matrix(s), _first_channel(s)[3]
        if leaf_to_root:
            return Work(lambda: splu(T, permc_spec="NATURAL", diag_pivot_thresh=0.0).solve(u))
        return Work(lambda: splu(T).solve(u))

    name = "SciPy splu, leaf to root" if leaf_to_root else "SciPy splu"
    return Contender(name, prepare, requires=("scipy",))


def cholmod(*, ordered: bool = False) -> Contender[DiagonalSystem]:
    """CHOLMOD: ordering, factorization and solve; without the ordering if it is known already."""

    def prepare(s: DiagonalSystem) -> Work:
        from sksparse.cholmod import analyze, cholesky

        T, u = _matrix(s), _first_channel(s)[3]
        if not ordered:
            return Work(lambda: cholesky(T)(u))
        factor = analyze(T)
        return Work(lambda: factor.cholesky(T)(u))

    name = "CHOLMOD, ordering known" if ordered else "CHOLMOD"
    return Contender(name, prepare, requires=("sksparse",))


def jaxley() -> Contender[DiagonalSystem]:
    """The solver that jaxley steps its cells with, compiled; levels are padded to the widest."""

    def prepare(s: DiagonalSystem) -> Work:
        from jaxley.solver_voltage import _make_dhs_solve

        tree = s.tree
        edges = np.stack([np.arange(tree.num_edges), tree.parent[: tree.num_edges]], axis=1)
        plan = {
            "node_order_grouped": [edges[level] for level in reversed(tree.levels[:-1])],
            "all_children": edges[:, 0],
            "all_parents": edges[:, 1],
        }
        # One more entry at the end, where the padding of the levels may read and write.
        ends = (1, 0, 0, 0)
        padded = (np.append(v, end) for v, end in zip(_first_channel(s), ends, strict=True))
        return compiled(_make_dhs_solve(plan, False, tree.num_nodes), *padded)

    return Contender("jaxley", prepare, requires=("jax", "jaxley"))


def neuron() -> Contender[DiagonalSystem]:
    """NEURON, for the record."""

    def prepare(s: DiagonalSystem) -> Work:
        raise NotImplementedError

    reason = "its tree solver runs only inside a time step of a cell model"
    return Contender("NEURON", prepare, absent=reason)


def banded() -> Contender[DiagonalSystem]:
    """LAPACK's banded solver on a chain, through SciPy."""

    def prepare(s: DiagonalSystem) -> Work:
        from scipy.linalg import solve_banded

        a, b, c, u = _first_channel(s)
        bands = np.stack([np.append(0, b[:-1]), a, np.append(c[:-1], 0)])
        return Work(lambda: solve_banded((1, 1), bands, u))

    return Contender("SciPy solve_banded", prepare, requires=("scipy",))


def _first_channel(s: DiagonalSystem) -> tuple[Vector, Vector, Vector, Vector]:
    a, b, c, u = (t[..., 0].numpy().copy() for t in (s.a, s.b, s.c, s.u))
    return a, b, c, u


def _matrix(s: DiagonalSystem) -> Any:
    """The first channel as a SciPy CSC matrix, children before parents."""
    from scipy.sparse import csc_matrix

    a, b, c, _ = _first_channel(s)
    nodes, E = np.arange(s.tree.num_nodes), s.tree.num_edges
    child, parent = nodes[:E], s.tree.parent[:E]
    rows, columns = np.concatenate([nodes, child, parent]), np.concatenate([nodes, parent, child])
    return csc_matrix((np.concatenate([a, b[:E], c[:E]]), (rows, columns)))
