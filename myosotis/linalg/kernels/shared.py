"""Many systems with one diagonal matrix, which share the tree: see `families` and `family_sweeps`.

Everything here is None where that does not pay, and somebody else has to do it.
"""

from torch import Tensor

from myosotis.linalg.apply import Blocks, summed_to
from myosotis.linalg.kernels import adjoint_sweeps, family_sweeps, onesided
from myosotis.linalg.kernels.arguments import (
    Index,
    Signs,
    addresses,
    edge_rows,
    empty,
    in_memory,
    own_rows,
    past_caches,
    sweep_arguments,
    unsigned,
    width_of,
)
from myosotis.linalg.kernels.families import share
from myosotis.linalg.kernels.pieces import by_node, crowd
from myosotis.tree import Tree

__all__ = ["adjoint", "solve", "sweep"]


def solve(tree: Tree, blocks: Blocks, u: Tensor) -> tuple[Tensor, list[Tensor]] | None:
    """T⁻¹ u (*batch, L, h) and the factor of T, whose rows of roots hold nothing.

    None also if a pivot is zero: who eliminates by itself reports it.
    """
    a, b, c = map(in_memory, blocks)
    families = share(tree, a, u)
    if families is None:
        return None
    u = in_memory(u)
    x = empty(u)
    inverse, down, up = empty(a, 3, *a.shape)  # in one piece, which the next call finds again
    found = family_sweeps.solve(
        families.team,
        families.parts,
        families.counts,
        (addresses(a, b, c), *unsigned(tree.num_edges)),
        families.segments,
        *sweep_arguments(tree, (inverse, down, up), (1, 1, 1), own_rows(tree), u, x),
        past_caches(x),
    )
    return (x, [inverse, down, up]) if found else None


def sweep(tree: Tree, tables: Blocks, signs: Signs, rows: Index, u: Tensor) -> Tensor | None:
    """As `diagonal.solve_sweep`, from tensors that are in memory."""
    families = share(tree, tables[0], u)
    if families is None:
        return None
    x = empty(u)
    family_sweeps.sweep(
        families.team,
        families.parts,
        families.counts,
        families.segments,
        *sweep_arguments(tree, tables, signs, rows, u, x),
        past_caches(x),
    )
    return x


def adjoint(
    tree: Tree, blocks: Blocks, factor: list[Tensor], g: Tensor, x: Tensor
) -> tuple[Blocks, Tensor] | None:
    """Gradients of the blocks, and λ = T^-H g, from g and x (*full, L, h), in one go."""
    inverse, down, up = factor
    families = share(tree, inverse, x)
    if families is None or onesided.is_zero(down):
        return None
    g, x = in_memory(g), in_memory(x)
    tables = (in_memory(inverse), in_memory(up), in_memory(down))
    lam, products = empty(g), [empty(t, *t.shape[:-1], x.shape[-1]) for t in blocks]
    adjoint_sweeps.solve(
        families.team,
        families.parts,
        families.counts,
        (by_node(x, families.crown), *unsigned(crowd(width_of(x)))),
        (*addresses(x), addresses(*products), edge_rows(tree, blocks)),
        families.segments,
        *sweep_arguments(tree, tables, (-1, -1, -1), own_rows(tree), g, lam),
        past_caches(lam),
    )
    return summed_to(blocks, products), lam
