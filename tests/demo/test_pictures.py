"""Figures show the numbers they are given, in the order of the sweeps."""

import numpy as np
import pytest

from myosotis import Tree
from myosotis.demo.pictures import describe_step, num_steps, show_decision, show_levels
from myosotis.demo.sweeps import Sweeps
from myosotis.errors import ConfigError

pytest.importorskip("matplotlib")


def sweeps() -> Sweeps:
    numbers = np.arange(1.0, 22)
    return Sweeps(Tree.quadtree(4), numbers, 1j * numbers[::-1])


@pytest.mark.parametrize("step", range(1, 7))
def test_levels_appear_from_the_leaves_up_and_from_the_root_down(step: int) -> None:
    axes = show_levels(sweeps(), step).axes
    reached = [bool(each.images) for each in axes]
    up, down = min(step, 3), max(step - 3, 0)
    assert reached[:3] == [level < up for level in range(3)]
    assert reached[3:] == [level >= 3 - down for level in range(3)]
    widths = [each.spines["top"].get_linewidth() for each in axes]
    newest = step - 1 if step <= 3 else 9 - step
    assert int(np.argmax(widths)) == newest


def test_a_level_shows_moduli_where_the_nodes_are() -> None:
    axes = show_levels(sweeps(), 6).axes
    leaves = axes[0].images[0].get_array()
    assert leaves[0].tolist() == [1, 2, 5, 6]  # the first quadrant, then the one to its right
    assert axes[5].images[0].get_array().tolist() == [[1]]
    assert axes[3].get_xlabel() == "up to 21"


def test_steps_are_told_in_words() -> None:
    assert num_steps(Tree.quadtree(4)) == 6
    assert describe_step(sweeps(), 3).endswith(
        "messages go up and have reached level 3, 1×1 nodes."
    )
    assert "solutions come down and have reached level 1, 4×4" in describe_step(sweeps(), 6)
    for step in (0, 7):
        with pytest.raises(ConfigError, match="from 1 to 6"):
            describe_step(sweeps(), step)


def test_ink_for_and_against_is_on_a_symmetric_scale() -> None:
    random = np.random.default_rng(0)
    image = random.integers(0, 255, (28, 28), dtype=np.uint8)
    added, weights = random.standard_normal((28, 28)), random.random((28, 28))
    seen, reasons, reach = (
        axes.images[0] for axes in show_decision(image, added, weights, 4).axes[:3]
    )
    assert np.allclose(seen.get_array(), image / 255)
    assert np.array_equal(reasons.get_array(), added)
    assert reasons.norm.vmin == -reasons.norm.vmax == -np.abs(added).max()
    assert reach.get_array().max() == 1
