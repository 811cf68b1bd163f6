"""Tables of unconstrained real numbers, and the tree systems they stand for."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from myosotis.errors import ShapeError
from myosotis.linalg import tree_solve, tree_solve_diag
from myosotis.nn.contraction import contract, contract_pairs
from myosotis.nn.initial import Start
from myosotis.nn.precision import full_precision
from myosotis.nn.sharing import Layout
from myosotis.tree import Tree

__all__ = ["Coefficients"]


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

    one_way: ClassVar[bool] = False
    """Whether the messages of a head go up the tree only, or down only."""

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
        return self._by_rhs(values.flatten(-3))

    def _by_rhs(self, values: Tensor) -> Tensor:
        """(…, heads) -> (…, heads · rhs)."""
        return values if self.rhs == 1 else values.repeat_interleave(self.rhs, dim=-1)
