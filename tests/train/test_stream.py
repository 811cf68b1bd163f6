import torch

from myosotis.data import load
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
