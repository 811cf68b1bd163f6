"""The block as three operations against the plain block: values, every gradient, statistics."""

import copy

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from myosotis.nn import Classifier, ClassifierConfig
from myosotis.nn.block import Block
from myosotis.nn.fused import Dropout, enter, leave
from myosotis.tree import Tree
from tests.cases import TREES, batched_and_single_gradients


def pair(tree: Tree, **settings: object) -> tuple[Classifier, Classifier]:
    """The same classifier twice; the second never fuses."""
    torch.manual_seed(0)
    fused = Classifier(ClassifierConfig(3, tree, channels=2, depth=2, **settings))  # type: ignore[arg-type]
    with torch.no_grad():
        for p in fused.parameters():  # nothing is left at zero or one
            p.add_(0.1 * torch.randn_like(p))
    plain = copy.deepcopy(fused)
    for block in plain.blocks:
        block.register_forward_hook(lambda *_: None)
    return fused, plain


def loss_and_gradients(model: Classifier, x: Tensor) -> tuple[Tensor, list[Tensor]]:
    loss = model(x).square().sum()
    return loss.detach(), list(torch.autograd.grad(loss, [x, *model.parameters()]))


def assert_same(ours: list[Tensor], theirs: list[Tensor]) -> None:
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5 * max(1.0, float(b.abs().max())))


def used(monkeypatch: pytest.MonkeyPatch) -> list[Tree]:
    """Collects the trees of all blocks that are fused from here on."""
    trees: list[Tree] = []
    original = Block._fused

    def noted(self: Block, x: Tensor, tree: Tree, alive: Tensor | None) -> Tensor:
        trees.append(tree)
        return original(self, x, tree, alive)

    monkeypatch.setattr(Block, "_fused", noted)
    return trees


@pytest.mark.parametrize("norm", ["layer", "batch"])
@pytest.mark.parametrize("name", TREES)
def test_values_and_gradients_on_every_tree(
    name: str, norm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = TREES[name]
    fused, plain = pair(tree, dim=16, heads=8, norm=norm)
    noted = used(monkeypatch)
    x = torch.randn(3, int((tree.num_children == 0).sum()), 2, requires_grad=True)
    (ours, our_gradients), (theirs, their_gradients) = (
        loss_and_gradients(model, x) for model in (fused, plain)
    )
    assert len(noted) == 2
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    assert_same(our_gradients, their_gradients)
    for ours_after, theirs_after in zip(fused.buffers(), plain.buffers(), strict=True):
        torch.testing.assert_close(ours_after, theirs_after)


@pytest.mark.parametrize(
    "settings",
    [
        {"dim": 48, "heads": 40},  # neither a power of two, nor as wide as the projection
        {"dim": 80, "heads": 16, "mixer_options": {"complex_heads": False}},
        {"dim": 32, "heads": 8, "mixer_options": {"block": 2}},
        {"dim": 32, "heads": 8, "mixer_options": {"rhs": 3}},
        {"dim": 32, "heads": 16, "mixer_options": {"selective": True}},
        {"dim": 32, "heads": 16, "mixer_options": {"parametrization": "spectral"}},
    ],
    ids=["wide", "real", "blocks", "right-hand sides", "selective", "spectral"],
)
def test_shapes_and_kinds_of_heads(
    settings: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = Tree.quadtree(8)
    fused, plain = pair(tree, **settings)
    noted = used(monkeypatch)
    x = torch.randn(9, 64, 2, requires_grad=True)  # 765 rows: two pieces, the last tile incomplete
    (ours, our_gradients), (theirs, their_gradients) = (
        loss_and_gradients(model, x) for model in (fused, plain)
    )
    assert len(noted) == 2
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
    assert_same(our_gradients, their_gradients)


def test_operations_have_the_same_bits_for_any_number_of_threads() -> None:
    torch.manual_seed(0)
    x = torch.randn(5000, 32, requires_grad=True)
    norm, gate, weight = nn.BatchNorm1d(32), nn.Linear(32, 32), torch.randn(16, 32)
    weight.requires_grad_()
    results = []
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            passed, n, u = enter(x, norm, weight)
            out = leave(passed, n, u, torch.ones(32), weight.t(), gate, Dropout(3, 0.1))
            inputs = [x, weight, norm.weight, norm.bias, gate.weight, gate.bias]
            results.append([out, *torch.autograd.grad(out, inputs, torch.ones_like(out))])
    finally:
        torch.set_num_threads(before)
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_gradients_of_gradients_match_the_plain_block() -> None:
    for norm in ("layer", "batch"):
        fused, plain = pair(Tree.quadtree(4), dim=16, heads=8, norm=norm)
        x = torch.randn(4, 16, 2, requires_grad=True)
        second = []
        for model in (fused, plain):
            (first,) = torch.autograd.grad(model(x).square().sum(), x, create_graph=True)
            second.append(
                list(
                    torch.autograd.grad(
                        first.square().sum(), list(model.parameters()), materialize_grads=True
                    )
                )
            )
        assert_same(*second)


def test_dropout_is_the_one_its_factors_say() -> None:
    torch.manual_seed(0)
    x, n, s = (torch.randn(700, 32, requires_grad=True) for _ in range(3))
    skip, project = (torch.randn(*shape, requires_grad=True) for shape in ((32,), (32, 32)))
    gate = nn.Linear(32, 32)
    dropout = Dropout(11, 0.3)
    out = leave(x, n, s, skip, project, gate, dropout)
    y = nn.functional.silu(s @ project.t() + skip * n)
    expected = x + dropout.factors(x.shape) * y * torch.sigmoid(gate(y))
    torch.testing.assert_close(out, expected, rtol=1e-4, atol=1e-4)
    inputs = [x, n, s, skip, project, gate.weight, gate.bias]
    g = torch.randn_like(out)
    assert_same(
        list(torch.autograd.grad(out, inputs, g)), list(torch.autograd.grad(expected, inputs, g))
    )


def test_dropout_drops_the_rate_independently_of_place_and_seed() -> None:
    shape = torch.Size((400, 500))
    kept = [(Dropout(seed, 0.25).factors(shape) > 0).double() for seed in (1, 2)]
    for each in kept:
        assert abs(float(each.mean()) - 0.75) < 5 * (0.75 * 0.25 / each.numel()) ** 0.5
        for axis in (0, 1):  # neighbours are as if drawn separately
            a, b = each.narrow(axis, 0, 399), each.narrow(axis, 1, 399)
            assert abs(float(torch.corrcoef(torch.stack([a.flatten(), b.flatten()]))[0, 1])) < 0.02
    assert abs(float(torch.corrcoef(torch.stack([k.flatten() for k in kept]))[0, 1])) < 0.02
    assert float(Dropout(1, 0.25).factors(shape).max()) == pytest.approx(1 / 0.75)


def test_dropout_follows_the_seed_of_torch() -> None:
    model, _ = pair(Tree.quadtree(4), dim=16, heads=8, dropout=0.5)
    x = torch.randn(2, 16, 2)
    outputs = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        outputs.append(model(x))
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])


