import numpy as np
import pytest

from myosotis.plot import show_patterns
from myosotis.plot.patterns import patterns

pytest.importorskip("matplotlib")
from matplotlib.patches import FancyArrowPatch

TOKEN = np.arange(1, 8)
DISTANCE = np.abs(TOKEN[:, None] - TOKEN)
TREE_EDGES = [(1, 3), (2, 3), (4, 6), (5, 6), (3, 7), (6, 7)]


def test_masks_of_the_four_patterns():
    window, with_global, dilated, tree = (pattern.mask for pattern in patterns())
    assert np.array_equal(window, DISTANCE <= 2)
    one = (TOKEN[:, None] == 1) | (TOKEN == 1)
    assert np.array_equal(with_global, (DISTANCE <= 2) | one)
    assert np.array_equal(dilated, (DISTANCE == 0) | (DISTANCE == 3))
    expected = np.eye(7, dtype=bool)
    for child, parent in TREE_EDGES:
        expected[child - 1, parent - 1] = expected[parent - 1, child - 1] = True
    assert np.array_equal(tree, expected)


def test_graphs_have_the_edges_of_the_masks_and_lines_pass_by_other_nodes():
    figure = show_patterns()
    figure.canvas.draw()
    for pattern, axes in zip(patterns(), figure.axes[4:], strict=True):
        lines = [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
        pairs = np.argwhere(np.triu(pattern.mask, 1))
        assert len(lines) == len(pairs)
        for line, pair in zip(lines, pairs, strict=True):
            start, control, end = line.get_path().vertices
            assert np.allclose([start, end], pattern.places[pair])
            t = np.linspace(0, 1, 30)[:, None]
            path = (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end
            others = np.delete(pattern.places, pair, axis=0)
            gaps = np.linalg.norm(path[:, None] - others, axis=-1)
            assert gaps.min() > 0.1
