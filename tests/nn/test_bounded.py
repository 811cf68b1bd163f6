"""Tables bounded in one operation against the plain ones: values, every gradient, and theirs."""

import pytest
import torch
from torch import Tensor

from myosotis.nn import Myo, parametrizations
from myosotis.nn.bounded import bounded, positive
from myosotis.nn.contraction import contract_pairs
from myosotis.tree import Tree
from tests.cases import TREES, batched_and_single_gradients


def tables(n: int, parts: int, dtype: torch.dtype) -> list[Tensor]:
    torch.manual_seed(0)
    coupling, weight = torch.randn(n, parts, dtype=dtype), 4 * torch.randn(n, dtype=dtype)
    return [t.requires_grad_() for t in (coupling, weight)]


def plain(coupling: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    return contract_pairs(coupling), positive(weight)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("n", [0, 1, 7, 70_000])
def test_values_and_gradients(n: int, parts: int, dtype: torch.dtype) -> None:
    given = tables(n, parts, dtype)
    exact = [t.detach().double().requires_grad_() for t in given]  # 1 − tanh² loses digits
    weights = [torch.randn_like(t) for t in given]
    ours, theirs = bounded(*given), plain(*exact)
    found = torch.autograd.grad(ours, given, weights)
    expected = torch.autograd.grad(theirs, exact, [t.double() for t in weights])
    for a, b in zip((*ours, *found), (*theirs, *expected), strict=True):
        torch.testing.assert_close(a, b.to(dtype))


def test_gradients_of_gradients() -> None:
    given = tables(5, 2, torch.float64)
    assert torch.autograd.gradcheck(bounded, given)
    assert torch.autograd.gradgradcheck(bounded, given)


def test_batched_gradients() -> None:
    given = tables(5, 2, torch.float32)
    a, d = bounded(*given)
    for batched, single in batched_and_single_gradients((a.sum(1) * d), given):
        torch.testing.assert_close(batched, single)


@pytest.mark.parametrize("options", [{}, {"rhs": 2}, {"complex_heads": False}])
@pytest.mark.parametrize("name", TREES)
def test_layers_are_the_same(
    name: str, options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = TREES[name]
    torch.manual_seed(0)
    layer = Myo(4, tree, 3, **options)
    with torch.no_grad():
        for p in layer.coefficients.parameters():
            p.add_(torch.randn_like(p))
    x = torch.randn(3, tree.num_nodes, 4, requires_grad=True)
    inputs, found = [x, *layer.parameters()], []
    for within_reach in (parametrizations.within_reach, lambda u: False):
        monkeypatch.setattr(parametrizations, "within_reach", within_reach)
        y = layer(x)
        weights = torch.linspace(-1, 1, y.numel()).view(y.shape)
        found.append([y, *torch.autograd.grad((weights * y).sum(), inputs)])
    for ours, theirs in zip(*found, strict=True):
        scale = max(1.0, float(theirs.detach().abs().max()))
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5 * scale)


def test_tables_are_bounded_in_one_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counted(coupling: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        calls.append(len(weight))
        return bounded(coupling, weight)

    monkeypatch.setattr(parametrizations, "bounded", counted)
    tree = Tree.perfect(2, 2)
    layer = Myo(4, tree, 3)
    layer(torch.randn(2, tree.num_nodes, 4))
    assert calls == [layer.coefficients.layout.num_rows * 3]


def test_memory_of_parameters_can_still_be_shared_out() -> None:
    tree = Tree.perfect(2, 2)
    layer = Myo(4, tree, 3)
    layer(torch.randn(2, tree.num_nodes, 4)).sum().backward()
    assert all(p.untyped_storage().resizable() for p in layer.coefficients.parameters())
