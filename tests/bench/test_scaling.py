from dataclasses import replace

import pytest

from myosotis.bench import scaling
from myosotis.bench.case import Contender, Work
from myosotis.bench.scaling import SCALINGS, run_scaling
from myosotis.bench.timing import Settings

SETTINGS = Settings(repeats=2, warmup=1)


def names(result):
    return [m.contender for m in result.measurements]


def test_who_takes_too_long_or_is_missing_is_not_asked_again():
    def nothing(problem):
        return Work(lambda: None)

    three = (
        Contender("fast", nothing),
        Contender("missing", nothing, requires=("no_such_module",)),
        Contender("slow", lambda problem: Work(lambda: sum(range(200_000)))),
    )
    curves = run_scaling(replace(SCALINGS[0], contenders=three), range(3, 6), SETTINGS, cap=5e-4)
    assert [names(result) for result in curves.results] == [
        ["fast", "missing", "slow"],
        ["fast"],
        ["fast"],
    ]
    assert [nodes for nodes, _ in curves.of("fast")] == [8, 16, 32]
    assert [nodes for nodes, _ in curves.of("slow")] == [8]
    assert curves.of("missing") == []


def test_it_ends_when_nobody_is_left():
    missing = (Contender("missing", lambda p: Work(lambda: None), requires=("no_such_module",)),)
    curves = run_scaling(replace(SCALINGS[0], contenders=missing), range(3, 6), SETTINGS)
    assert len(curves.results) == 1


@pytest.mark.parametrize("each", SCALINGS, ids=lambda each: each.name)
def test_every_scaling_runs(each):
    result = run_scaling(each, scaling.TINY_EXPONENTS, SETTINGS).results[0]
    assert result.measurements[0].status == "measured"
    assert {m.status for m in result.measurements} <= {"measured", "not installed"}
