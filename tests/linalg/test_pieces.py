"""How work is dealt out: nothing twice, nothing forgotten, and nobody waits for a neighbour."""

import numpy as np
import pytest
import torch

from myosotis import (
    SingularBlockError,
    Tree,
    TreeMatrix,
    tree_solve_diag,
)
from myosotis.linalg.kernels import arguments
from myosotis.linalg.kernels.pieces import by_sum, families, fixed_systems, subtrees
from myosotis.linalg.kernels.sum_rows import sum_rows
from tests.cases import (
    assert_close,
    binary,
    diagonal_and_factored,
    ragged,
    random_diagonal_system,
    random_right_side,
)

BROAD = {
    "ragged": ragged(5000),
    "quad": Tree.quadtree(40, 33),
    "binary": binary(4000),
    "lone-roots": Tree.forest([Tree.chain(1)] * 300 + [ragged(40)] * 20),
    "broom": Tree.forest([Tree.star(300), Tree.chain(9), Tree.perfect(2, 9)]),
}
every_broad_tree = pytest.mark.parametrize("tree", BROAD.values(), ids=BROAD.keys())


@every_broad_tree
@pytest.mark.parametrize("width", [64, 2048, 1 << 22])
@pytest.mark.parametrize("roots", [False, True], ids=["without roots", "with roots"])
def test_subtrees_hold_every_node_once_and_whole_families(
    tree: Tree, width: int, roots: bool
) -> None:
    parts = subtrees(tree, width, roots)
    assert parts is not None
    piece_of = np.full(tree.num_nodes, -1)
    seen = 0
    for number, (first, last) in enumerate([*parts.pieces, *parts.top]):
        nodes = [v for low, high in parts.segments[first:last] for v in range(low, high)]
        assert nodes == sorted(nodes)  # children before their parents
        piece_of[nodes] = number
        seen += len(nodes)
    assert seen == tree.num_nodes
    assert (piece_of >= 0).all()
    top = len(parts.pieces)
    below, above = piece_of[: tree.num_edges], piece_of[tree.parent[: tree.num_edges]]
    assert ((above == below) | (above == top)).all()
    for v in range(tree.num_nodes):
        children = {*piece_of[list(tree.children(v))]}
        if roots:  # nodes gather from their children
            assert piece_of[v] == top or children <= {piece_of[v]}
        else:  # children send to the same sums
            assert len(children) <= 1


@pytest.mark.parametrize(
    "tree", [Tree.chain(2000), Tree.star(2000), Tree.chain(1), Tree.over(100, 2)], ids=str
)
def test_trees_without_broad_levels_are_not_cut(tree: Tree) -> None:
    assert subtrees(tree, 64, roots=True) is None


@every_broad_tree
@pytest.mark.parametrize("width", [64, 1 << 16])
def test_no_sums_lie_where_others_are_still_needed(tree: Tree, width: int) -> None:
    parts, sums = subtrees(tree, width, roots=False), sum_rows(tree, width)
    assert parts is not None
    inner = tree.num_children > 0
    holder: dict[int, int] = {}  # by row of those that all threads have
    for number, (first, last) in enumerate([*parts.pieces, *parts.top]):
        above, rows = number == len(parts.pieces), dict[int, int]()
        for v in (v for low, high in parts.segments[first:last] for v in range(low, high)):
            assert (v >= sums.top) == above
            if inner[v]:  # its sums are whole, and it is done with them
                assert (holder if above else rows).pop(int(sums.row[v])) == v
            p = int(tree.parent[v])
            if p >= 0:
                held = holder if p >= sums.top else rows
                row = int(sums.row[p])
                assert held.setdefault(row, p) == p
                assert row < (sums.common if p >= sums.top else sums.own)
        assert not rows
    assert not holder
    assert sums.own <= max(1, tree.num_nodes / 4)


