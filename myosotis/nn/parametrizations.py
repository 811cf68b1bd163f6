"""Parametrizations: from tables of unconstrained real numbers to tree systems and their solution.

Whatever values the tables take, `factor`, `dominant` and `spectral` give a Hermitian positive
definite system T, `upward` and `split` one that is triangular with a positive diagonal.

| name | system |
|---|---|
| factor | T = (I − U) D (I − U^H): any coupling a below one in norm, any weights d > 0 |
| upward | T = D (I − U), of the same: a node hears what is below it, and nothing else |
| split | that for half of the heads, T = D (I − U^H) for the others, which hear what is above |
| dominant | A = I, C = B^H, norm of B below 1/(k+1) for at most k children: diagonally dominant |
| spectral | A = I, C = B^H, norm of B below 1/(2√k), which bounds the norm of T − I by one |
| free | A, B and C are the tables |
"""

import math
from typing import ClassVar, Literal

import torch
from torch import Tensor

from myosotis.linalg import TreeMatrix, tree_solve_diag, tree_solve_factored
from myosotis.linalg.plan import parent_tensor
from myosotis.nn.bounded import bounded, positive
from myosotis.nn.coefficients import Coefficients
from myosotis.nn.contraction import uncontract
from myosotis.nn.initial import Start
from myosotis.nn.pieces import within_reach
from myosotis.nn.precision import full_precision
from myosotis.nn.selected import add_and_contract, can_fuse
from myosotis.tree import Tree

__all__ = ["PARAMETRIZATIONS", "Parametrization"]

Parametrization = Literal["factor", "upward", "split", "dominant", "spectral", "free"]


