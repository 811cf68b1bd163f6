"""The LSTM against its gates, step by step, and against packed sequences."""

import pytest
import torch
from torch import Tensor
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from myosotis.nn.mixers import LSTM
from tests.nn.mixers.cases import DOUBLE, assert_gradients, end_mask


def by_gates(lstm: torch.nn.LSTM, tokens: list[Tensor]) -> list[Tensor]:
    hidden = cell = torch.zeros(lstm.hidden_size, dtype=DOUBLE)
    states = []
    for token in tokens:
        gates = lstm.weight_ih_l0 @ token + lstm.bias_ih_l0
        gates = gates + lstm.weight_hh_l0 @ hidden + lstm.bias_hh_l0
        enter, keep, new, leave = gates.chunk(4)
        cell = keep.sigmoid() * cell + enter.sigmoid() * new.tanh()
        hidden = leave.sigmoid() * cell.tanh()
        states.append(hidden)
    return states


@pytest.mark.parametrize("bidirectional", [False, True])
def test_values_skip_masked_tokens_anywhere(bidirectional: bool) -> None:
    mixer = LSTM(3, 4, bidirectional=bidirectional, dtype=DOUBLE)
    x = torch.randn(3, 9, 3, dtype=DOUBLE)
    mask = torch.rand(3, 9) < 0.6
    mask[2] = True
    with torch.no_grad():
        for tokens, real, actual in zip(x, mask, mixer(x, mask), strict=True):
            kept = list(tokens[real])
            states = [torch.stack(by_gates(mixer.directions[0], kept))]
            if bidirectional:
                states.append(torch.stack(by_gates(mixer.directions[1], kept[::-1])[::-1]))
            expected = torch.cat(states, -1) @ mixer.output.weight.T + mixer.output.bias
            torch.testing.assert_close(actual[real], expected)
            assert not actual[~real].any()


def test_padding_at_the_end_is_what_packing_does() -> None:
    mixer = LSTM(3, 4, bidirectional=True, dtype=DOUBLE)
    both = torch.nn.LSTM(3, 4, bidirectional=True, batch_first=True, dtype=DOUBLE)
    for suffix, part in zip(("", "_reverse"), mixer.directions, strict=True):
        for name, value in part.named_parameters():
            getattr(both, name + suffix).data.copy_(value)
    x, lengths = torch.randn(3, 8, 3, dtype=DOUBLE), [8, 5, 1]
    packed = pack_padded_sequence(x, torch.tensor(lengths), batch_first=True)
    states, _ = pad_packed_sequence(both(packed)[0], batch_first=True)
    mask = end_mask(lengths, 8)
    expected = mixer.output(states) * mask.unsqueeze(-1)
    torch.testing.assert_close(mixer(x, mask), expected)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_gradients(bidirectional: bool) -> None:
    mixer = LSTM(2, 2, bidirectional=bidirectional, dtype=DOUBLE)
    mask = torch.tensor([[True, False, True, True], [True, True, False, False]])
    assert_gradients(mixer, torch.randn(2, 4, 2, dtype=DOUBLE), mask)
