"""Elimination and substitution round by round: plain torch operations, any device and dtype.

Eliminating node v with parent p and, if v is compressed, its one remaining child c:

    pivot      Â_v                                   everything sent to v so far is in it
    down       B̂_v = −Â_v⁻¹ B_v    Ĝ_v = −Â_v⁻¹ C_c   how v hangs on p, on c
    up         Ĉ_v = −C_v Â_v⁻¹    Ĥ_v = −B_c Â_v⁻¹   how p, how c feels v
    message    A_p += C_v B̂_v      A_c += B_c Ĝ_v
    new edge   B_c  = B_c B̂_v      C_c  = C_v Ĝ_v     (c now hangs on p)

A leaf has no c, a root no p. With these the right-hand side goes up and the solution comes down:

    up, first round first      ũ_p += Ĉ_v ũ_v     ũ_c += Ĥ_v ũ_v
    down, last round first     x_v  = Â_v⁻¹ ũ_v + B̂_v x_p + Ĝ_v x_c

and the adjoint system T^H x = u is the same with (B̂, Ĝ) and (Ĉ^H, Ĥ^H) exchanged.
"""

from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor

from myosotis.linalg.algebra import Algebra, algebra_of
from myosotis.linalg.apply import Blocks, block_gradients, with_axes_of
from myosotis.linalg.plan import Plan
from myosotis.linalg.singular import raise_if_singular

__all__ = [
    "eliminate",
    "empty_factor",
    "factorize",
    "gradients",
    "inverse_blocks",
    "slogdet",
    "solve",
    "substitute",
]


@dataclass(frozen=True)
class Elimination:
    """The factor of T, node axis first. `down`, `up`: B̂, Ĉ; `fill_down`, `fill_up`: Ĝ, Ĥ."""

    pivot: list[Tensor]  # each (L, *batch, …)
    down: Tensor  # (E, *batch, block)
    up: Tensor  # (E, *batch, block)
    fill_down: Tensor  # (F, *batch, block)
    fill_up: Tensor  # (F, *batch, block)


def factorize(plan: Plan, blocks: Blocks, diagonal: bool) -> list[Tensor]:
    """The factor of T; see `backends.Backend` for the shapes."""
    algebra = algebra_of(diagonal)
    F = eliminate(plan, blocks, algebra)
    parts = [F.down, F.up, F.fill_down, F.fill_up, F.pivot[0]]
    factor = [t.movedim(0, -1 - algebra.trailing).contiguous() for t in parts]
    return factor + [swaps.movedim(0, -2).contiguous() for swaps in F.pivot[1:]]


def empty_factor(blocks: Blocks, num_fill: int, diagonal: bool) -> list[Tensor]:
    """Uninitialised tensors of the shapes and dtypes that `factorize` returns."""
    A, B, _ = blocks
    trailing = algebra_of(diagonal).trailing
    fill = (*A.shape[: -1 - trailing], num_fill, *A.shape[-trailing:])
    parts = [B.new_empty(B.shape), B.new_empty(B.shape), A.new_empty(fill), A.new_empty(fill)]
    parts.append(A.new_empty(A.shape))
    if not diagonal:
        parts.append(A.new_empty(A.shape[:-1], dtype=torch.int32))
    return parts


def substitute(
    plan: Plan,
    blocks: Blocks,  # the factor holds all that is needed
    factor: list[Tensor],
    u: Tensor,
    diagonal: bool,
    adjoint: bool,
) -> Tensor:
    """Solve T x = u, or T^H x = u, for x. u (*batch, L, h) or (*batch, L, d, r)."""
    algebra = algebra_of(diagonal)
    F = _unpack(factor, algebra)
    y = _nodes_first(u, algebra)
    if diagonal or any(n != 1 for n in F.down.shape[1:-2]):
        x = _sweep(plan, F, y.clone(), algebra, adjoint)
    else:
        # A matrix shared by the whole batch sees the batch as more right-hand sides.
        columns = y.movedim(-2, 1)  # (L, d, *batch, r)
        merged = columns.reshape(*columns.shape[:2], prod(columns.shape[2:]))
        x = _sweep(plan, _without_batch(F), merged.clone(), algebra, adjoint)
        x = x.reshape(columns.shape).movedim(1, -2)
    return x.movedim(0, -1 - algebra.trailing).contiguous()