class Factor(Coefficients):
    """T = (I − U) D (I − U^H): every Hermitian positive definite tree matrix is of this form."""

    silence_is_absence = True  # it sends nothing up, and what it receives goes nowhere else
    couplings = ("coupling",)
    reads_tables: ClassVar[bool] = True  # nodes that share coefficients need no copies of them

    def _initial(self, start: Start) -> dict[str, Tensor]:
        coupling = uncontract(start.coupling * start.spread)
        weight = torch.zeros(*coupling.shape[:-1], 1, dtype=torch.float64)
        return {"coupling": coupling, "weight": weight}

    def _factors(self, values: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """a (…, heads, block, block) below one in norm, and d > 0 (…, heads, block, 1)."""
        return self._contracted(values["coupling"]), positive(values["weight"])

    def _table_factors(self) -> tuple[Tensor, Tensor]:
        """The same as tables (rows, heads · rhs), in one operation."""
        coupling, weight = full_precision(*self.tables.values())
        pairs = coupling.reshape(-1, 2 if self.complex_heads else 1)
        a, d = bounded(pairs, weight.reshape(-1))
        a = torch.view_as_complex(a) if self.complex_heads else a
        shape = self.layout.num_rows, -1
        return self._by_rhs(a.view(shape)), self._by_rhs(d.view(shape))

    def _selected_factors(self, rows: Tensor, x: Tensor | None) -> tuple[Tensor, Tensor]:
        """The same for the nodes, (batch, L, heads) each, in one pass through memory."""
        coupling, weight = (t.flatten(1) for t in full_precision(*self.tables.values()))
        a, weight = add_and_contract(self._selected(x), coupling, weight, rows)
        return self._by_rhs(a), self._by_rhs(positive(weight))

    def _blocks(self, tree: Tree, values: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        a, d = self._factors(values)
        C = -a * d.mT  # −a_v D_v
        parent = parent_tensor(tree)[: tree.num_edges].to(a.device)
        sent = (-C @ a.mH).narrow(-4, 0, tree.num_edges)  # a_v D_v a_v^H
        own = torch.diag_embed(d.squeeze(-1)).to(C.dtype).expand(C.shape)  # cut edges: by example
        A = own.index_add(-4, parent, sent)
        return A, C.mH, C

    def solve(
        self,
        tree: Tree,
        rows: Tensor,
        u: Tensor,
        x: Tensor | None = None,
        edges: Tensor | None = None,
    ) -> Tensor:
        """See `Coefficients.solve`. Blocks of size one need no pivots."""
        if self.block > 1:
            return super().solve(tree, rows, u, x, edges)
        in_place = self.reads_tables and self.select is None and edges is None
        a, d = self._by_node(None if in_place else rows, u, x, edges)
        return self._swept(tree, a, d, u.flatten(-3), rows if in_place else None).view(u.shape)

    def _swept(
        self, tree: Tree, a: Tensor, d: Tensor, u: Tensor, table_rows: Tensor | None
    ) -> Tensor:
        """The solution for right-hand sides u (batch, L, heads · rhs)."""
        return tree_solve_factored(tree, a, d, u, rows=table_rows)

    def _by_node(
        self, rows: Tensor | None, u: Tensor, x: Tensor | None, edges: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """a and d, (…, L, heads · rhs), or the tables (rows, heads · rhs) if rows is None."""
        fused = self.select is not None and edges is None and self.complex_heads
        if rows is not None and fused and can_fuse(u, self.layout.num_rows):
            return self._selected_factors(rows, x)
        if rows is None and within_reach(u):
            return self._table_factors()
        a, d = self._factors(self._cut(self._values(rows, x), edges))
        return self._by_channel(a), self._by_channel(d)


class Upward(Factor):
    """T = D (I − U): messages go from the leaves to the root only, as in a state space model."""

    one_way = True
    reads_tables = False

    def _blocks(self, tree: Tree, values: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        a, d = self._factors(values)
        A = torch.diag_embed(d.squeeze(-1)).to(a.dtype).expand(a.shape)
        parent = parent_tensor(tree)[: tree.num_edges].to(a.device)
        of_parent = d.expand(*a.shape[:-1], 1).index_select(-4, parent)
        sent = a.narrow(-4, 0, tree.num_edges) * of_parent  # D_p a_v
        C = torch.cat([-sent, torch.zeros_like(a.narrow(-4, tree.num_edges, tree.num_roots))], -4)
        return A, torch.zeros_like(C), C

    def _swept(
        self, tree: Tree, a: Tensor, d: Tensor, u: Tensor, table_rows: Tensor | None
    ) -> Tensor:
        return self._from_one_side(tree, a, _scaled(u, 1 / d))

    def _from_one_side(self, tree: Tree, a: Tensor, u: Tensor) -> Tensor:
        """(I − U)⁻¹ u, in one sweep."""
        one = a.new_ones(1, 1)
        return tree_solve_diag(tree, one, 0 * one, -a, u)


class Split(Upward):
    """D (I − U) for the first half of the heads, D (I − U^H) for the others."""

    def _num_upward(self, heads: int) -> int:
        return (heads + 1) // 2

    def _blocks(self, tree: Tree, values: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        A, B, C = super()._blocks(tree, values)
        a, d = self._factors(values)
        first = self._num_upward(a.shape[-3])
        down = -(a * d.mT).mH  # −D_v a_v^H
        up_heads = (torch.arange(a.shape[-3], device=a.device) < first)[:, None, None]
        return A, torch.where(up_heads, B, down), torch.where(up_heads, C, torch.zeros_like(C))

    def _from_one_side(self, tree: Tree, a: Tensor, u: Tensor) -> Tensor:
        first = self._num_upward(u.shape[-1] // self.rhs) * self.rhs
        one = a.new_ones(1, 1)
        below = super()._from_one_side(tree, a[..., :first], u[..., :first])
        matrix = TreeMatrix.diag(tree, one, 0 * one, -a[..., first:])
        above = matrix.factorize().solve_adjoint(u[..., first:])
        assert isinstance(above, Tensor)  # blocks are not given per level
        return torch.cat([below, above], dim=-1)


def _scaled(u: Tensor, factor: Tensor) -> Tensor:
    """u times real factors; numbers that are complex are not multiplied by complex ones."""
    if not u.is_complex():
        return u * factor
    return torch.view_as_complex(torch.view_as_real(u) * factor.unsqueeze(-1))


class Hermitian(Coefficients):
    """A = I, C = B^H, the norm of B below a bound that depends on the number of children."""

    couplings = ("coupling",)

    def _bound(self, branching: int) -> float:
        raise NotImplementedError

    def _initial(self, start: Start) -> dict[str, Tensor]:
        return {"coupling": uncontract(start.coupling)}

    def _blocks(self, tree: Tree, values: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        C = -self._bound(self.layout.num_slots) * self._contracted(values["coupling"])
        return torch.eye(self.block, dtype=C.dtype, device=C.device).expand_as(C), C.mH, C


class Dominant(Hermitian):
    """The norms of the blocks beside the identity add up to at most one in every row."""

    def _bound(self, branching: int) -> float:
        return 1 / (branching + 1)


class Spectral(Hermitian):
    """The norm of a tree's adjacency matrix is below 2√k, so that of T − I is below one."""

    def _bound(self, branching: int) -> float:
        return 0.5 / math.sqrt(branching)


class Free(Coefficients):
    """A, B and C are the tables: nothing keeps the system from being singular."""

    couplings = ("down", "up")

    def _initial(self, start: Start) -> dict[str, Tensor]:
        C = -start.coupling * start.spread / 2
        A = torch.eye(C.shape[-1], dtype=C.dtype).expand_as(C)
        return {"diagonal": A, "down": C.mH.resolve_conj(), "up": C}

    def _blocks(self, tree: Tree, values: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        A, B, C = (self._numbers(values[name]) for name in ("diagonal", "down", "up"))
        return A, B, C


PARAMETRIZATIONS: dict[Parametrization, type[Coefficients]] = {
    "factor": Factor,
    "upward": Upward,
    "split": Split,
    "dominant": Dominant,
    "spectral": Spectral,
    "free": Free,
}
