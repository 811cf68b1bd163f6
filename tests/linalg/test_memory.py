"""Memory: how much a solve needs at most, and that trees are freed.

The peak of a forward and backward stays under 12 times the size of u, in a process of its own.
What counts is all that the process holds at its peak beyond what it held once the tree and the
inputs a, b, c, u existed, all of shape (2²⁰, 16) in float32 and all requiring gradients: schedule,
factor, solution, its gradient, the four gradients and every temporary. A solve on a small tree
beforehand loads the libraries. Anything of size L × L would be 65,536 times u.
"""

import gc
import json
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
import torch

from myosotis import Tree, tree_solve_diag
from myosotis.linalg.kernels.arguments import inner_rank, own_rows, tree_arrays
from myosotis.linalg.kernels.pieces import subtrees
from myosotis.linalg.plan import _plans, _shared_parents

ROOT = Path(__file__).resolve().parents[2]

MEASURE = """
import json, resource, sys
import torch
from myosotis import Tree, tree_solve_diag
from tests.cases import ragged

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

def peak_resident():
    # Not ru_maxrss, which begins with what the process that started this one had.
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024

def forward_and_backward(tree, a, b, c, u, backend):
    for t in (a, b, c, u):
        t.requires_grad_()
    x = tree_solve_diag(tree, a, b, c, u, backend=backend)
    x.backward(torch.ones(()).expand_as(x))

def inputs(tree, channels):
    b, c = (torch.empty(tree.num_nodes, channels).uniform_(-0.1, 0.1) for _ in range(2))
    return torch.full_like(b, 2.0), b, c, torch.ones_like(b)

backend, family = sys.argv[1:]
build = {"chain": Tree.chain, "ragged": ragged}[family]
forward_and_backward(small := build(100), *inputs(small, 2), backend)
tree = build(2**20)
arguments = inputs(tree, 16)
before, earlier_peak = resident(), peak_resident()
forward_and_backward(tree, *arguments, backend)
peak = peak_resident()
size = arguments[3].numel() * arguments[3].element_size()
print(json.dumps({"times_u": (peak - before) / size, "new_peak": peak > earlier_peak}))
"""


def memory_in_units_of_u(backend: str, family: str) -> float:
    command = [sys.executable, "-c", MEASURE, backend, family]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["new_peak"], "the peak was reached before the measurement began"
    return float(result["times_u"])


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/statm")
@pytest.mark.parametrize(
    ("family", "backend", "limit"),
    [
        ("ragged", "cpu", 12),  # what `tree_solve_diag` chooses here
        ("chain", "cpu", 12),
        ("ragged", "torch", 12),
        ("chain", "torch", 15),  # cyclic reduction stores two more blocks for almost every node
    ],
)
def test_peak_of_forward_and_backward(family: str, backend: str, limit: float) -> None:
    # Up to three times: the system may take pages back before the measurement, which then seem new.
    assert any(memory_in_units_of_u(backend, family) < limit for _ in range(3))


@pytest.mark.parametrize("backend", ["cpu", "torch", "reference"])
def test_a_tree_that_nobody_needs_is_forgotten(backend: str) -> None:
    """Tasks with a tree for each batch would otherwise fill the memory."""
    tree = Tree.over(7, 3)
    u = torch.randn(tree.num_nodes, 2, dtype=torch.float64, requires_grad=True)
    one = torch.ones(1, 1, dtype=torch.float64, requires_grad=True)
    tree_solve_diag(tree, one, 0.1 * one, 0.1 * one, u, backend=backend).sum().backward()
    gone = weakref.ref(tree)
    del tree
    for cache in (_shared_parents, tree_arrays, inner_rank, own_rows, subtrees):
        cache.cache_clear()  # recent trees are kept on purpose
    gc.collect()
    assert gone() is None
    assert not any(plan.tree == Tree.over(7, 3) for plan in _plans.values())
