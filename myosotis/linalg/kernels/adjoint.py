"""Many systems with one diagonal matrix: the adjoint solution and all gradients, in one go."""

from math import prod

from torch import Tensor

from myosotis.linalg.apply import Blocks
from myosotis.linalg.kernels import adjoint_sweeps, diagonal, onesided
from myosotis.linalg.kernels.arguments import (
    addresses,
    empty,
    in_memory,
    own_rows,
    tree_arrays,
    unit_of,
    unsigned,
    width_of,
)
from myosotis.linalg.kernels.pieces import Families, by_node, crowd, families
from myosotis.linalg.kernels.threads import Team, team_or_self
from myosotis.tree import Tree

__all__ = ["solve"]

_CHUNK = 3 << 22  # bytes of right-hand sides that stay in the third cache


def solve(
    tree: Tree, blocks: Blocks, factor: list[Tensor], g: Tensor, x: Tensor
) -> tuple[Blocks, Tensor] | None:
    """Gradients of the blocks, and λ = T^-H g, from g and x (*full, L, h), in one go.

    None unless many systems have one matrix, some of them stay in the third cache together, and the
    tree can be cut into families.
    """
    inverse, down, up = factor
    (L, H), width = x.shape[-2:], width_of(x)
    together = _CHUNK // max(1, L * width)
    parts = _families(tree, inverse, x) if together >= adjoint_sweeps.TURNS else None
    if parts is None or onesided.is_zero(down):
        return None
    g, x = in_memory(g), in_memory(x)
    tables = (in_memory(inverse), in_memory(up), in_memory(down))
    lam, products = empty(g), [empty(t, *t.shape[:-1], H) for t in blocks]
    ends, places = addresses(lam, x), addresses(*products)
    team, (pieces, top, segments, crown) = parts
    adjoint_sweeps.solve(
        team,
        pieces,
        by_node(x, crown),
        *unsigned(prod(x.shape[:-2]), together - together % adjoint_sweeps.TURNS),
        (
            tree_arrays(tree)[0],
            unit_of(x.dtype),
            diagonal.system_and_first(blocks[0].shape[:-2], x.shape[:-2]),
            ends,
            places,
            diagonal.edge_rows(tree, blocks),
            *unsigned(width, x.element_size(), crowd(width)),
            False,
        ),
        top,
        segments,
        *diagonal.sweep_arguments(tree, tables, (-1, -1, -1), own_rows(tree), g, lam),
        diagonal.past_caches(lam),
        (ends[1], places),
    )
    return diagonal.summed_to(blocks, products), lam


def _families(tree: Tree, table: Tensor, x: Tensor) -> tuple[Team, Families] | None:
    """How to share the tree if many systems x have one table, too large to stay in the caches."""
    few = prod(x.shape[:-2]) < diagonal.MANY or prod(table.shape[:-2]) > 1 or x.shape[-1] == 1
    if few or table.shape[-2] * width_of(table) <= diagonal.SMALL:
        return None
    team, parts = team_or_self(x.numel()), families(tree, width_of(x))
    return None if team is None or parts is None else (team, parts)
