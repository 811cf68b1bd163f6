"""What the user handed over, checked and brought to one form.

`System` holds the matrix T as three tensors of one dtype and one batch shape: A (*batch, L, block)
and, since roots have no parent, B and C (*batch, E, block) for the E = L − (number of roots) other
nodes, which come first in the numbering. A `whole_diagonal_system` may have rows for roots there:
to cut them off, and to fill them up in the gradient, takes time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from myosotis.errors import ShapeError
from myosotis.linalg.apply import Blocks, without_roots
from myosotis.linalg.checks import check_tensors, check_tree, check_values
from myosotis.linalg.levels import join_levels, join_right_side
from myosotis.tree import Tree

__all__ = [
    "LevelBlocks",
    "System",
    "dense_system",
    "diagonal_system",
    "prepare_right_side",
    "whole_diagonal_system",
]

LevelBlocks = Tensor | Sequence[Tensor]


@dataclass(frozen=True)
class System:
    """A checked tree matrix. `sizes`: block size of each level if they were given per level."""

    tree: Tree
    blocks: Blocks
    diagonal: bool
    sizes: tuple[int, ...] | None = None

    @property
    def batch(self) -> torch.Size:
        """Shape of the leading axes of the matrix."""
        return self.blocks[0].shape[: -2 if self.diagonal else -3]

    def with_blocks(self, blocks: Blocks) -> "System":
        """The same tree and layout with other blocks."""
        return replace(self, blocks=blocks)


def dense_system(
    tree: Tree, A: LevelBlocks, B: LevelBlocks, C: LevelBlocks, *, check_finite: bool = False
) -> System:
    """Check dense blocks, uniform (…, L, d, d) or one tensor per level."""
    check_tree(tree)
    sizes = None
    if not isinstance(A, Tensor) and not isinstance(B, Tensor) and not isinstance(C, Tensor):
        A, B, C, sizes = join_levels(tree, A, B, C, check_finite)
    A, B, C = check_tensors({"A": A, "B": B, "C": C})
    d = A.shape[-1] if A.ndim else 0
    for name, block in (("A", A), ("B", B), ("C", C)):
        rows = (tree.num_nodes,) if name == "A" else (tree.num_nodes, tree.num_edges)
        if block.ndim < 3 or block.shape[-3] not in rows or block.shape[-2:] != (d, d):
            raise ShapeError(
                f"{name} has shape {tuple(block.shape)}; expected (…, {tree.num_nodes}, d, d): one "
                f"d×d block (d = {d} from A) for each of the tree's {tree.num_nodes} nodes"
            )
    blocks = without_roots(_broadcast((A, B, C), trailing=2), tree.num_edges, diagonal=False)
    if check_finite and sizes is None:
        check_values(dict(zip("ABC", blocks, strict=True)))
    return System(tree, blocks, diagonal=False, sizes=sizes)


def diagonal_system(
    tree: Tree, a: Tensor, b: Tensor, c: Tensor, *, check_finite: bool = False
) -> System:
    """Check channels-last diagonals, each broadcastable to (…, L, H)."""
    system = whole_diagonal_system(tree, a, b, c)
    blocks = without_roots(system.blocks, tree.num_edges, diagonal=True)
    if check_finite:
        check_values(dict(zip("abc", blocks, strict=True)))
    return system.with_blocks(blocks)


def whole_diagonal_system(tree: Tree, a: Tensor, b: Tensor, c: Tensor) -> System:
    """The same, b and c keeping the rows of roots that they have."""
    check_tree(tree)
    a, b, c = check_tensors({"a": a, "b": b, "c": c})
    a, b, c = (
        over_nodes(name, t, tree, roots_optional=name != "a")
        for name, t in (("a", a), ("b", b), ("c", c))
    )
    return System(tree, _broadcast((a, b, c), trailing=1), diagonal=True)


def prepare_right_side(
    system: System, u: LevelBlocks, *, check_finite: bool = False
) -> tuple[Tensor, torch.dtype]:
    """Check u against the system and expand it to the batch shape of the solution.

    Returns u (*batch, L, h) or (*batch, L, d, r), and the dtype in which the caller gave it.
    """
    tree, A = system.tree, system.blocks[0]
    if not isinstance(u, Tensor):
        u = join_right_side(tree, u, system.sizes)
    elif system.sizes is not None:
        raise ShapeError("the blocks were given per level; give u per level too, as a list")
    dtype = u.dtype
    (u,) = check_tensors({"u": u}, like=A)
    if check_finite:
        check_values({"u": u})
    if system.diagonal:
        u = over_nodes("u", u, tree)
    elif u.ndim < 3 or u.shape[-3:-1] != (tree.num_nodes, A.shape[-1]):
        raise ShapeError(
            f"u has shape {tuple(u.shape)}; expected (…, {tree.num_nodes}, {A.shape[-1]}, r): for "
            "each node a d×r block of right-hand sides (r = 1 for a single one: u.unsqueeze(-1))"
        )
    nodes = -2 if system.diagonal else -3
    try:
        batch = broadcast(system.batch, u.shape[:nodes])
        tail = list(u.shape[nodes:])
        if system.diagonal:
            (tail[-1],) = broadcast(A.shape[-1:], u.shape[-1:])
    except RuntimeError:
        raise ShapeError(
            f"u of shape {tuple(u.shape)} does not broadcast against blocks with leading axes "
            f"{tuple(system.batch)}" + (f" and {A.shape[-1]} channels" if system.diagonal else "")
        ) from None
    return _expand(u, (*batch, *tail)), dtype


def over_nodes(name: str, t: Tensor, tree: Tree, roots_optional: bool = False) -> Tensor:
    """Give a channels-last tensor its node axis in full: (…, L, h), h possibly 1."""
    t = t.reshape((1,) * (2 - t.ndim) + t.shape) if t.ndim < 2 else t
    n, L = t.shape[-2], tree.num_nodes
    if n == L:
        return t
    if roots_optional and n == tree.num_edges:
        return t
    if n != 1:
        raise ShapeError(
            f"{name} has shape {tuple(t.shape)}: {n} nodes on the last axis but one, "
            f"but the tree has {L}"
        )
    return t.expand(*t.shape[:-2], L, t.shape[-1])


def broadcast(*shapes: torch.Size) -> torch.Size:
    """`torch.broadcast_shapes`, which is slow, where there is something to broadcast."""
    some = [shape for shape in shapes if len(shape)] or [torch.Size()]
    if all(shape == some[0] for shape in some):
        return some[0]
    joint: torch.Size = torch.broadcast_shapes(*shapes)
    return joint


def _broadcast(blocks: Blocks, trailing: int) -> Blocks:
    """One batch shape and, for diagonals, channel count."""
    nodes = -1 - trailing
    try:
        batch = broadcast(*(t.shape[:nodes] for t in blocks))
        block = broadcast(*(t.shape[nodes + 1 :] for t in blocks))
    except RuntimeError:
        shapes = ", ".join(str(tuple(t.shape)) for t in blocks)
        raise ShapeError(f"A, B and C of shapes {shapes} do not broadcast") from None
    A, B, C = (_expand(t, (*batch, t.shape[nodes], *block)) for t in blocks)
    return A, B, C


def _expand(t: Tensor, shape: tuple[int, ...]) -> Tensor:
    return t if t.shape == shape else t.expand(shape)