def solve(
    plan: Plan, blocks: Blocks, u: Tensor, diagonal: bool, keep: bool
) -> tuple[Tensor, list[Tensor]]:
    """Solve T x = u; the blocks may lack some of the first batch axes of u."""
    A, B, C = with_axes_of(u, blocks[0], blocks)
    factor = factorize(plan, (A, B, C), diagonal)
    return substitute(plan, (A, B, C), factor, u, diagonal, adjoint=False), factor


def gradients(plan: Plan, left: Tensor, right: Tensor, blocks: Blocks, diagonal: bool) -> Blocks:
    """−left right^H where T has its blocks, summed to their shapes."""
    return block_gradients(plan.parent, left, right, blocks, diagonal)


def slogdet(factor: list[Tensor], diagonal: bool) -> tuple[Tensor, Tensor]:
    """(Sign, log|det T|), each (*batch) for dense blocks and (*batch, h) for diagonal ones."""
    sign, logabs = algebra_of(diagonal).slogdet(factor[4:])
    axis = -2 if diagonal else -1
    return sign.prod(axis), logabs.sum(axis)


def eliminate(plan: Plan, blocks: Blocks, algebra: Algebra) -> Elimination:
    """Factor T with plain operations, which autograd and vmap can follow.

    Pivots take the place of A, B̂ that of B and Ĉ that of C as their nodes are eliminated.
    """
    A, B, C = (_nodes_first(block, algebra).clone() for block in _batched_alike(blocks))
    fill_down, fill_up = (A.new_zeros(plan.num_fill, *A.shape[1:]) for _ in range(2))
    marks: list[tuple[Tensor, list[Tensor], Tensor]] = []
    for r in plan.rounds(A.device):
        k, m = len(r.child), len(r.parent)
        P, singular = algebra.pivot(A[r.nodes])
        A.index_copy_(0, r.nodes, P[0])
        marks.append((r.nodes, P[1:], singular))
        B_v, C_v = B[r.edges], C[r.edges]
        edge_pivot = [part[:m] for part in P]
        B_hat = -algebra.solve(edge_pivot, B_v)
        C_hat = -algebra.solve_right(edge_pivot, C_v)
        A.index_add_(0, r.parent, algebra.multiply(C_v, B_hat))
        if k:
            B_c, C_c = B[r.child], C[r.child]
            child_pivot = [part[:k] for part in P]
            G_hat = -algebra.solve(child_pivot, C_c)
            A.index_add_(0, r.child, algebra.multiply(B_c, G_hat))
            B.index_copy_(0, r.child, algebra.multiply(B_c, B_hat[:k]))
            C.index_copy_(0, r.child, algebra.multiply(C_v[:k], G_hat))
            fill_down[r.fill] = G_hat
            fill_up[r.fill] = -algebra.solve_right(child_pivot, B_c)
        B.index_copy_(0, r.edges, B_hat)
        C.index_copy_(0, r.edges, C_hat)
    swaps, singular = _in_node_order(marks)
    if not torch._C._functorch.is_functorch_wrapped_tensor(singular):
        raise_if_singular(plan.tree, singular, algebra.trailing == 1, ordered=plan.num_fill == 0)
    return Elimination([A, *swaps], B, C, fill_down, fill_up)


