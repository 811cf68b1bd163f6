"""Sweeps against dense algebra, and against the layer itself."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from myosotis import Tree, TreeMatrix
from myosotis.demo.sweeps import Sweeps, as_image, eliminate, layer_sweeps
from myosotis.errors import ConfigError
from myosotis.nn import Myo
from tests.cases import TREES

DIM, HEADS = 5, 3


@pytest.mark.parametrize("name", TREES)
def test_both_sweeps_of_the_positive_definite_family(name: str) -> None:
    """T = (I − U) D (I − U^H): y = (I − U)⁻¹ u and x = T⁻¹ u, by dense matrices."""
    tree, random = TREES[name], np.random.default_rng(0)

    def complex_normal() -> NDArray[np.complex128]:
        return random.standard_normal(tree.num_nodes) + 1j * random.standard_normal(tree.num_nodes)

    a, u = 0.3 * complex_normal(), complex_normal()
    d = np.exp(random.standard_normal(tree.num_nodes))
    child, parent = np.arange(tree.num_edges), tree.parent[: tree.num_edges]
    U = np.zeros((tree.num_nodes, tree.num_nodes), dtype=complex)
    U[parent, child] = a[child]
    up = np.eye(tree.num_nodes) - U
    T = up @ np.diag(d) @ up.conj().T
    below, above = np.zeros_like(u), np.zeros_like(u)
    below[child], above[child] = T[child, parent], T[parent, child]
    y, x = eliminate(tree, np.diag(T), below, above, u)
    assert np.allclose(y, np.linalg.solve(up, u), rtol=1e-10, atol=1e-12)
    assert np.allclose(x, np.linalg.solve(T, u), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    "parametrization", ["factor", "upward", "split", "dominant", "spectral", "free"]
)
@pytest.mark.parametrize("options", [{}, {"complex_heads": False}, {"selective": True}, {"rhs": 2}])
def test_solutions_are_those_of_the_layer(parametrization: str, options: dict[str, object]) -> None:
    tree = Tree.quadtree(4)
    layer = Myo(DIM, tree, HEADS, parametrization=parametrization, dtype=torch.float64, **options)
    if layer.coefficients.select is not None:
        torch.nn.init.normal_(layer.coefficients.select.weight, std=0.2)
    features = torch.randn(tree.num_nodes, DIM, dtype=torch.float64)
    with torch.no_grad():
        u = layer.project_in(features)
        solved = layer.solve(u[None], features[None], tree)[0]
    for head in range(HEADS):
        found = layer_sweeps(layer, tree, features, head)
        expected = _of_head(layer, solved, head)
        assert np.allclose(found.solutions, expected, rtol=1e-10, atol=1e-12)
        own = _of_head(layer, u, head)[tree.leaves]  # a leaf has heard of nobody on the way up
        assert np.allclose(found.messages[tree.leaves], own, rtol=1e-12)


def _of_head(layer: Myo, values: torch.Tensor, head: int) -> NDArray[np.inexact]:
    """First right-hand side of a head, (L,), out of (L, width)."""
    if layer.complex_heads:
        values = torch.view_as_complex(values.unflatten(-1, (-1, 2)))
    numbers: NDArray[np.inexact] = values.unflatten(-1, layer.channels)[:, head, 0, 0].numpy()
    return numbers


def test_messages_know_nothing_from_outside_their_subtree() -> None:
    tree = Tree.quadtree(4)
    layer = Myo(DIM, tree, HEADS)
    features = torch.randn(tree.num_nodes, DIM)
    changed = features.clone()
    changed[tree.leaves[-1]] += 1
    before, after = (layer_sweeps(layer, tree, x, 0) for x in (features, changed))
    differs = before.messages != after.messages
    path = {int(tree.leaves[-1])}
    while (up := int(tree.parent[max(path)])) >= 0:
        path.add(up)
    assert set(np.flatnonzero(differs).tolist()) == path
    assert (before.solutions != after.solutions).all()  # the way down tells everybody


def test_levels_are_images_of_the_quad_tree() -> None:
    """A level above pixels holds the means of 2×2 of them, if it is given such means."""
    tree, image = Tree.quadtree(8), np.random.default_rng(0).random((8, 8))
    ones = torch.ones(tree.num_nodes, 1, dtype=torch.float64)
    sums = TreeMatrix.diag(tree, ones, 0 * ones, -ones / 4)
    u = np.zeros(tree.num_nodes)
    rows, columns = np.indices((8, 8))
    codes = sum(
        ((columns >> bit & 1) << 2 * bit) + ((rows >> bit & 1) << 2 * bit + 1) for bit in range(3)
    )
    u[tree.leaves[codes.ravel()]] = image.ravel()
    means = sums.solve(torch.from_numpy(u)[:, None])[:, 0].numpy()
    levels = Sweeps(tree, means, means).levels("messages")
    for number, level in enumerate(levels):
        cell = 2**number
        expected = image.reshape(8 // cell, cell, 8 // cell, cell).mean(axis=(1, 3))
        assert np.allclose(as_image(level), expected)


def test_large_blocks_are_refused() -> None:
    tree = Tree.star(3)
    with pytest.raises(ConfigError, match="blocks of size 2"):
        layer_sweeps(Myo(DIM, tree, HEADS, block=2), tree, torch.randn(4, DIM), 0)
