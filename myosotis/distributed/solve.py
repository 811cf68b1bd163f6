"""The solution of a tree system that several ranks share.

Let i be a rank's own nodes and t the top. The own nodes of a rank touch no other's, so that

    x_i = T_ii⁻¹ (u_i − T_it x_t)      (T_tt − Σ_i T_ti T_ii⁻¹ T_it) x_t = u_t − Σ_i T_ti T_ii⁻¹ u_i

and the matrix of the top is a tree matrix again, because a piece touches at most one node of the
top above it and one below it. Each rank sends its terms of the two sums; every rank solves the top.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh

from myosotis.distributed.collectives import all_gather
from myosotis.distributed.part import Part, part_on
from myosotis.errors import DistributedError, ShapeError, SingularBlockError
from myosotis.tree import Tree

__all__ = ["Factorize", "Solve", "solve_on_mesh"]

Solve = Callable[[Tensor], Tensor]
"""From right-hand sides (…, L, H) to solutions of the same shape."""

Factorize = Callable[[Tree, Tensor, Tensor, Tensor], Solve]
"""From a tree and its diagonals a, b, c (…, L, H) to what solves with them."""


@dataclass(frozen=True)
class _System:
    """Local a, b, c (*coefficients, n, h) and u (*batch, n, H), own nodes first, then the top."""

    part: Part
    a: Tensor
    b: Tensor
    c: Tensor
    u: Tensor

    def own(self, t: Tensor) -> Tensor:
        """The rows of the rank's own nodes."""
        return t.narrow(-2, 0, self.part.num_own)

    def top(self, t: Tensor) -> Tensor:
        """The rows of the top."""
        return t.narrow(-2, self.part.num_own, self.part.num_top)

    def at(self, t: Tensor, index: Tensor) -> Tensor:
        """Some rows."""
        return t.index_select(-2, index.to(t.device))


@dataclass(frozen=True)
class _Terms:
    """What is added to a, b and c, (3, *coefficients, rows, h), and to u, (*batch, rows, H)."""

    blocks: Tensor
    right: Tensor

    def flat(self, *, failed: bool) -> Tensor:
        """All numbers in a row, behind one that tells whether they could not be computed."""
        mark = self.right.new_full((1,), float(failed))
        return torch.cat([mark, self.blocks.flatten(), self.right.flatten()])

    def unflatten(self, flat: Tensor) -> "_Terms":
        """The terms of all ranks, rows behind rows, from (ranks, numbers)."""
        blocks, right = flat[:, 1:].split([self.blocks.numel(), self.right.numel()], dim=1)
        return _Terms(_joined(blocks, self.blocks), _joined(right, self.right))


def solve_on_mesh(
    tree: Tree,
    blocks: tuple[Tensor, Tensor, Tensor],
    u: Tensor,
    mesh: DeviceMesh,
    factorize: Factorize,
    *,
    added: Tensor | None = None,
) -> Tensor:
    """Solve for the nodes of this rank; see `myosotis.tree_solve_diag`.

    Args:
        tree: the whole tree, the same on all ranks.
        blocks: a, b, c over all nodes, the local ones, or one row for all; (…, L or n or 1, H).
        u: right-hand side over the local nodes, (…, n, H).
        mesh: of one dimension; its ranks share the tree.
        factorize: eliminates a tree on one rank.
        added: what this rank adds to a at the top, (…, top, H); the sum over all ranks counts.

    Returns:
        x over the local nodes, (…, n, H).
    """
    part = part_on(tree, mesh)
    system = _prepare(part, blocks, u)
    if part.top is None:
        return factorize(part.forest, system.a, system.b, system.c)(system.u)
    failure: SingularBlockError | None = None
    try:
        solve = factorize(part.forest, *(system.own(t) for t in (system.a, system.b, system.c)))
        terms = _eliminate(system, solve, added)
    except SingularBlockError as error:  # the others wait for an answer all the same
        terms, failure = _nothing(system), _with_tree_numbers(error, part)
    gathered = all_gather(terms.flat(failed=failure is not None), mesh)
    if failure is not None:
        raise failure
    _complain_of_others(gathered)
    x_top = _solve_top(system, terms.unflatten(gathered), factorize)
    return torch.cat([_substitute(system, solve, x_top), x_top], dim=-2)


def _prepare(part: Part, blocks: tuple[Tensor, Tensor, Tensor], u: Tensor) -> _System:
    a, b, c = (part.take(name, t) for name, t in zip("abc", blocks, strict=True))
    if u.ndim < 2 or u.shape[-2] != part.num_nodes:
        raise ShapeError(
            f"u has shape {tuple(u.shape)}; expected (…, {part.num_nodes}, H): rank {part.rank} "
            f"has {part.num_own} nodes of its own and the {part.num_top} of the top "
            "(myosotis.distributed.scatter picks them)"
        )
    try:
        shape = torch.broadcast_shapes(a.shape, b.shape, c.shape)
        u = u.expand(torch.broadcast_shapes(shape, u.shape))
    except RuntimeError:
        shapes = ", ".join(str(tuple(t.shape)) for t in (a, b, c, u))
        raise ShapeError(f"a, b, c and u of shapes {shapes} do not broadcast") from None
    a, b, c = (t.expand(shape) for t in (a, b, c))
    return _System(part, a, b, c, u)