@pytest.mark.parametrize("name", [name for name in BROAD if name != "broom"])
def test_families_are_small_and_hold_every_child_below_the_crown(name: str) -> None:
    tree = BROAD[name]
    parts = families(tree, 512)
    assert parts is not None
    piece_of = np.full(tree.num_nodes, -1)
    for number, (first, last) in enumerate([*parts.pieces, *parts.top]):
        for low, high in parts.segments[first:last]:
            assert (piece_of[low:high] == -1).all()
            piece_of[low:high] = number
    assert (piece_of >= 0).all()
    top = len(parts.pieces)
    assert (piece_of[: parts.crown] < top).all()
    below = tree.parent[: parts.crown]
    assert np.array_equal(piece_of[below], piece_of[: parts.crown])
    assert np.bincount(piece_of)[:top].max() <= tree.num_nodes / 8
    assert (piece_of == top).sum() <= tree.num_nodes / 4


@pytest.mark.parametrize(
    "tree",
    [
        Tree.chain(2000),
        Tree.star(2000),
        Tree.chain(1),
        Tree.forest([Tree.chain(1)] * 500),
        Tree.forest([Tree.chain(1)] * 500 + [Tree.chain(900)]),
        BROAD["broom"],
    ],
    ids=["chain", "star", "single node", "lone roots", "one large part", "broom"],
)
def test_trees_that_do_not_consist_of_small_families(tree: Tree) -> None:
    assert families(tree, 1 << 11) is None
    assert families(tree, 1 << 20) is None


def test_trees_that_fit_the_caches_are_shared_too() -> None:
    tree = Tree.quadtree(32)
    parts = subtrees(tree, 512, roots=True)
    assert parts is not None
    lengths = parts.segments[:, 1] - parts.segments[:, 0]
    shares = [int(lengths[first:last].sum()) for first, last in parts.pieces]
    assert max(shares) <= tree.num_nodes / 8


@every_broad_tree
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128], ids=str)
@pytest.mark.parametrize("large", [1, 1 << 30], ids=["past the caches", "in the caches"])
@pytest.mark.parametrize("channels", [64, 70], ids=["aligned", "not aligned"])
def test_one_system_on_a_broad_tree(
    tree: Tree, dtype: torch.dtype, large: int, channels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arguments, "_LARGE", large)
    system = random_diagonal_system(tree, channels, dtype)
    u = random_right_side((tree.num_nodes, channels), dtype)
    assert u.numel() > 1 << 16  # enough for threads to share
    x = tree_solve_diag(tree, *system, u)
    assert_close(TreeMatrix.diag(tree, *system) @ x, u, dtype)
    assert torch.equal(x, TreeMatrix.diag(tree, *system).factorize().solve(u))


@every_broad_tree
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128], ids=str)
def test_gradients_of_one_system_on_a_broad_tree(tree: Tree, dtype: torch.dtype) -> None:
    system = random_diagonal_system(tree, 70, dtype)
    u = random_right_side((tree.num_nodes, 70), dtype)
    found, expected = (
        diagonal_and_factored(tree, system, u, backend) for backend in ("cpu", "torch")
    )
    assert_close(found, expected, dtype)


@every_broad_tree
@pytest.mark.parametrize("node", [0, 1000, -1])
def test_a_zero_pivot_on_a_broad_tree_is_named(tree: Tree, node: int) -> None:
    a, b, c = random_diagonal_system(tree, 70, torch.float64)
    node %= tree.num_nodes
    b[:, 3] = 0  # so that the pivots of this channel are the entries of a
    a[node, 3] = 0
    u = random_right_side((tree.num_nodes, 70), torch.float64)
    for needs_factor in (False, True):
        with pytest.raises(SingularBlockError, match="channel 3") as caught:
            tree_solve_diag(tree, a, b, c, u.requires_grad_(needs_factor))
        assert caught.value.node == node


@pytest.mark.parametrize("systems", [1, 2, 7, 16, 33, 1000])
def test_sums_cover_every_system_once(systems: int) -> None:
    pieces = fixed_systems(systems, 5)
    assert np.array_equal(np.concatenate([np.arange(p[2], p[3]) for p in pieces]), range(systems))
    places = np.zeros((systems, 40_000), dtype=int)
    for number, (first, last, low, high, table) in enumerate(by_sum(systems, 40_000)):
        places[first:last, low:high] += 1
        assert table == number
    assert (places == 1).all()