def inverse_blocks(plan: Plan, blocks: Blocks, diagonal: bool) -> Blocks:
    """The blocks of Z = T⁻¹ that stand where T has its own: (Z_vv, Z_vp, Z_pv).

    Root to leaf (last round first), from the blocks of Z between the neighbours of v:
    Z_vn = Σ_m B̂_vm Z_mn,  Z_nv = Σ_m Z_nm Ĉ_mv,  Z_vv = Â_v⁻¹ + Σ_n B̂_vn Z_nv.
    """
    algebra = algebra_of(diagonal)
    F = eliminate(plan, blocks, algebra)
    mul = algebra.multiply
    Z = algebra.inverse(F.pivot).clone()
    Z_down, Z_up = torch.zeros_like(F.down), torch.zeros_like(F.up)  # row v column p; the other way
    for r in reversed(plan.rounds(Z.device)):
        k, v, p, c = len(r.child), r.edges, r.parent, r.child
        down, up, Z_pp = F.down[v], F.up[v], Z[p]
        vp, pv = mul(down, Z_pp), mul(Z_pp, up)
        if k:
            G, H = F.fill_down[r.fill], F.fill_up[r.fill]
            Z_cc, cp, pc = Z[c], Z_down[c], Z_up[c]
            vp = torch.cat([vp[:k] + mul(G, cp), vp[k:]])
            pv = torch.cat([pv[:k] + mul(pc, H), pv[k:]])
            vc = mul(G, Z_cc) + mul(down[:k], pc)
            cv = mul(Z_cc, H) + mul(cp, up[:k])
            Z.index_add_(0, v[:k], mul(G, cv))
            # The edge below v in the tree is (c, v) again, now that v is back.
            Z_down.index_copy_(0, c, cv)
            Z_up.index_copy_(0, c, vc)
        Z.index_add_(0, v, mul(down, pv))
        Z_down.index_copy_(0, v, vp)
        Z_up.index_copy_(0, v, pv)
    axis = -1 - algebra.trailing
    return Z.movedim(0, axis), Z_down.movedim(0, axis), Z_up.movedim(0, axis)


def _sweep(plan: Plan, F: Elimination, x: Tensor, algebra: Algebra, adjoint: bool) -> Tensor:
    """Overwrite the right-hand side x (L, *batch, …) by the solution."""
    up, fill_up = (F.down, F.fill_down) if adjoint else (F.up, F.fill_up)
    down, fill_down = (F.up, F.fill_up) if adjoint else (F.down, F.fill_down)
    rounds = plan.rounds(x.device)
    for r in rounds:
        y = x[r.edges]
        x.index_add_(0, r.parent, algebra.multiply(up[r.edges], y, adjoint))
        if len(r.child):
            sent = algebra.multiply(fill_up[r.fill], y[: len(r.child)], adjoint)
            x.index_add_(0, r.child, sent)
    for r in reversed(rounds):
        y = algebra.solve([part[r.nodes] for part in F.pivot], x[r.nodes], adjoint)
        y[: len(r.parent)] += algebra.multiply(down[r.edges], x[r.parent], adjoint)
        y[: len(r.child)] += algebra.multiply(fill_down[r.fill], x[r.child], adjoint)
        x.index_copy_(0, r.nodes, y)
    return x


def _batched_alike(blocks: Blocks) -> Blocks:
    """Under vmap, give all blocks the mapped axis if one has it: they are updated in place."""
    if not torch._C._are_functorch_transforms_active():
        return blocks
    nothing = sum(torch.zeros_like(block).sum() for block in blocks)
    A, B, C = (block + nothing for block in blocks)
    return A, B, C


def _in_node_order(
    marks: list[tuple[Tensor, list[Tensor], Tensor]],
) -> tuple[list[Tensor], Tensor]:
    """Join the rounds' row exchanges, and their flags, into one tensor each, ordered by node."""
    order = torch.cat([nodes for nodes, _, _ in marks]).argsort()
    parts = zip(*(swaps for _, swaps, _ in marks), strict=True)
    return [torch.cat(part)[order] for part in parts], torch.cat([s for _, _, s in marks])[order]


def _nodes_first(blocks: Tensor, algebra: Algebra) -> Tensor:
    return blocks.movedim(-1 - algebra.trailing, 0)


def _unpack(factor: list[Tensor], algebra: Algebra) -> Elimination:
    down, up, fill_down, fill_up, pivot = (_nodes_first(t, algebra) for t in factor[:5])
    swaps = [t.movedim(-2, 0) for t in factor[5:]]
    return Elimination([pivot, *swaps], down, up, fill_down, fill_up)


def _without_batch(F: Elimination) -> Elimination:
    """Drop batch axes of size 1 from dense factors."""
    lu, swaps = F.pivot
    blocks = (F.down, F.up, F.fill_down, F.fill_up)
    return Elimination(
        [lu.reshape(len(lu), *lu.shape[-2:]), swaps.reshape(len(swaps), -1)],
        *(t.reshape(len(t), *t.shape[-2:]) for t in blocks),
    )
