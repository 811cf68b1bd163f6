"""Softmax attention, dense and sparse, against the whole matrix of scores."""

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from myosotis import Tree
from myosotis.errors import ConfigError, ShapeError
from myosotis.nn.mixers import (
    Attention,
    DilatedAttention,
    LinearAttention,
    TreeAttention,
    WindowAttention,
    WindowGlobalAttention,
)
from tests.cases import SMALL_TREES, TREES
from tests.nn.mixers.cases import DOUBLE, assert_gradients, dense_softmax, end_mask

# Mixer, and whether token i sees token j.
SPARSE = {
    "full": (Attention(6, 2, dtype=DOUBLE), lambda i, j: True),
    "causal": (Attention(6, 2, causal=True, dtype=DOUBLE), lambda i, j: j <= i),
    "window-0": (WindowAttention(6, 2, radius=0, dtype=DOUBLE), lambda i, j: i == j),
    "window-2": (WindowAttention(6, 2, radius=2, dtype=DOUBLE), lambda i, j: abs(i - j) <= 2),
    "window-20": (WindowAttention(6, 3, radius=20, dtype=DOUBLE), lambda i, j: abs(i - j) <= 20),
    "global-1": (
        WindowGlobalAttention(6, 2, radius=2, dtype=DOUBLE),
        lambda i, j: abs(i - j) <= 2 or i == 0 or j == 0,
    ),
    "global-9": (
        WindowGlobalAttention(6, 1, radius=3, global_tokens=9, dtype=DOUBLE),
        lambda i, j: abs(i - j) <= 3 or min(i, j) < 9,
    ),
    "dilated-3-1": (
        DilatedAttention(6, 2, stride=3, width=1, dtype=DOUBLE),
        lambda i, j: abs(i - j) in (0, 3),
    ),
    "dilated-2-4": (
        DilatedAttention(6, 2, stride=2, width=4, dtype=DOUBLE),
        lambda i, j: abs(i - j) in (0, 2, 4, 6, 8),
    ),
}
every_pattern = pytest.mark.parametrize("case", SPARSE)


def written_out(case: str, n: int) -> Tensor:
    _, sees = SPARSE[case]
    return torch.tensor([[bool(sees(i, j)) for j in range(n)] for i in range(n)])


@every_pattern
@pytest.mark.parametrize("n", [1, 7, 50])
def test_values_and_pattern(case: str, n: int) -> None:
    mixer, _ = SPARSE[case]
    seen = written_out(case, n)
    assert torch.equal(mixer.pattern(n), seen)
    x = torch.randn(2, n, 6, dtype=DOUBLE)
    with torch.no_grad():
        torch.testing.assert_close(mixer(x), dense_softmax(mixer, x, seen))


@every_pattern
def test_values_with_masks_anywhere(case: str) -> None:
    mixer, _ = SPARSE[case]
    x = torch.randn(4, 40, 6, dtype=DOUBLE)
    mask = torch.rand(4, 40) < 0.6
    mask[1] = end_mask([11], 40)
    mask[2] = False
    with torch.no_grad():
        y = mixer(x, mask)
        for example, real, actual in zip(x, mask, y, strict=True):
            seen = (written_out(case, 40) & real)[real]
            rows = torch.eye(40, dtype=torch.bool)
            rows[real] = seen
            expected = dense_softmax(mixer, example.unsqueeze(0), rows)[0]
            torch.testing.assert_close(actual, expected * real.unsqueeze(-1))


@every_pattern
def test_gradients(case: str) -> None:
    mixer = SPARSE[case][0]
    mask = end_mask([5, 0], 5)
    assert_gradients(mixer, torch.randn(2, 5, 6, dtype=DOUBLE), mask)


