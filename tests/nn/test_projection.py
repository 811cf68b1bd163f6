"""Projections by our own products against those of torch, in values and gradients."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from myosotis.nn import projection
from myosotis.nn.projection import Projection
from tests.cases import batched_and_single_gradients

ROWS = (3, 1367)  # the last piece and the last tile are not full
SIZES = [(16, 16), (48, 16), (32, 80), (128, 128), (112, 256)]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Notes every projection that takes our own products; sizes do not matter."""
    noted: list[int] = []
    original = projection._Project.apply

    def apply(*tensors: Tensor) -> Tensor:
        noted.append(tensors[0].numel())
        return original(*tensors)  # type: ignore[no-any-return, no-untyped-call]

    monkeypatch.setattr(projection._Project, "apply", apply)
    monkeypatch.setattr(projection, "_LEAST", 0)
    return noted


@pytest.fixture
def _restored_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def layer_and_input(sizes: tuple[int, int]) -> tuple[Projection, Tensor]:
    torch.manual_seed(0)
    return Projection(*sizes), torch.randn(*ROWS, sizes[0], requires_grad=True)


def assert_near(ours: Tensor, theirs: Tensor) -> None:
    """Up to rounding in float32, of sums of thousands of terms."""
    difference, largest = (t.detach().abs().max() for t in (ours - theirs, theirs))
    assert difference <= 1e-5 * largest


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_values_and_gradients(sizes: tuple[int, int], calls: list[int]) -> None:
    layer, x = layer_and_input(sizes)
    g = torch.randn(*ROWS, sizes[1])
    out = layer(x)
    found = [out, *torch.autograd.grad(out, [x, layer.weight], g)]
    assert calls == [x.numel()]
    exact_x, exact_weight = (t.detach().double().requires_grad_() for t in (x, layer.weight))
    exact = functional.linear(exact_x, exact_weight)
    expected = [exact, *torch.autograd.grad(exact, [exact_x, exact_weight], g.double())]
    for ours, theirs in zip(found, expected, strict=True):
        assert_near(ours, theirs)


def test_gradients_of_gradients(calls: list[int]) -> None:
    layer, x = layer_and_input((16, 32))
    results = []
    for project in (layer, lambda t: functional.linear(t, layer.weight)):
        first = torch.autograd.grad(project(x).pow(3).sum(), [x, layer.weight], create_graph=True)
        second = torch.autograd.grad(sum(t.square().sum() for t in first), [x, layer.weight])
        results.append([*first, *second])
    assert len(calls) == 1
    for ours, theirs in zip(*results, strict=True):
        assert_near(ours, theirs)


def test_batched_gradients(calls: list[int]) -> None:
    layer, x = layer_and_input((16, 32))
    few = layer(x).square().sum((0, 1))[:4]
    for batched, single in batched_and_single_gradients(few, [x, layer.weight]):
        for ours, theirs in zip(batched, single, strict=True):
            assert_near(ours, theirs)
    assert len(calls) == 1


@pytest.mark.usefixtures("_restored_threads")
def test_same_bits_for_any_number_of_threads(calls: list[int]) -> None:
    layer, x = layer_and_input((64, 32))
    results = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        out = layer(x)
        results.append([out, *torch.autograd.grad(out.square().sum(), [x, layer.weight])])
    assert len(calls) == 3
    for other in results[1:]:
        assert all(map(torch.equal, other, results[0]))


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_what_only_torch_can_do_is_left_to_torch(calls: list[int]) -> None:
    layer, x = layer_and_input((16, 32))
    expected = functional.linear(x, layer.weight)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer(x).dtype == torch.bfloat16
    assert layer.double()(x.double()).dtype == torch.float64
    layer.float()
    torch.testing.assert_close(torch.func.vmap(layer)(x), expected)
    _, tangent = torch.func.jvp(layer, (x,), (x,))
    torch.testing.assert_close(tangent, expected)
    torch.testing.assert_close(torch.compile(layer, fullgraph=True, backend="eager")(x), expected)
    assert Projection(16, 20)(x).shape == (*ROWS, 20)
    assert Projection(16, 272)(x).shape == (*ROWS, 272)
    assert layer(x[0, 0]).shape == (32,)
    assert layer.to("meta")(x.to("meta")).shape == expected.shape
    assert calls == []


def test_few_numbers_are_left_to_torch() -> None:
    assert not projection._suits(torch.ones(10, 16), torch.ones(16, 16))
    assert projection._suits(torch.ones(10_000, 16), torch.ones(16, 16))


def test_it_is_a_linear_layer_without_bias() -> None:
    layer, plain = Projection(16, 32), nn.Linear(16, 32, bias=False)
    plain.load_state_dict(layer.state_dict())
    x = torch.randn(10_000, 16)
    torch.testing.assert_close(layer(x), plain(x))
