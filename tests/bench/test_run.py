import pytest

from myosotis.bench import run
from myosotis.bench.case import Case, Contender, Shape, Target, Work
from myosotis.bench.run import Measurement, Result, run_case
from myosotis.bench.timing import Settings, Spread

SHAPE = Shape("chain", nodes=3)


def broken(_):
    raise OSError("no luck\nand more of it")


def make_case(*contenders, **options):
    return Case("case", "forward", SHAPE, lambda shape: shape.nodes, contenders, **options)


def measured(name, seconds, units=1, peak_bytes=None):
    return Measurement(name, "measured", "", units, Spread.of([seconds]), peak_bytes)


def test_everybody_is_accounted_for():
    case = make_case(
        Contender("ours", lambda problem: Work(lambda: problem)),
        Contender("missing", broken, requires=("no_such_module",)),
        Contender("silent", broken, absent="it has no door"),
        Contender("unprepared", broken),
        Contender("breaks", lambda problem: Work(lambda: broken(problem))),
    )
    result = run_case(case, Settings(repeats=2, warmup=1))
    assert [(m.contender, m.status, m.note) for m in result.measurements] == [
        ("ours", "measured", ""),
        ("missing", "not installed", "no_such_module"),
        ("silent", "no comparable entry point", "it has no door"),
        ("unprepared", "failed", "OSError: no luck"),
        ("breaks", "failed", "OSError: no luck"),
    ]
    assert result.measurements[0].seconds.count == 2


def test_the_problem_is_made_once():
    made = []

    def problem(shape):
        made.append(shape)
        return 1

    contenders = tuple(Contender(name, lambda p: Work(lambda: p)) for name in "ab")
    run_case(Case("case", "forward", SHAPE, problem, contenders), Settings(repeats=1))
    assert made == [SHAPE]


def test_memory_is_measured_unless_it_is_known(monkeypatch):
    monkeypatch.setattr(run, "peak_extra_bytes", lambda call: 7)
    case = make_case(
        Contender("measured", lambda p: Work(lambda: p)),
        Contender("known", lambda p: Work(lambda: p, extra_bytes=11)),
    )
    found = run_case(case, Settings(repeats=1)).measurements
    assert [m.peak_bytes for m in found] == [7, 11]


def contenders(*names):
    return tuple(Contender(name, broken) for name in names)


def test_ratios_are_per_unit():
    case = make_case(
        *contenders("ours", "peer"), target=Target("peer", 10, faster=True), unit="system"
    )
    result = Result(case, (measured("ours", 2.0, units=8), measured("peer", 5.0)))
    assert result.relative("ours") == 1.0
    assert result.relative("peer") == result.ratio == 20.0
    assert result.met is True


def test_a_case_about_memory_compares_bytes():
    case = make_case(*contenders("ours", "clone"), target=Target("clone", 3.5), quantity="memory")
    ours, clone = measured("ours", 1.0, peak_bytes=40), measured("clone", 1.0, peak_bytes=10)
    result = Result(case, (ours, clone))
    assert result.ratio == pytest.approx(4.0)
    assert result.met is False


def test_no_verdict_without_both_sides():
    case = make_case(*contenders("ours", "peer"), target=Target("peer", 2.0))
    result = Result(case, (measured("ours", 1.0), Measurement("peer", "not installed")))
    assert result.ratio is None
    assert result.met is None
    assert result.relative("peer") is None
    assert Result(make_case(*contenders("ours")), (measured("ours", 1.0),)).met is None