def edges(tree: Tree) -> Tensor:
    seen = torch.eye(tree.num_nodes, dtype=torch.bool)
    for v, p in enumerate(tree.parent.tolist()):
        if p >= 0:
            seen[v, p] = seen[p, v] = True
    return seen


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES.keys())
def test_tree_values_and_pattern(tree: Tree) -> None:
    mixer = TreeAttention(6, tree, 2, dtype=DOUBLE)
    assert torch.equal(mixer.pattern(), edges(tree))
    x = 5 * torch.randn(2, tree.num_nodes, 6, dtype=DOUBLE)
    with torch.no_grad():
        torch.testing.assert_close(mixer(x), dense_softmax(mixer, x, edges(tree)))
        elsewhere = TreeAttention(6, None, 2, dtype=DOUBLE)
        elsewhere.load_state_dict(mixer.state_dict())
        torch.testing.assert_close(elsewhere(x, tree=tree), mixer(x))


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES.keys())
def test_tree_without_its_masked_leaves(tree: Tree) -> None:
    """What is left of the tree, as a tree of its own, gives the same."""
    mixer = TreeAttention(6, tree, 2, dtype=DOUBLE)
    x = torch.randn(1, tree.num_nodes, 6, dtype=DOUBLE)
    mask = torch.rand(1, tree.num_leaves) < 0.5
    mask[0, 0] = True
    alive = {v for leaf in tree.leaves[mask[0].numpy()] for v in ancestors(tree, int(leaf))}
    kept = sorted(alive)
    pruned = Tree([kept.index(p) if (p := tree.parent[v]) >= 0 else -1 for v in kept])
    nodes = torch.tensor(kept)[pruned.input_index.tolist()]
    with torch.no_grad():
        y = mixer(x, mask)
        torch.testing.assert_close(y[:, nodes], mixer(x[:, nodes], tree=pruned))
    gone = sorted(set(range(tree.num_nodes)) - alive)
    assert not y[:, gone].any()


def ancestors(tree: Tree, node: int) -> list[int]:
    found = [node]
    while (node := int(tree.parent[node])) >= 0:
        found.append(node)
    return found


@pytest.mark.parametrize("name", ["single-node", "star", "forest"])
def test_tree_gradients(name: str) -> None:
    tree = SMALL_TREES[name]
    mixer = TreeAttention(4, tree, 2, dtype=DOUBLE)
    mask = torch.ones(2, tree.num_leaves, dtype=torch.bool)
    mask[1, 0] = False
    assert_gradients(mixer, torch.randn(2, tree.num_nodes, 4, dtype=DOUBLE), mask)


def test_scores_of_any_size_stay_finite() -> None:
    tree = Tree.star(5)
    for mixer in (TreeAttention(4, tree), WindowAttention(4), LinearAttention(4, causal=True)):
        x = (1e4 * torch.randn(1, 6, 4)).requires_grad_()
        y = mixer(x)
        y.sum().backward()
        assert y.isfinite().all()
        assert x.grad.isfinite().all()


class Largest(TorchDispatchMode):
    """Records the number of elements of the largest tensor that any operation makes."""

    elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for t in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(t, Tensor):
                self.elements = max(self.elements, t.numel())
        return result


def largest_tensor(mixer: nn.Module, n: int) -> int:
    x = torch.randn(1, n, 8, requires_grad=True)
    with Largest() as mode:
        mixer(x).sum().backward()
    return mode.elements


LINEAR = {
    "window": WindowAttention(8, 2, radius=8),
    "window-global": WindowGlobalAttention(8, 2, radius=8, global_tokens=2),
    "dilated": DilatedAttention(8, 2, stride=3, width=8),
    "linear": LinearAttention(8, 2),
    "linear-causal": LinearAttention(8, 2, causal=True),
}


@pytest.mark.parametrize("mixer", LINEAR.values(), ids=LINEAR.keys())
def test_memory_is_linear_in_the_length(mixer: nn.Module) -> None:
    small, large = largest_tensor(mixer, 1024), largest_tensor(mixer, 16_384)
    assert large <= 1.05 * 16 * small
    assert large < 16_384 * 200


@pytest.mark.parametrize("tree", [Tree.star(16_383), Tree.quadtree(110)], ids=["star", "quad"])
def test_memory_is_linear_in_the_nodes(tree: Tree) -> None:
    mixer = TreeAttention(8, tree, 2)
    assert largest_tensor(mixer, tree.num_nodes) <= 3 * 8 * tree.num_nodes


def test_heads_must_divide_the_features() -> None:
    with pytest.raises(ConfigError, match="3 heads cannot share 8 features"):
        WindowAttention(8, 3)


@pytest.mark.parametrize(("dim", "heads"), [(8, 1), (64, 2), (96, 3), (100, 2), (127, 1)])
def test_default_heads_divide_the_features(dim: int, heads: int) -> None:
    assert Attention(dim).heads == heads


def test_tree_mistakes() -> None:
    mixer = TreeAttention(4, Tree.star(3))
    with pytest.raises(ShapeError, match=r"expected \(batch, 4, 4\).*3 leaves"):
        mixer(torch.ones(2, 3, 4))
    with pytest.raises(ShapeError, match=r"expected bool \(batch, 3\)"):
        mixer(torch.ones(2, 4, 4), torch.ones(2, 4, dtype=torch.bool))
    with pytest.raises(ConfigError, match="no tree of its own"):
        TreeAttention(4, None)(torch.ones(2, 4, 4))
