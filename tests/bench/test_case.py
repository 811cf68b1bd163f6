from dataclasses import asdict

import pytest

from myosotis.bench import layer, solve, train
from myosotis.bench.case import Shape, Target

CASES = [*solve.CASES, *layer.CASES, *train.CASES]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_target_names_another_contender_of_its_case(case):
    names = [contender.name for contender in case.contenders]
    assert len(set(names)) == len(names)
    if case.target is not None:
        assert case.target.against in names[1:]


def test_names_are_unique():
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize(
    ("target", "ours", "other", "ratio", "met"),
    [
        (Target("clone", 2.0), 3.0, 2.0, 1.5, True),
        (Target("clone", 2.0), 5.0, 2.0, 2.5, False),
        (Target("peer", 5, faster=True), 1.0, 6.0, 6.0, True),
        (Target("peer", 5, faster=True), 2.0, 6.0, 3.0, False),
    ],
)
def test_target(target, ours, other, ratio, met):
    assert target.ratio(ours, other) == ratio
    assert target.met(ratio) is met


def test_tiny_only_shrinks():
    shape = Shape("random", nodes=10, channels=2, dim=4)
    assert shape.tiny() == shape
    for case in CASES:
        whole, tiny = asdict(case.shape), asdict(case.tiny().shape)
        for size in ("nodes", "batch", "channels", "dim"):
            assert tiny[size] <= whole[size]
