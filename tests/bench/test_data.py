import pytest

from myosotis.bench.data import CASES, Rate, RateCase, deal_out, run_rate
from myosotis.bench.timing import Settings, Spread
from myosotis.errors import DataError


def case(prepare=None, target=100.0) -> RateCase:
    return RateCase("toy", "thing", 1, target, 200, prepare)


def test_names_are_unique():
    assert len({each.name for each in CASES}) == len(CASES)


@pytest.mark.parametrize(("seconds", "met"), [(1.0, True), (2.0, True), (2.5, False)])
def test_a_target_is_a_least_rate(seconds, met):
    rate = Rate(case(), 200, Spread.of([seconds]))
    assert rate.per_second == 200 / seconds
    assert rate.met is met
    assert rate.as_json()["met"] is met


def test_quick_does_a_fraction(tmp_path):
    asked = []

    def prepare(root, units):
        asked.append((root, units))
        return lambda: None

    run_rate(case(prepare), tmp_path, Settings(repeats=1), quick=True)
    run_rate(case(prepare), tmp_path, Settings(repeats=1))
    assert asked == [(tmp_path, 2), (tmp_path, 200)]


def test_missing_data_is_accounted_for(tmp_path):
    def prepare(root, units):
        raise DataError("nothing here")

    rate = run_rate(case(prepare), tmp_path, Settings(repeats=1))
    assert (rate.seconds, rate.per_second, rate.met, rate.note) == (
        None,
        None,
        None,
        "nothing here",
    )


def test_a_failure_is_not_hidden(tmp_path):
    def fail():
        raise OSError("broken")

    with pytest.raises(OSError, match="broken"):
        run_rate(case(lambda root, units: fail), tmp_path, Settings(repeats=1))


def test_batches_are_dealt_out(tmp_path):
    digits = RateCase("digits", "image", 1, 1.0, 500, deal_out("digits"))
    assert run_rate(digits, tmp_path, Settings(repeats=1)).met


@pytest.mark.parametrize("each", CASES[2:], ids=lambda each: each.name)
def test_generators_run(each, tmp_path):
    assert run_rate(
        each, tmp_path, Settings(repeats=1, warmup=0, settle=0.0), quick=True
    ).per_second
