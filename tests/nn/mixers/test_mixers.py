"""What every mixer promises: masks, dtypes, compilers, and training that stays finite."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

from myosotis.errors import ShapeError
from myosotis.nn import mixers
from tests.nn.mixers.cases import (
    DIM,
    DOUBLE,
    NODE_CASES,
    OPTIONS,
    SEQUENCE_CASES,
    TREE,
    build,
    end_mask,
    example,
)

every_mixer = pytest.mark.parametrize("case", mixers.available())
every_case = pytest.mark.parametrize("case", OPTIONS)
every_sequence_case = pytest.mark.parametrize("case", SEQUENCE_CASES)

pytestmark = [
    # Exporting and compiling go through torch's own deprecated names.
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.*"),
    pytest.mark.filterwarnings("ignore::FutureWarning:torch.*"),
]


def leaf_mask() -> Tensor:
    """bool (2, leaves): one example in full, one padded at the end."""
    return end_mask([TREE.num_leaves, 4], TREE.num_leaves)


def real_positions(case: str, mask: Tensor) -> Tensor:
    """bool (batch, n): tokens, or nodes with a real leaf below."""
    if case in SEQUENCE_CASES:
        return mask
    spans = TREE.leaf_spans.tolist()
    return torch.stack([mask[:, first:end].any(1) for first, end in spans], dim=1)


@every_sequence_case
def test_padding_at_the_end_changes_nothing(case: str) -> None:
    mixer = build(case)
    x = torch.randn(3, 40, DIM, dtype=DOUBLE)
    lengths = [40, 23, 1]
    with torch.no_grad():
        y = mixer(x, end_mask(lengths, 40))
        for row, actual, length in zip(x, y, lengths, strict=True):
            alone = mixer(row[None, :length])[0]
            torch.testing.assert_close(actual[:length], alone)
            assert not actual[length:].any()


@every_case
def test_masked_positions_are_zero_and_never_heard(case: str) -> None:
    mixer, x = build(case), example(case)
    mask = torch.rand(2, TREE.num_leaves) < 0.6
    mask[0, 2], mask[1] = True, False
    real = real_positions(case, mask).unsqueeze(-1)
    with torch.no_grad():
        y = mixer(x, mask)
        # As large as numbers get: what is merely multiplied by zero would show.
        garbage = torch.full_like(x, torch.nan)
        again = mixer(torch.where(real, x, garbage), mask)
    assert not y.masked_select(~real).any()
    torch.testing.assert_close(again, y)


@every_case
def test_gradients_with_everything_masked_are_zero(case: str) -> None:
    mixer, x = build(case), example(case).requires_grad_()
    mixer(x, torch.zeros(2, TREE.num_leaves, dtype=torch.bool)).sum().backward()
    assert not x.grad.any()
    gradients = [p.grad for p in mixer.parameters() if p.grad is not None]
    assert not any(g.any() for g in gradients)


@every_case
def test_full_mask_is_no_mask(case: str) -> None:
    mixer, x = build(case), example(case)
    with torch.no_grad():
        full = torch.ones(2, TREE.num_leaves, dtype=torch.bool)
        torch.testing.assert_close(mixer(x, full), mixer(x))


@every_case
def test_examples_of_a_batch_do_not_mix(case: str) -> None:
    mixer, x = build(case), example(case, batch=3)
    with torch.no_grad():
        torch.testing.assert_close(mixer(x)[1:2], mixer(x[1:2]))


@every_case
def test_parameters_are_real_and_follow_dtype_and_device(case: str) -> None:
    name, options = OPTIONS[case]
    mixer = build(case, dtype=torch.float32)
    assert {p.dtype for p in mixer.parameters()} == {torch.float32}
    abstract = mixers.create(name, DIM, TREE, 2, options, device="meta")
    assert all(p.is_meta for p in abstract.parameters())
    assert mixer(example(case, dtype=torch.float32)).dtype == torch.float32


@every_case
def test_a_saved_state_is_all_there_is(case: str) -> None:
    first, second, x = build(case), build(case), example(case)
    second.load_state_dict(first.state_dict())
    with torch.no_grad():
        assert torch.equal(first(x), second(x))


@every_case
def test_autocast_costs_no_more_than_bfloat16_itself(case: str) -> None:
    mixer, x = build(case, torch.float32), example(case, dtype=torch.float32)
    with torch.no_grad():
        exact = mixer(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = mixer(x)
    assert (y.float() - exact).abs().max() < 0.05 * exact.abs().max()


@every_case
def test_parameters_in_half_precision(case: str) -> None:
    mixer, x = build(case, torch.bfloat16), example(case, dtype=torch.bfloat16)
    with torch.no_grad():
        y = mixer(x, leaf_mask())
        exact = mixer.float()(x.float(), leaf_mask())
    assert y.dtype == torch.bfloat16
    assert (y.float() - exact).abs().max() < 0.05 * exact.abs().max()


@pytest.fixture
def _fresh_compiler() -> Iterator[None]:
    torch.compiler.reset()
    # Without this flag torch leaves nn.LSTM out of its graphs.
    with torch._dynamo.config.patch(allow_rnn=True):
        yield
    torch.compiler.reset()


@pytest.mark.usefixtures("_fresh_compiler")
@every_mixer
def test_compiled_in_one_graph(case: str) -> None:
    mixer, x, mask = build(case), example(case), leaf_mask()
    compiled = torch.compile(mixer, fullgraph=True, backend="aot_eager")
    expected, actual = mixer(x, mask), compiled(x, mask)
    torch.testing.assert_close(actual, expected)
    weight = torch.randn_like(expected)
    gradients = [
        torch.autograd.grad((y * weight).sum(), list(mixer.parameters()), allow_unused=True)
        for y in (actual, expected)
    ]
    torch.testing.assert_close(*gradients)


@pytest.mark.usefixtures("_fresh_compiler")
@pytest.mark.parametrize("case", ["chain-myo", "s5"])  # whose tree depends on the length
def test_compiled_for_several_lengths(case: str) -> None:
    mixer = build(case)
    compiled = torch.compile(mixer, fullgraph=True, backend="eager")
    with torch.no_grad():
        for n in (20, 35):  # the second time, torch leaves the length open
            x = torch.randn(2, n, DIM, dtype=DOUBLE)
            torch.testing.assert_close(compiled(x), mixer(x))


@pytest.mark.filterwarnings("ignore:The tensor attribute.*_flat_weights:UserWarning")  # nn.LSTM's
@every_mixer
def test_exported(case: str) -> None:
    mixer, x, mask = build(case), example(case), leaf_mask()
    program = torch.export.export(mixer, (x, mask)).module()
    with torch.no_grad():
        torch.testing.assert_close(program(2 * x, mask), mixer(2 * x, mask))


@every_mixer
def test_200_steps_at_a_high_learning_rate(case: str) -> None:
    """Tell by the sign of a token's first feature; half of the examples are padded."""
    torch.manual_seed(1)
    mixer = build(case, torch.float32, dim=8)
    head = nn.Linear(8, 1)
    x = example(case, batch=8, dtype=torch.float32, dim=8)
    mask = end_mask([TREE.num_leaves, 4] * 4, TREE.num_leaves)
    real = real_positions(case, mask)
    target = (x[..., 0] > 0).float()
    parameters = [*mixer.parameters(), *head.parameters()]
    optimiser = torch.optim.AdamW(parameters, lr=1e-2, fused=True)  # the least overhead
    losses = []
    for _ in range(200):
        logits = head(nn.functional.silu(mixer(x, mask))).squeeze(-1)[real]
        loss = nn.functional.binary_cross_entropy_with_logits(logits, target[real])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert all(p.isfinite().all() for p in parameters)
    assert losses[-1] < 0.7 * losses[0]


