"""What the tests of the solver share: trees of every shape, random systems on them, oracles.

Random systems are far from symmetric but condition-controlled: A_v is a random unitary matrix
times a factor in [2, 3], and the blocks beside it in its row have norms that add up to at most 1.8.
So T is block diagonally dominant by 0.2 and its condition number is at most (3 + 1.8) / 0.2 = 24,
whatever the tree, its size and the order of elimination.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import scipy.sparse
import torch
from hypothesis import strategies as st
from torch import Tensor

from myosotis import Tree, tree_solve_diag, tree_solve_factored
from myosotis.linalg import backends

DATA = Path(os.environ.get("MYOSOTIS_DATA") or Path(__file__).resolve().parents[2] / "shared/data")
NEURONS = sorted((DATA / "neurons").glob("*.swc"))

BACKENDS = list(backends.available())
FAST_BACKENDS = [name for name in BACKENDS if name != "reference"]  # not a Python loop over nodes
REAL_DTYPES = [torch.float32, torch.float64]
COMPLEX_DTYPES = [torch.complex64, torch.complex128]
DTYPES = REAL_DTYPES + COMPLEX_DTYPES
DOUBLE_DTYPES = [torch.float64, torch.complex128]

# Relative error, in the maximum norm, of anything computed from a random system. The condition
# number of 24 becomes at most 24·d in this norm, which leaves a factor of about ten for rounding.
TOLERANCE = {dtype: 1000 * torch.finfo(dtype).eps for dtype in DTYPES}

System = tuple[Tensor, Tensor, Tensor]
LevelSystem = tuple[list[Tensor], list[Tensor], list[Tensor]]


# Trees ------------------------------------------------------------------------------------------


def attached(num_nodes: int, reach: int, seed: int = 0) -> Tree:
    """Hang each node below one of the `reach` nodes before it: the smaller, the deeper."""
    node = np.arange(1, num_nodes)
    back = np.random.default_rng(seed).integers(1, np.minimum(node, reach) + 1)
    return Tree(np.concatenate([[-1], node - back]))


def ragged(num_nodes: int, seed: int = 0) -> Tree:
    """Hang each node below any node before it, all equally likely: depth of about log L."""
    return attached(num_nodes, reach=num_nodes, seed=seed)


def deep(num_nodes: int, seed: int = 0) -> Tree:
    """Hang each node below one of the three before it: depth of about L / 2."""
    return attached(num_nodes, reach=3, seed=seed)


def caterpillar(num_nodes: int) -> Tree:
    """Make a path every node of which has one leaf beside."""
    node = np.arange(num_nodes)
    return Tree(np.where(node % 2 == 0, node - 2, node - 1).clip(-1))


def binary(num_nodes: int, seed: int = 0) -> Tree:
    """Split leaves chosen at random in two until there are `num_nodes` (rounded up to odd)."""
    random = np.random.default_rng(seed)
    choice = random.random(num_nodes // 2)
    parents, leaves = [-1], [0]
    for x in choice:
        place = int(x * len(leaves))
        parents += [leaves[place]] * 2
        leaves[place] = len(parents) - 2
        leaves.append(len(parents) - 1)
    return Tree(parents)


FAMILIES = {
    "chain": lambda n, seed: Tree.chain(n),
    "star": lambda n, seed: Tree.star(n - 1) if n > 1 else Tree.chain(1),
    "binary": lambda n, seed: Tree.over((n + 1) // 2, 2),
    "quad": lambda n, seed: Tree.quadtree(1 + seed % 7, max(1, 3 * n // 4 // (1 + seed % 7))),
    "random-binary": binary,
    "ragged": ragged,
    "deep": deep,
    "caterpillar": lambda n, seed: caterpillar(n),
}

TREES = {
    "single-node": Tree.chain(1),
    "two-nodes": Tree.chain(2),
    "chain": Tree.chain(13),
    "star": Tree.star(7),
    "perfect-binary": Tree.perfect(2, 3),
    "quad-5x3": Tree.quadtree(5, 3),
    "ragged": ragged(23),
    "deep": deep(24),
    "caterpillar": caterpillar(15),
    "forest": Tree.forest(
        [Tree.chain(1), ragged(7), Tree.chain(5), Tree.chain(1), Tree.star(3), deep(6)]
    ),
    "lone-roots": Tree.forest([Tree.chain(1)] * 3),
}

# For finite differences, which cost a solve or two per number.
SMALL_TREES = {
    "single-node": Tree.chain(1),
    "chain": Tree.chain(6),
    "star": Tree.star(3),
    "perfect-binary": Tree.perfect(2, 2),
    "ragged": Tree([-1, 0, 0, 1, 1, 3, 5]),
    "caterpillar": caterpillar(7),
    "forest": Tree.forest([Tree.chain(1), Tree.chain(4), Tree.star(2)]),
}


@st.composite
def trees(draw: st.DrawFn, max_nodes: int = 300) -> Tree:
    """Draw a tree of any family, or a forest of up to four of them, single nodes included."""
    num_members = draw(st.sampled_from([1, 1, 1, 2, 4]))
    members = []
    for _ in range(num_members):
        family = draw(st.sampled_from(sorted(FAMILIES)))
        num_nodes = draw(st.integers(1, max_nodes // num_members))
        members.append(FAMILIES[family](num_nodes, draw(st.integers(0, 2**20))))
    return members[0] if num_members == 1 else Tree.forest(members)


# Random systems ---------------------------------------------------------------------------------


def random_blocks(shape: Sequence[int], norm: Tensor, generator: torch.Generator) -> Tensor:
    """Dense blocks of random direction; `norm` (L, 1, 1) gives dtype and Frobenius norms."""
    blocks = torch.randn(*shape, dtype=norm.dtype, generator=generator)
    return norm * blocks / blocks.abs().square().sum((-2, -1), keepdim=True).sqrt()


def random_system(
    tree: Tree, block: int, dtype: torch.dtype, seed: int = 0, batch: tuple[int, ...] = ()
) -> System:
    """A, B, C (*batch, L, d, d); see the top of this file for how they are conditioned."""
    generator = torch.Generator().manual_seed(seed)
    shape = (*batch, tree.num_nodes, block, block)
    Q = torch.linalg.qr(torch.randn(shape, dtype=dtype, generator=generator)).Q
    sign = torch.randn(*shape[:-2], 1, 1, dtype=dtype, generator=generator).sgn()
    stretch = 2 + torch.rand(*shape[:-2], 1, 1, dtype=dtype.to_real(), generator=generator)
    norm = torch.full((tree.num_nodes, 1, 1), 0.9, dtype=dtype)
    siblings = torch.from_numpy(tree.num_children[tree.parent].clip(1)).view(-1, 1, 1)
    B = random_blocks(shape, norm, generator)
    C = random_blocks(shape, norm / siblings, generator)
    return stretch * sign * Q, B, C


def random_diagonal_system(
    tree: Tree, channels: int, dtype: torch.dtype, seed: int = 0, batch: tuple[int, ...] = ()
) -> System:
    """a, b, c (*batch, L, H): a system of 1×1 blocks per channel."""
    blocks = random_system(tree, 1, dtype, seed, (channels, *batch))
    a, b, c = (t[..., 0, 0].movedim(0, -1).contiguous() for t in blocks)
    return a, b, c


def random_right_side(shape: Sequence[int], dtype: torch.dtype, seed: int = 1) -> Tensor:
    return torch.randn(tuple(shape), dtype=dtype, generator=torch.Generator().manual_seed(seed))


def cut_to_levels(
    tree: Tree, t: Tensor, rows: Sequence[int], columns: Sequence[int]
) -> list[Tensor]:
    """One tensor (…, n_l, rows_l, columns_l) per level from (…, L, d, d)."""
    return [t[..., level, :r, :c] for level, r, c in zip(tree.levels, rows, columns, strict=True)]


def random_level_system(
    tree: Tree,
    sizes: Sequence[int],
    dtype: torch.dtype,
    seed: int = 0,
    batch: tuple[int, ...] = (),
) -> LevelSystem:
    """One A, B and C per level, of sizes `sizes`; those of the last level, all roots, are empty."""
    _, B, C = random_system(tree, max(sizes), dtype, seed, batch)
    above = [*sizes[1:], 0]
    A = {d: random_system(tree, d, dtype, seed + d, batch)[0] for d in set(sizes)}
    return (
        [A[d][..., level, :, :] for d, level in zip(sizes, tree.levels, strict=True)],
        cut_to_levels(tree, B, sizes, above),
        cut_to_levels(tree, C, above, sizes),
    )


def level_sizes(tree: Tree) -> list[int]:
    """Block sizes that go up and down from level to level, for `random_level_system`."""
    return [1 + (2 * level + 1) % 4 for level in range(tree.num_levels)]


def random_level_right_side(
    tree: Tree, sizes: Sequence[int], columns: int, dtype: torch.dtype, batch: tuple[int, ...] = ()
) -> list[Tensor]:
    full = random_right_side((*batch, tree.num_nodes, max(sizes), columns), dtype)
    return cut_to_levels(tree, full, sizes, [columns] * len(sizes))


# Oracles ----------------------------------------------------------------------------------------


def by_node(blocks: Tensor | Sequence[Tensor]) -> list[Tensor]:
    """The block (…, rows, columns) of each node, from uniform blocks or blocks per level."""
    tensors = [blocks] if isinstance(blocks, Tensor) else blocks
    return [block for t in tensors for block in t.unbind(-3)]


def dense_matrix(
    tree: Tree,
    A: Tensor | Sequence[Tensor],
    B: Tensor | Sequence[Tensor],
    C: Tensor | Sequence[Tensor],
    order: Sequence[int] | None = None,
) -> Tensor:
    """T (…, n, n), block by block, nodes in canonical order or as `order` lists them."""
    diagonal, down, up = by_node(A), by_node(B), by_node(C)
    order = range(tree.num_nodes) if order is None else order
    ends = np.cumsum([diagonal[v].shape[-1] for v in order])
    place = {v: slice(end - diagonal[v].shape[-1], end) for v, end in zip(order, ends, strict=True)}
    T = diagonal[0].new_zeros(*diagonal[0].shape[:-2], ends[-1], ends[-1])
    for v, p in enumerate(tree.parent.tolist()):
        T[..., place[v], place[v]] = diagonal[v]
        if p >= 0:
            T[..., place[v], place[p]] = down[v]
            T[..., place[p], place[v]] = up[v]
    return T


def dense_diagonal_matrix(tree: Tree, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """T (…, H, L, L), one matrix per channel, from a, b, c (…, L, H)."""
    A, B, C = (t.movedim(-1, 0)[..., None, None] for t in (a, b, c))
    return dense_matrix(tree, A, B, C).movedim(0, -3)


def stack(x: Tensor | Sequence[Tensor]) -> Tensor:
    """One vector (…, n, r) from x (…, L, d, r) or from one tensor per level."""
    return torch.cat(by_node(x), dim=-2)


def padded(levels: Sequence[Tensor], size: int) -> Tensor:
    """(L, size, size) from one tensor per level, zeros around the blocks."""
    square = [
        torch.nn.functional.pad(t, (0, size - t.shape[-1], 0, size - t.shape[-2])) for t in levels
    ]
    return torch.cat(square)


def sparse_matrix(
    tree: Tree,
    A: Tensor | Sequence[Tensor],
    B: Tensor | Sequence[Tensor],
    C: Tensor | Sequence[Tensor],
) -> scipy.sparse.csc_array:
    """T in double precision, canonical order, from blocks without batch axes."""
    if isinstance(A, Tensor):
        sizes = np.full(tree.num_nodes, A.shape[-1])
    else:
        sizes = np.repeat([t.shape[-1] for t in A], tree.level_sizes)
        A, B, C = (padded(levels, sizes.max()) for levels in (A, B, C))
    L, d = A.shape[:2]
    first = np.cumsum(sizes) - sizes
    nodes, edges = np.arange(L), np.arange(tree.num_edges)
    parents = tree.parent[: tree.num_edges]
    parts = [
        (nodes, nodes, A),
        (edges, parents, B[: tree.num_edges]),
        (parents, edges, C[: tree.num_edges]),
    ]
    values, rows, columns = [], [], []
    for row_node, column_node, blocks in parts:
        i, j = np.ogrid[:d, :d]
        inside = (i < sizes[row_node, None, None]) & (j < sizes[column_node, None, None])
        values.append(blocks.numpy()[inside])
        rows.append(np.broadcast_to(first[row_node, None, None] + i, inside.shape)[inside])
        columns.append(np.broadcast_to(first[column_node, None, None] + j, inside.shape)[inside])
    values, rows, columns = map(np.concatenate, (values, rows, columns))
    values = values.astype(np.result_type(values.dtype, np.float64))
    n = int(sizes.sum())
    return scipy.sparse.csc_array((values, (rows, columns)), shape=(n, n))


def relative_error(actual: Tensor, expected: Tensor) -> float:
    """Largest deviation, as a part of the largest value; compared in double precision."""
    assert actual.shape == expected.shape, f"{actual.shape} instead of {expected.shape}"
    if not expected.numel():
        return 0.0
    double = torch.complex128 if expected.is_complex() else torch.float64
    actual, expected = actual.detach().to(double), expected.detach().to(double)
    scale = expected.abs().max().clamp(min=torch.finfo(torch.float64).tiny)
    return float((actual - expected).abs().max() / scale)


def assert_close(
    actual: Tensor | Sequence[Tensor], expected: Tensor | Sequence[Tensor], dtype: torch.dtype
) -> None:
    """Equal up to the rounding that `dtype` allows, tensor by tensor."""
    if isinstance(actual, Tensor) and isinstance(expected, Tensor):
        assert relative_error(actual, expected) < TOLERANCE[dtype]
        return
    for a, e in zip(actual, expected, strict=True):
        assert_close(a, e, dtype)


def batched_and_single_gradients(
    y: Tensor, wanted: list[Tensor]
) -> Iterator[tuple[list[Tensor], list[Tensor]]]:
    """For each entry of y (n,) its gradients: computed with the others in one batch, and alone."""
    each = torch.eye(len(y))
    together = torch.autograd.grad(y, wanted, each, is_grads_batched=True, retain_graph=True)
    for i in range(len(y)):
        alone = torch.autograd.grad(y[i], wanted, retain_graph=True)
        yield [t[i] for t in together], list(alone)


def diagonal_and_factored(tree: Tree, system: System, u: Tensor, backend: str) -> list[Tensor]:
    """Solutions and all gradients of a diagonal system and of one of the definite family."""
    a, d = 0.4 * system[1], system[0].abs()
    found = []
    for solve, tensors in ((tree_solve_diag, (*system, u)), (tree_solve_factored, (a, d, u))):
        arguments = [t.detach().clone().requires_grad_() for t in tensors]
        x = solve(tree, *arguments, backend=backend)
        found += [x.detach(), *torch.autograd.grad(x, arguments, u.flip(0))]
    return found