def _nothing(system: _System) -> _Terms:
    """Zeros, one row for each slot."""
    slots = system.part.plan.num_slots
    blocks, right = (t.new_zeros(*t.shape[:-2], slots, t.shape[-1]) for t in (system.a, system.u))
    return _Terms(blocks.expand(3, *blocks.shape), right)


def _eliminate(system: _System, solve: Solve, added: Tensor | None) -> _Terms:
    """The rank's terms of both sums, one row for each slot."""
    part, at = system.part, system.at
    b_root, c_root = (at(t, part.roots) for t in (system.b, system.c))
    b_hole, c_hole = (at(system.top(t), part.below_holes) for t in (system.b, system.c))
    # A column of T_it for the neighbours above all pieces, and one for those below: a piece has one
    # of each at most, and what stands in other pieces does not reach it.
    zeros = torch.zeros_like(system.own(system.a))
    above = zeros.index_copy(-2, part.roots.to(zeros.device), b_root)
    below = zeros.index_copy(-2, part.holes.to(zeros.device), c_hole)
    from_above, from_below = solve(torch.stack([above, below]))
    y = solve(system.own(system.u))

    root_slot, hole_slot = (slot.to(zeros.device) for slot in part.slots)
    spanning, place = part.spans
    empty = _nothing(system)
    a = empty.blocks[0].index_add(-2, root_slot, -c_root * at(from_above, part.roots))
    a = a.index_add(-2, hole_slot, -b_hole * at(from_below, part.holes))
    b = empty.blocks[1].index_add(-2, hole_slot, -b_hole * at(from_above, part.holes))
    through = -at(c_root, place) * at(at(from_below, part.roots), place)
    c = empty.blocks[2].index_add(-2, hole_slot[spanning.to(zeros.device)], through)
    right = empty.right.index_add(-2, root_slot, -c_root * at(y, part.roots))
    right = right.index_add(-2, hole_slot, -b_hole * at(y, part.holes))
    if added is not None:
        a = a + _in_slots(part, added)
    return _Terms(torch.stack([a, b, c]), right)


def _in_slots(part: Part, added: Tensor) -> Tensor:
    """(…, top, h) -> (…, slots, h), zero where a slot is empty."""
    first = part.rank * part.plan.num_slots
    nodes = part.slot_nodes[first : first + part.plan.num_slots].to(added.device)
    return torch.nn.functional.pad(added, (0, 0, 0, 1)).index_select(-2, nodes)


def _solve_top(system: _System, terms: _Terms, factorize: Factorize) -> Tensor:
    part = system.part
    assert part.top is not None
    joined = part.joined_in_top.to(system.u.device).unsqueeze(-1)
    a, b, c = (system.top(t) for t in (system.a, system.b, system.c))
    # Where pieces lie between a node of the top and the next one, their terms are all there is.
    blocks = torch.stack([a, b.where(joined, 0), c.where(joined, 0)])
    blocks, right = (
        _add_rows(t, part.slot_nodes.to(t.device), more)
        for t, more in ((blocks, terms.blocks), (system.top(system.u), terms.right))
    )
    try:
        return factorize(part.top, *blocks)(right)
    except SingularBlockError as error:
        raise _with_tree_numbers(error, part, first=part.num_own) from None


def _add_rows(t: Tensor, rows: Tensor, more: Tensor) -> Tensor:
    """Adds rows of `more` to rows of t (…, n, h); row n, for slots that are empty, is dropped."""
    return torch.nn.functional.pad(t, (0, 0, 0, 1)).index_add(-2, rows, more)[..., :-1, :]


def _substitute(system: _System, solve: Solve, x_top: Tensor) -> Tensor:
    """x_i from x_t."""
    part, at = system.part, system.at
    from_above = at(system.b, part.roots) * at(x_top, part.above_roots)
    from_below = at(system.top(system.c), part.below_holes) * at(x_top, part.below_holes)
    right = system.own(system.u)
    right = right.index_add(-2, part.roots.to(right.device), -from_above)
    return solve(right.index_add(-2, part.holes.to(right.device), -from_below))


def _joined(flat: Tensor, like: Tensor) -> Tensor:
    """(ranks, numbers) -> the shape of `like` with its rows ranks times over."""
    rows: Tensor = flat.unflatten(1, like.shape).movedim(0, -3).flatten(-3, -2)
    return rows


def _with_tree_numbers(error: SingularBlockError, part: Part, first: int = 0) -> SingularBlockError:
    """The error with the number that a node, counted from `first`, has in the whole tree."""
    node, tree = int(part.nodes[first + error.node]), part.plan.tree
    level = tree.num_levels - int(tree.depth[node])
    message = f"on rank {part.rank} the elimination of node {node} of the tree failed: {error}"
    return SingularBlockError(message, node, level, error.batch)


def _complain_of_others(gathered: Tensor) -> None:
    failed = gathered.detach()[:, 0].abs().nonzero().flatten().tolist()
    if failed:
        raise DistributedError(
            f"rank {failed[0]} met a singular pivot and stopped; its own error says at which node"
        )
