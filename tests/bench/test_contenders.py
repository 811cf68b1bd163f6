"""Whoever is compared must give the same answer."""

from importlib.util import find_spec

import numpy as np
import pytest
import torch

from myosotis import Tree, tree_solve_diag
from myosotis.bench import solve
from myosotis.bench.case import Shape
from myosotis.bench.ours import solve_by_levels
from myosotis.bench.scaling import SCALINGS
from myosotis.bench.systems import factored_system, make_tree

NO_SOLVERS = ("clone", "clone all", "size", "a 64th of the nodes")
FORWARD = [
    case
    for case in solve.CASES
    if "backward" not in case.timed and case.unit == "call" and len(case.contenders) > 1
] + [scaling.case(nodes=40) for scaling in SCALINGS]


@pytest.mark.parametrize("case", FORWARD, ids=lambda case: case.name)
def test_contenders_agree(case):
    problem = case.problem(case.tiny().shape)
    able = [c for c in case.contenders if not c.absent and c.name not in NO_SOLVERS]
    ours, *others = [c for c in able if all(map(find_spec, c.requires))]
    expected = np.asarray(ours.prepare(problem).call())
    tolerance = 1e-4 if expected.dtype in (np.float32, np.complex64) else 1e-10
    for other in others:
        found = np.asarray(other.prepare(problem).call())
        if other.name == "torch.linalg.solve" and expected.ndim > 2:
            found = found.T if found.ndim == 2 else found  # one column for each sample
        found = found.reshape(-1)[: expected.size]  # jaxley returns one entry more
        np.testing.assert_allclose(
            found, expected.reshape(-1), rtol=tolerance, atol=tolerance, err_msg=other.name
        )


@pytest.mark.parametrize("tree", [Tree.chain(7), Tree.star(4), Tree.perfect(3, 2)], ids=repr)
def test_level_by_level(tree):
    a, b, c, u = torch.randn(4, tree.num_nodes, 2, dtype=torch.complex128)
    a = a + 6
    parent = torch.from_numpy(tree.parent.copy())
    expected = tree_solve_diag(tree, a, b, c, u)
    torch.testing.assert_close(solve_by_levels(tree, parent, a, b, c, u), expected)


@pytest.mark.parametrize("kind", ["quad", "chain", "random"])
def test_trees_are_as_large_as_they_say_and_always_the_same(kind):
    shape = Shape(kind, nodes=85)
    assert make_tree(shape).num_nodes == 85
    assert make_tree(shape) == make_tree(shape)


def test_a_table_is_read_at_its_rows():
    system = factored_system(Shape("quad", nodes=21, batch=2, channels=3), tabled=True)
    assert system.a.shape == system.d.shape == (12, 3)
    assert system.rows.shape == (21,)
    assert int(system.rows.max()) < 12
