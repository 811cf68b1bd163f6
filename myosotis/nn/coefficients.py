"""Parametrizations: from tables of unconstrained real numbers to tree systems and their solution.

Whatever values the tables take, `factor`, `dominant` and `spectral` give a Hermitian positive
definite system T.

| name | system |
|---|---|
| factor | T = (I − U) D (I − U^H): any coupling a below one in norm, any weights d > 0 |
| dominant | A = I, C = B^H, norm of B below 1/(k+1) for at most k children: diagonally dominant |
| spectral | A = I, C = B^H, norm of B below 1/(2√k), which bounds the norm of T − I by one |
| free | A, B and C are the tables |
"""

import math
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from myosotis.errors import ShapeError
from myosotis.linalg import tree_solve, tree_solve_diag, tree_solve_factored
from myosotis.linalg.plan import parent_tensor
from myosotis.nn.contraction import contract, contract_pairs, uncontract
from myosotis.nn.initial import Start
from myosotis.nn.precision import full_precision
from myosotis.nn.selected import add_and_contract, can_fuse
from myosotis.nn.sharing import Layout
from myosotis.tree import Tree

__all__ = ["PARAMETRIZATIONS", "Coefficients", "Parametrization"]

Parametrization = Literal["factor", "dominant", "spectral", "free"]

WEIGHT_RANGE = 5.0  # the weights d lie between e^-5 and e^5


