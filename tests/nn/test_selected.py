"""Selective coefficients in one pass against the plain operations: values, every gradient."""

import pytest
import torch
from torch import Tensor

from myosotis.nn import Myo, parametrizations, selected
from myosotis.nn.selected import add_and_contract
from myosotis.tree import Tree
from tests.cases import TREES, batched_and_single_gradients

HEADS = 3  # nothing that vectors or caches would like


def layer(tree: Tree, **options: object) -> Myo:
    torch.manual_seed(0)
    made = Myo(4, tree, HEADS, selective=True, **options)
    with torch.no_grad():
        for p in made.coefficients.parameters():  # selection starts at zero
            p.add_(0.3 * torch.randn_like(p))
    return made


def output_and_gradients(made: Myo, x: Tensor) -> tuple[Tensor, list[Tensor]]:
    y = made(x)
    weights = torch.linspace(-1, 1, y.numel()).view(y.shape)
    return y.detach(), list(torch.autograd.grad((weights * y).sum(), [x, *made.parameters()]))


@pytest.mark.parametrize("options", [{}, {"rhs": 2}, {"sharing": "level"}, {"sharing": "node"}])
@pytest.mark.parametrize("name", TREES)
def test_values_and_gradients_on_every_tree(
    name: str, options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = TREES[name]
    made = layer(tree, **options)
    x = torch.randn(3, tree.num_nodes, 4, requires_grad=True)
    calls: list[int] = []

    def counted(*arguments: Tensor) -> tuple[Tensor, Tensor]:
        calls.append(1)
        return add_and_contract(*arguments)

    monkeypatch.setattr(parametrizations, "add_and_contract", counted)
    ours, our_gradients = output_and_gradients(made, x)
    assert calls
    monkeypatch.setattr(selected, "MOST_ROWS", 0)
    theirs, their_gradients = output_and_gradients(made, x)
    assert len(calls) == 1
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    for a, b in zip(our_gradients, their_gradients, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5 * max(1.0, float(b.abs().max())))


def test_the_same_bits_for_any_number_of_threads() -> None:
    tree = Tree.quadtree(32)
    made = layer(tree)
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            torch.manual_seed(1)
            chosen = torch.randn(4, tree.num_nodes, 3 * HEADS, requires_grad=True)
            tables = [t.flatten(1) for t in made.coefficients.tables.values()]
            coupling, weight = tables
            rows = torch.from_numpy(made.layout.rows(tree))
            a, w = add_and_contract(chosen, coupling, weight, rows)
            loss = (a.real * w).sum() + a.imag.sum()
            found.append([a, w, *torch.autograd.grad(loss, [chosen, *tables])])
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(one, two) for one, two in zip(*found, strict=True))


def test_gradients_of_gradients() -> None:
    tree = TREES["ragged"]
    made = layer(tree)
    x = torch.randn(2, tree.num_nodes, 4, requires_grad=True)

    def penalty(model: Myo, inputs: Tensor) -> list[Tensor]:
        (slope,) = torch.autograd.grad(model(inputs).square().sum(), inputs, create_graph=True)
        return list(torch.autograd.grad(slope.square().sum(), list(model.parameters())))

    double = layer(tree).double()
    expected = penalty(double, x.detach().double().requires_grad_())
    for ours, exact in zip(penalty(made, x), expected, strict=True):
        scale = float(exact.abs().max())
        torch.testing.assert_close(ours.double(), exact, rtol=1e-3, atol=1e-4 * max(1.0, scale))


def test_batched_gradients() -> None:
    tree = TREES["ragged"]
    made = layer(tree)
    x = torch.randn(2, tree.num_nodes, 4, requires_grad=True)
    y = made(x).flatten()[:5]
    wanted = [x, *made.coefficients.parameters()]
    for together, alone in batched_and_single_gradients(y, wanted):
        torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)
