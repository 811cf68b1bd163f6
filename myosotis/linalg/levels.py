"""Blocks whose size changes from level to level, given as one tensor per level.

They are brought to one size d = max d_l by adding unknowns that are coupled to nothing and whose
equation is 1·x = 0. That leaves the solution, the determinant and, inside the true blocks, the
inverse unchanged to the last bit, so that everything else knows only uniform blocks.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from myosotis.errors import ShapeError
from myosotis.linalg.checks import check_tensors, check_values
from myosotis.linalg.plan import level_sizes
from myosotis.tree import Tree

__all__ = ["join_levels", "join_right_side", "split_levels"]


def join_levels(
    tree: Tree,
    A: Sequence[Tensor],
    B: Sequence[Tensor],
    C: Sequence[Tensor],
    check_finite: bool,
) -> tuple[Tensor, Tensor, Tensor, tuple[int, ...]]:
    """Uniform A (…, L, d, d), B and C (…, E, d, d), and the true size of each level.

    A[l] (…, n_l, d_l, d_l)   B[l] (…, n_l, d_l, d_{l+1})   C[l] (…, n_l, d_{l+1}, d_l)
    """
    counts = level_sizes(tree)
    depth = len(counts)
    for name, given in (("A", A), ("B", B), ("C", C)):
        if len(given) != depth and (name == "A" or len(given) != depth - 1):
            raise ShapeError(f"{name} has {len(given)} tensors; expected one per level ({depth})")
    used = {"A": A, "B": B[: depth - 1], "C": C[: depth - 1]}
    named = {f"{name}[{lv}]": t for name, ts in used.items() for lv, t in enumerate(ts)}
    check_tensors(named)
    if check_finite:
        check_values(named)
    sizes = tuple(t.shape[-1] if t.ndim else 0 for t in A)
    widest = max(sizes)
    above = (*sizes[1:], 0)
    joined: dict[str, list[Tensor]] = {"A": [], "B": [], "C": []}
    for level, (n, d, d_up) in enumerate(zip(counts, sizes, above, strict=True)):
        true_shapes = {"A": (d, d), "B": (d, d_up), "C": (d_up, d)}
        for name, given in (("A", A), ("B", B), ("C", C)):
            if name == "A" or level < depth - 1:
                block = _checked(name, given[level], level, (n, *true_shapes[name]))
                joined[name].append(_padded(block, widest, widest))
    joined["A"] = [_with_unit_padding(t, d) for t, d in zip(joined["A"], sizes, strict=True)]
    no_edges = [A[0].new_zeros(0, widest, widest)]
    a, b, c = (_concatenate(joined[name] or no_edges) for name in ("A", "B", "C"))
    return a, b, c, sizes


def join_right_side(tree: Tree, u: Sequence[Tensor], sizes: tuple[int, ...] | None) -> Tensor:
    """Uniform u (…, L, d, r) from u[l] (…, n_l, d_l, r)."""
    if sizes is None:
        raise ShapeError("u is given per level but the blocks are not; give both in one way")
    counts = level_sizes(tree)
    if len(u) != len(counts):
        raise ShapeError(f"u has {len(u)} tensors; expected one per level ({len(counts)})")
    check_tensors({f"u[{level}]": t for level, t in enumerate(u)})
    columns = u[0].shape[-1] if u[0].ndim else 0
    shapes = zip(u, counts, sizes, strict=True)
    checked = [_checked("u", t, lv, (n, d, columns)) for lv, (t, n, d) in enumerate(shapes)]
    return _concatenate([_padded(t, max(sizes), columns) for t in checked])


def split_levels(
    tree: Tree, x: Tensor, rows: Sequence[int], columns: Sequence[int]
) -> list[Tensor]:
    """One tensor (…, n_l, rows_l, columns_l) per level from the uniform x (…, L, d, ·)."""
    parts = x.split(level_sizes(tree)[: len(rows)], dim=-3)
    return [t[..., :r, :c] for t, r, c in zip(parts, rows, columns, strict=True)]


def _checked(name: str, t: Tensor, level: int, shape: tuple[int, ...]) -> Tensor:
    if t.ndim < 3 or t.shape[-3:] != shape:
        got, wanted = tuple(t.shape), ", ".join(map(str, shape))
        raise ShapeError(f"{name}[{level}] (level {level + 1}): {got}; expected (…, {wanted})")
    return t


def _padded(t: Tensor, rows: int, columns: int) -> Tensor:
    return torch.nn.functional.pad(t, (0, columns - t.shape[-1], 0, rows - t.shape[-2]))


def _with_unit_padding(t: Tensor, size: int) -> Tensor:
    added = torch.arange(t.shape[-1], device=t.device) >= size
    return t + torch.diag(added.to(t.dtype))


def _concatenate(levels: list[Tensor]) -> Tensor:
    batch = torch.broadcast_shapes(*(t.shape[:-3] for t in levels))
    return torch.cat([t.expand(*batch, *t.shape[-3:]) for t in levels], dim=-3)