def test_evaluation_uses_running_averages_and_no_dropout() -> None:
    fused, plain = pair(Tree.quadtree(4), dim=16, heads=8, norm="batch", dropout=0.5)
    for model in (fused, plain):
        for norm in (b.norm for b in model.blocks):
            norm.running_mean.fill_(0.3)
            norm.running_var.fill_(2.0)
        model.eval()
    x = torch.randn(3, 16, 2)
    with torch.no_grad():
        torch.testing.assert_close(fused(x), plain(x))
    torch.testing.assert_close(fused(x), plain(x))  # with gradients: not fused


@pytest.mark.parametrize("selective", [False, True])
@pytest.mark.parametrize("norm", ["layer", "batch"])
def test_padding_is_not_there(norm: str, selective: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"selective": selective}
    fused, plain = pair(Tree.quadtree(4), dim=16, heads=8, norm=norm, mixer_options=options)
    noted = used(monkeypatch)
    x = torch.randn(3, 16, 2, requires_grad=True)
    mask = torch.arange(16) < torch.tensor([[16], [5], [1]])
    if norm == "layer":  # batch norm in training counts the nodes that are there
        ours, theirs = (model(x, mask) for model in (fused, plain))
        torch.testing.assert_close(ours, theirs)
        gradients = [
            list(torch.autograd.grad(y.square().sum(), [x, *model.parameters()]))
            for y, model in ((ours, fused), (theirs, plain))
        ]
        assert_same(*gradients)
    with torch.no_grad():
        torch.testing.assert_close(fused.eval()(x, mask), plain.eval()(x, mask))
    assert len(noted) == (4 if norm == "layer" else 2)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_blocks_that_something_watches_or_transforms_are_not_fused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree = Tree.quadtree(4)
    noted = used(monkeypatch)
    model, plain = pair(tree, dim=16, heads=8)
    x = torch.randn(2, 16, 2)
    plain(x)
    model.double()(x.double())
    model.float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        model(x)
    torch.func.jvp(model, (x,), (x,))
    torch.func.vmap(lambda one: model(one.unsqueeze(0)))(x)
    padded = torch.ones(2, 16, dtype=torch.bool)
    pair(tree, dim=16, heads=8, norm="batch")[0](x, mask=padded)
    pair(tree, dim=16, heads=8, mixer_options={"parametrization": "spectral"})[0](x, mask=padded)
    odd, _ = pair(tree, dim=12, heads=6)
    odd(x)
    assert not noted
    model(x)
    assert len(noted) == 2


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_batch_moments_of_columns_far_from_zero(scale: float) -> None:
    generator = np.random.default_rng(0)
    values = generator.normal(1000.0, scale, size=(5000, 16)).astype(np.float32)
    norm = nn.BatchNorm1d(16, eps=0.0)
    _, n, _ = enter(torch.from_numpy(values), norm, torch.zeros(16, 16))
    exact = values.astype(np.float64)
    spread = exact.std(0)
    expected = (exact - exact.mean(0)) / spread
    # float32 holds x to 1000 · 2⁻²⁴, so x̂ can be no better than that over the spread.
    np.testing.assert_allclose(n.detach().numpy(), expected, atol=1e-5 + 3e-4 / scale)


@pytest.mark.parametrize("norm", ["layer", "batch"])
def test_batched_gradients(norm: str) -> None:
    fused, _ = pair(TREES["ragged"], dim=16, heads=8, norm=norm)
    leaves = int((TREES["ragged"].num_children == 0).sum())
    x = torch.randn(3, leaves, 2, requires_grad=True)
    y = fused(x).flatten()[:4]
    wanted = [x, *fused.blocks.parameters()]
    for together, alone in batched_and_single_gradients(y, wanted):
        assert_same(together, alone)