@every_sequence_case
def test_mistakes(case: str) -> None:
    mixer = build(case)
    with pytest.raises(ShapeError, match=rf"x has shape \(3, 5\); expected \(batch, n, {DIM}\)"):
        mixer(torch.ones(3, 5, dtype=DOUBLE))
    with pytest.raises(ShapeError, match=rf"expected \(batch, n, {DIM}\)"):
        mixer(torch.ones(3, 5, DIM + 1, dtype=DOUBLE))
    with pytest.raises(ShapeError, match="n of at least 1"):
        mixer(torch.ones(3, 0, DIM, dtype=DOUBLE))
    with pytest.raises(ShapeError, match=r"x has dtype torch\.int64"):
        mixer(torch.ones(3, 5, DIM, dtype=torch.int64))
    with pytest.raises(ShapeError, match=r"mask has shape \(3, 5\).*float.*expected bool \(3, 5\)"):
        mixer(torch.ones(3, 5, DIM, dtype=DOUBLE), torch.ones(3, 5))
    with pytest.raises(ShapeError, match=r"expected bool \(3, 5\)"):
        mixer(torch.ones(3, 5, DIM, dtype=DOUBLE), torch.ones(3, 4, dtype=torch.bool))


def test_there_are_mixers_over_nodes() -> None:
    assert NODE_CASES