class Coefficients(nn.Module):
    """Tables of real parameters, and the tree systems they stand for: one per head.

    Args:
        layout: rows of the tables.
        start: where they begin.
        rhs: right-hand sides that share the coefficients of a head.
        select_from: if given, the coefficients of a node also depend, linearly before they are
            bounded, on its features of this size; they start independent of them.
        device: of the parameters.
        dtype: of the parameters, real also for complex heads.
    """

    silence_is_absence: ClassVar[bool] = False
    """Whether a subtree whose right-hand side is zero is as good as not there."""

    couplings: ClassVar[tuple[str, ...]]
    """The tables that couple a node with its parent."""

    def __init__(
        self,
        layout: Layout,
        start: Start,
        *,
        rhs: int = 1,
        select_from: int | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.layout, self.rhs, self.block = layout, rhs, start.coupling.shape[-1]
        self.complex_heads = start.coupling.is_complex()
        dtype = torch.get_default_dtype() if dtype is None else dtype
        self.tables = nn.ParameterDict()
        for name, t in self._initial(start).items():
            pairs = torch.view_as_real(t) if t.is_complex() else t
            self.tables[name] = nn.Parameter(pairs.to(device=device, dtype=dtype, copy=True))
        self.select: nn.Linear | None = None
        if select_from is not None:
            size = sum(table[0].numel() for table in self.tables.values())
            self.select = nn.Linear(select_from, size, bias=False, device=device, dtype=dtype)
            nn.init.zeros_(self.select.weight)

    def _initial(self, start: Start) -> dict[str, Tensor]:
        """The tables (rows, heads, …) in double precision."""
        raise NotImplementedError

    def _blocks(self, tree: Tree, values: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """A, B, C (…, L, heads, block, block) from the tables' values (…, L, heads, …)."""
        raise NotImplementedError

    def blocks(
        self, tree: Tree, rows: Tensor, x: Tensor | None = None, edges: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The systems: A, B, C (…, L, heads, block, block); arguments as for `solve`."""
        return self._blocks(tree, self._cut(self._values(rows, x), edges))

    def solve(
        self,
        tree: Tree,
        rows: Tensor,
        u: Tensor,
        x: Tensor | None = None,
        edges: Tensor | None = None,
    ) -> Tensor:
        """Solves the systems.

        Args:
            tree: which node hangs on which.
            rows: int64 (L,), the row of each node.
            u: (batch, L, heads, block, rhs).
            x: (batch, L, select_from), what selective coefficients depend on.
            edges: bool (batch, L), False where a node is cut from its parent; None: nowhere.

        Returns:
            (batch, L, heads, block, rhs).
        """
        A, B, C = self.blocks(tree, rows, x, edges)
        if self.block == 1:
            a, b, c = (self._by_channel(t) for t in (A, B, C))
            return tree_solve_diag(tree, a, b, c, u.flatten(-3)).view(u.shape)
        A, B, C, u = (t.movedim(-3, -4) for t in (A, B, C, u))
        return tree_solve(tree, A, B, C, u).movedim(-4, -3)

    def _cut(self, values: dict[str, Tensor], edges: Tensor | None) -> dict[str, Tensor]:
        """Sets the couplings of nodes that are cut from their parents to zero."""
        if edges is None:
            return values
        kept = edges[..., None, None, None]
        kept = kept.unsqueeze(-1) if self.complex_heads else kept
        return {n: t * kept if n in self.couplings else t for n, t in values.items()}

    def _values(self, rows: Tensor | None, x: Tensor | None) -> dict[str, Tensor]:
        """The tables (rows, heads, …), or their rows for the nodes (L, …) or (batch, L, …)."""
        tables = dict(zip(self.tables, full_precision(*self.tables.values()), strict=True))
        if rows is not None:
            # An embedding: the gradient of index_select is many times slower.
            tables = {
                name: nn.functional.embedding(rows, table.flatten(1)).unflatten(1, table.shape[1:])
                for name, table in tables.items()
            }
        if self.select is not None:
            selected = self._selected(x)
            sizes = [table[0].numel() for table in tables.values()]
            for name, part in zip(tables, selected.split(sizes, dim=-1), strict=True):
                tables[name] = tables[name] + part.unflatten(-1, tables[name].shape[1:])
        return tables

    def _selected(self, x: Tensor | None) -> Tensor:
        """What the features add to the tables, (batch, L, size of a row of all of them)."""
        assert self.select is not None
        if x is None:
            raise ShapeError("selective coefficients depend on the features: give x")
        return nn.functional.linear(*full_precision(x, self.select.weight))

    def _numbers(self, values: Tensor) -> Tensor:
        """(…, heads, block, block [, 2]) -> real or complex numbers (…, heads, block, block)."""
        return torch.view_as_complex(values.contiguous()) if self.complex_heads else values

    def _contracted(self, values: Tensor) -> Tensor:
        """The same, of norm below one."""
        if self.complex_heads and self.block == 1:
            return self._numbers(contract_pairs(values))
        return contract(self._numbers(values))

    def _by_channel(self, values: Tensor) -> Tensor:
        """(…, heads, 1, 1) -> (…, heads · rhs), for blocks of size one."""
        return self._by_rhs(values[..., 0, 0])

    def _by_rhs(self, values: Tensor) -> Tensor:
        """(…, heads) -> (…, heads · rhs)."""
        return values if self.rhs == 1 else values.repeat_interleave(self.rhs, dim=-1)


class Factor(Coefficients):
    """T = (I − U) D (I − U^H): every Hermitian positive definite tree matrix is of this form."""

    silence_is_absence = True  # it sends nothing up, and what it receives goes nowhere else
    couplings = ("coupling",)

    def _initial(self, start: Start) -> dict[str, Tensor]:
        coupling = uncontract(start.coupling * start.spread)
        weight = torch.zeros(*coupling.shape[:-1], 1, dtype=torch.float64)
        return {"coupling": coupling, "weight": weight}

    def _factors(self, values: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """a (…, heads, block, block) below one in norm, and d > 0 (…, heads, block, 1)."""
        return self._contracted(values["coupling"]), self._positive(values["weight"])

    def _positive(self, weight: Tensor) -> Tensor:
        return (WEIGHT_RANGE * torch.tanh(weight / WEIGHT_RANGE)).exp()

    def _selected_factors(self, rows: Tensor, x: Tensor | None) -> tuple[Tensor, Tensor]:
        """The same for the nodes, (batch, L, heads) each, in one pass through memory."""
        coupling, weight = (t.flatten(1) for t in full_precision(*self.tables.values()))
        a, weight = add_and_contract(self._selected(x), coupling, weight, rows)
        return self._by_rhs(a), self._by_rhs(self._positive(weight))

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
        """See `Coefficients.solve`. Blocks of size one need no pivots, and tables no expansion."""
        if self.block > 1:
            return super().solve(tree, rows, u, x, edges)
        if edges is None and self.select is not None and self.complex_heads and can_fuse(u):
            a, d = self._selected_factors(rows, x)
            return tree_solve_factored(tree, a, d, u.flatten(-3)).view(u.shape)
        in_place = self.select is None and edges is None
        values = self._cut(self._values(None if in_place else rows, x), edges)
        a, d = (self._by_channel(t) for t in self._factors(values))
        table_rows = rows if in_place else None
        return tree_solve_factored(tree, a, d, u.flatten(-3), rows=table_rows).view(u.shape)


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
    "dominant": Dominant,
    "spectral": Spectral,
    "free": Free,
}
