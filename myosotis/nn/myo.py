"""The Myo layer: mixing by the solution of a tree-structured system."""

from typing import TYPE_CHECKING, get_args

import torch
from torch import Tensor, nn

from myosotis.errors import ConfigError, ShapeError
from myosotis.linalg.solve import solve_diag_on_mesh
from myosotis.nn.index import row_index
from myosotis.nn.initial import Init, start
from myosotis.nn.mask import joined_edges, leaves_below, silence
from myosotis.nn.parametrizations import PARAMETRIZATIONS, Parametrization
from myosotis.nn.precision import full_precision
from myosotis.nn.projection import Projection
from myosotis.nn.sharing import Layout, Sharing
from myosotis.tree import Tree

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh

    from myosotis.distributed.part import Part, Renumbered

__all__ = ["Myo"]


class Myo(nn.Module):
    """Projects each node's features to heads, solves T x = u for each head, projects back.

    T couples each node with its parent and its children only, yet its inverse is dense: every node
    hears of every other in one layer, at a cost linear in the number of nodes.

    Args:
        dim: features of a node.
        tree: the tree of every example. None if each call brings its own; then give `levels` and
            `branching`.
        heads: number of independent systems; dim / 2 if not given.
        block: block size d; each head solves for d numbers per node, coupled by d×d blocks.
        rhs: right-hand sides of each head, which share its coefficients.
        sharing: nodes that share coefficients: `slot` (same level and place among siblings),
            `level`, `tied` (same place among siblings) or `node` (none do).
        parametrization: `factor`, `dominant` or `spectral`, positive definite for all values of
            their parameters; `upward`, in which a node hears only of those below it; `split`,
            where half of the heads hear of those below and half of those above; or `free`.
        init: `phase`, `scales`, `hippo` or `ssm`; see `myosotis.nn.initial.start`.
        selective: let the coefficients of a node depend on its features.
        complex_heads: complex systems, twice the numbers; real ones if False.
        hippo_blocks: equal blocks that the heads are cut into for `hippo` and `ssm`.
        levels: levels with coefficients of their own; those of the tree if None.
        branching: places among siblings with coefficients of their own; those of the tree if None.
        mesh: if given, its ranks share the nodes: x has those of this rank, which
            `myosotis.distributed.local_nodes` lists, and so has the result. Parameters are the
            same on all ranks; their gradients are averaged as in data parallel training, by
            `DistributedDataParallel` or `myosotis.distributed.average_gradients`, if every rank
            computes the whole loss. For blocks of size one and without masks.
        device: of the parameters.
        dtype: of the parameters; real also for complex heads, which are stored as pairs.

    Raises:
        ConfigError: an argument has a value that does not exist or does not fit the others.

    Example:
        >>> from myosotis import Tree
        >>> tree = Tree.quadtree(8)
        >>> layer = Myo(16, tree, heads=4)
        >>> layer(torch.randn(2, tree.num_nodes, 16)).shape
        torch.Size([2, 85, 16])
    """

    def __init__(
        self,
        dim: int,
        tree: Tree | None,
        heads: int | None = None,
        *,
        block: int = 1,
        rhs: int = 1,
        sharing: Sharing = "slot",
        parametrization: Parametrization = "factor",
        init: Init = "phase",
        selective: bool = False,
        complex_heads: bool = True,
        hippo_blocks: int = 1,
        levels: int | None = None,
        branching: int | None = None,
        mesh: "DeviceMesh | None" = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        heads = max(1, dim // 2) if heads is None else heads
        for name, size in {"dim": dim, "heads": heads, "block": block, "rhs": rhs}.items():
            if size < 1:
                raise ConfigError(f"{name} is {size}; it must be at least 1")
        if parametrization not in PARAMETRIZATIONS:
            known = ", ".join(get_args(Parametrization))
            raise ConfigError(f"parametrization is {parametrization!r}; it is one of {known}")
        if mesh is not None and block > 1:
            raise ConfigError(f"block is {block}; ranks of a mesh share systems of block 1 only")
        self.dim, self.tree, self.complex_heads, self.mesh = dim, tree, complex_heads, mesh
        self.channels = (heads, block, rhs)
        self.layout = Layout.of(tree, sharing, levels, branching)
        begin = start(
            init,
            self.layout,
            tree,
            heads,
            block=block,
            complex_heads=complex_heads,
            hippo_blocks=hippo_blocks,
            one_way=PARAMETRIZATIONS[parametrization].one_way,
        )
        self.coefficients = PARAMETRIZATIONS[parametrization](
            self.layout,
            begin,
            rhs=rhs,
            select_from=dim if selective else None,
            device=device,
            dtype=dtype,
        )
        width = heads * block * rhs * (2 if complex_heads else 1)
        self.project_in = Projection(dim, width, device=device, dtype=dtype)
        self.project_out = Projection(width, dim, device=device, dtype=dtype)
        self.skip = nn.Parameter(torch.ones(dim, device=device, dtype=dtype))
        if begin.input_scale is not None:
            self._scale_inputs(begin.input_scale)

    def forward(self, x: Tensor, mask: Tensor | None = None, tree: Tree | None = None) -> Tensor:
        """Mixes the features of the nodes.

        Args:
            x: (batch, L, dim), nodes in canonical numbering; on a mesh (batch, n, dim).
            mask: bool (batch, leaves), False for padding. Padded leaves, and inner nodes with
                nothing else below them, are cut off: real nodes get what the tree without them
                would give, the others zero.
            tree: the tree of this call, if not the layer's own. Examples with trees of their own
                are batched as a forest, `Tree.forest`.

        Returns:
            (batch, L, dim), or (batch, n, dim).
        """
        tree = self._checked_tree(x, tree)
        if mask is None:
            return self._mix(x, tree, None)
        alive = leaves_below(tree, mask) > 0  # the parent of a node that is alive is alive
        return self._mix_alive(
            x, alive, tree, None if self.coefficients.silence_is_absence else alive
        )

    def mix_alive(self, x: Tensor, alive: Tensor, tree: Tree) -> Tensor:
        """Mixes the nodes of `alive`, bool (batch, L), as if the others and their edges were gone.

        Any set of nodes may be missing; a path through a missing node is cut.
        """
        tree = self._checked_tree(x, tree)
        return self._mix_alive(x, alive, tree, joined_edges(tree, alive))

    def _mix_alive(self, x: Tensor, alive: Tensor, tree: Tree, edges: Tensor | None) -> Tensor:
        if self.mesh is not None:
            raise ConfigError(
                "on a mesh all nodes are there: give no mask, but a tree without them"
            )
        return silence(self._mix(silence(x, alive), tree, edges), alive)

    def _mix(self, x: Tensor, tree: Tree, edges: Tensor | None) -> Tensor:
        solution = self.solve(self.project_in(x), x, tree, edges)
        mixed: Tensor = self.project_out(solution)
        one_dtype = mixed.dtype == self.skip.dtype == x.dtype
        transformed = torch.is_grad_enabled() or torch._C._are_functorch_transforms_active()
        if one_dtype and not transformed:
            return mixed.addcmul_(self.skip, x)  # one array less to write
        return torch.addcmul(mixed, self.skip, x)

    def solve(self, u: Tensor, x: Tensor, tree: Tree, edges: Tensor | None = None) -> Tensor:
        """What lies between the projections: T⁻¹ u for each head.

        Args:
            u: (batch, L, width), real also for complex heads, whose numbers are pairs.
            x: (batch, L, dim), what selective coefficients depend on.
            tree: the tree.
            edges: bool (batch, L), False where a node is cut from its parent; None: nowhere.

        Returns:
            (batch, L, width).
        """
        with torch.autocast(x.device.type, enabled=False):
            (u,) = full_precision(u)
            if self.complex_heads:
                u = torch.view_as_complex(u.unflatten(-1, (-1, 2)))
            u = u.unflatten(-1, self.channels)
            rows = row_index(self.layout, tree).to(x.device)
            if self.mesh is None:
                solution = self.coefficients.solve(tree, rows, u, x, edges)
            else:
                solution = self._solve_on_mesh(tree, rows, u, x, self.mesh)
            if self.complex_heads:
                solution = torch.view_as_real(solution)
            return solution.flatten(2).to(x.dtype)

    def _solve_on_mesh(
        self, tree: Tree, rows: Tensor, u: Tensor, x: Tensor, mesh: "DeviceMesh"
    ) -> Tensor:
        """Solves for the nodes of this rank: rows (L,), u (batch, n, heads, 1, rhs), x local."""
        part = _part(tree, mesh)
        rows, own = rows.index_select(0, part.nodes.to(rows.device)), part.num_own
        a, b, c = self._local_diagonals(part.whole, rows, x)
        added = None
        if part.top is not None:
            # Every rank knows the same of the top's diagonal, but for what its own nodes add there.
            alone, _, _ = self._local_diagonals(part.top_alone, rows[own:], x[:, own:])
            added = a[..., own:, :] - alone
            a = torch.cat([a[..., :own, :], alone], dim=-2)
        solution = solve_diag_on_mesh(tree, (a, b, c), u.flatten(-3), mesh, added=added)
        return solution.view(u.shape)

    def _local_diagonals(self, forest: "Renumbered", rows: Tensor, x: Tensor) -> list[Tensor]:
        """a, b, c (…, n, heads · rhs), in the order of rows (n,) and x (batch, n, dim)."""
        order, back = (index.to(rows.device) for index in (forest.order, forest.back))
        if self.coefficients.select is not None:
            x = x.index_select(1, order)
        blocks = self.coefficients.blocks(forest.tree, rows[order], x)
        _, _, rhs = self.channels
        return [t[..., 0, 0].index_select(-2, back).repeat_interleave(rhs, dim=-1) for t in blocks]

    def _checked_tree(self, x: Tensor, tree: Tree | None) -> Tree:
        tree = self.tree if tree is None else tree
        if tree is None:
            raise ConfigError("the layer has no tree of its own: give one with each call")
        num_nodes = tree.num_nodes if self.mesh is None else _part(tree, self.mesh).num_nodes
        if x.ndim != 3 or x.shape[1:] != (num_nodes, self.dim):
            whose = f"every node of the tree, which has {tree.num_leaves} leaves"
            raise ShapeError(
                f"x has shape {tuple(x.shape)}; expected (batch, {num_nodes}, {self.dim}): "
                f"features of {whose if self.mesh is None else 'the nodes of this rank'}"
            )
        return tree

    @torch.no_grad()
    def _scale_inputs(self, scale: Tensor) -> None:
        """Multiplies what enters each head, as complex numbers, by scale (heads,)."""
        (weight,) = full_precision(self.project_in.weight)
        weight = weight.unflatten(0, (len(scale), -1, 2))
        pairs = torch.view_as_complex(weight.movedim(2, -1).contiguous())  # (heads, rhs, dim)
        scaled = torch.view_as_real(pairs * scale.to(pairs)[:, None, None])
        self.project_in.weight.copy_(scaled.movedim(-1, 2).flatten(0, 2))


def _part(tree: Tree, mesh: "DeviceMesh") -> "Part":
    from myosotis.distributed.part import part_on

    return part_on(tree, mesh)
