import numpy as np
import pytest
import torch

from myosotis.data import load
from myosotis.data.listops import tokenize
from myosotis.data.listops_chains import chains
from myosotis.data.listops_examples import Corpus
from myosotis.errors import ConfigError
from myosotis.train.stream import Stream, epoch_seed


def inputs(stream):
    return [example[0] for example in stream]


def test_a_pass_has_every_example_once():
    split = load("digits").validation
    together = torch.cat(inputs(Stream(split, 50, seed=0)))
    plain = torch.cat(inputs(Stream(split, 50)))
    assert not torch.equal(together, plain)
    for rows in (together, plain):
        ordered = sorted(map(tuple, rows.flatten(1).tolist()))
        assert ordered == sorted(map(tuple, plain.flatten(1).tolist()))


def test_epochs_are_shuffled_differently_and_reproducibly():
    split = load("digits").validation
    first, again, second, other = (
        torch.cat(inputs(Stream(split, 50, seed=seed, step=lambda s=step: s)))
        for seed, step in ((0, 0), (0, 0), (0, 4), (1, 0))
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, second)
    assert not torch.equal(first, other)
    assert epoch_seed(0, 1) != epoch_seed(1, 0)


def test_it_goes_on_in_the_middle_of_an_epoch():
    split = load("digits").validation
    whole = inputs(Stream(split, 50, seed=3, step=lambda: 4))
    rest = inputs(Stream(split, 50, seed=3, step=lambda: 6))
    assert len(rest) == 2
    assert all(map(torch.equal, whole[2:], rest))


def test_devices_divide_the_batches():
    split = load("digits").validation
    whole = inputs(Stream(split, 50, seed=3))
    shares = [Stream(split, 50, seed=3, rank=rank, world=2) for rank in range(2)]
    assert [len(share) for share in shares] == [2, 2]
    divided = [inputs(share) for share in shares]
    assert all(map(torch.equal, whole[0::2], divided[0]))
    assert all(map(torch.equal, whole[1::2], divided[1]))


def test_devices_leave_out_nothing_in_validation():
    split = load("digits").validation  # 180 examples
    whole = inputs(Stream(split, 60))
    shares = [Stream(split, 60, rank=rank, world=2) for rank in range(2)]
    assert [len(share) for share in shares] == [2, 1]
    first, second = (inputs(share) for share in shares)
    assert all(map(torch.equal, whole, [first[0], second[0], first[1]]))
    for rank in range(4):  # more devices than batches
        stream = Stream(split, 60, rank=rank, world=4)
        assert len(stream) == len(inputs(stream)) == 3


def nested_lists():
    text = "[MAX 2 [MIN 4 [SM 5 6 ] ] 0 ]"
    tokens = tokenize(text)
    offsets = np.arange(4) * len(tokens)
    return chains(Corpus(np.tile(tokens, 3), offsets, np.array([2, 2, 2])))


def test_examples_grow_from_pass_to_pass_up_to_the_whole():
    split = nested_lists()
    longest = []
    for epoch in range(20):
        stream = Stream(split, 1, seed=0, growing_epochs=3, step=lambda e=epoch: 3 * e)
        examples = inputs(stream)
        assert len(examples) == len(stream) == 3
        longest.append(max(example.shape[1] for example in examples))
    assert longest[0] == 4  # [SM 5 6 ]
    assert longest[1] <= 7
    assert max(longest[2:]) == 11
    (again,) = inputs(Stream(split, 3, seed=0, growing_epochs=3))
    assert torch.equal(again, inputs(Stream(split, 3, seed=0, growing_epochs=3))[0])


def test_what_has_no_parts_cannot_grow():
    with pytest.raises(ConfigError, match="growing_epochs is 2"):
        next(iter(Stream(load("digits").train, 50, seed=0, growing_epochs=2)))
