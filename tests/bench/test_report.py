import json
from dataclasses import replace

from myosotis.bench import report
from myosotis.bench.case import Case, Contender, Shape, Target
from myosotis.bench.run import Measurement, Result
from myosotis.bench.timing import Settings, Spread

CASE = Case(
    "a case",
    "forward",
    Shape("chain", nodes=1000, channels=2),
    lambda shape: None,
    tuple(Contender(name, lambda problem: None) for name in ("ours", "clone", "peer")),
    Target("clone", 2.0),
)
MEASUREMENTS = (
    Measurement("ours", "measured", "", 1, Spread(3e-3, 2e-3, 4e-3, 1e-3, 5), 3 * 2**20),
    Measurement("clone", "measured", "", 1, Spread(2e-3, 2e-3, 2e-3, 2e-3, 5), None),
    Measurement("peer", "not installed", "jax"),
)
RESULT = Result(CASE, MEASUREMENTS)


def test_rows():
    ours, clone, peer = report.rows(RESULT)
    assert ours == ("ours", "3 ms", "2 ms – 4 ms", "3 MiB", "1", "1.5 (≤ 2 × clone)", "✓")
    assert clone == ("clone", "2 ms", "2 ms – 2 ms", "", "0.667", "", "")
    assert peer == ("peer", "not installed", "jax", "", "", "", "")


def test_rows_per_sample_give_a_rate():
    per_sample = Result(
        replace(CASE, unit="sample"), tuple(replace(m, units=10) for m in MEASUREMENTS)
    )
    assert report.rows(per_sample)[0].median == "300 µs per sample, 3333 samples/s"


def test_a_missed_and_an_unknown_target():
    missed = Result(replace(CASE, target=Target("clone", 1.0)), MEASUREMENTS)
    unknown = Result(replace(CASE, target=Target("peer", 1.0)), MEASUREMENTS)
    assert report.rows(missed)[0].met == "✗"
    assert report.rows(unknown)[0][-2:] == ("– (≤ 1 × peer)", "–")
    line = report.closing_line([RESULT, missed, unknown])
    assert line == "1 of 3 targets met, 1 not measurable here"


def test_markdown_has_a_line_for_every_contender():
    text = report.to_markdown([RESULT])
    assert "| a case (chain of 1,000 nodes, 2 channels, float32; forward) | ours | 3 ms |" in text
    assert "|  | peer | not installed | jax |" in text
    assert text.endswith("1 of 1 targets met.\n")


def test_json():
    document = json.loads(json.dumps(report.to_json([RESULT], Settings(), {"commit": "abc"})))
    assert document["commit"] == "abc"
    assert document["settings"]["repeats"] == Settings().repeats
    (case,) = document["cases"]
    assert case["shape"]["dtype"] == "float32"
    assert case["target"] == {
        "against": "clone",
        "limit": 2.0,
        "faster": False,
        "ratio": 1.5,
        "met": True,
    }
    ours, _, peer = case["contenders"]
    assert ours["seconds"]["median"] == 3e-3
    assert ours["seconds"]["count"] == 5
    assert ours["peak_bytes"] == 3 * 2**20
    assert peer["status"] == "not installed"
    assert peer["seconds"] is None


def test_units():
    assert [report.format_seconds(s) for s in (2e-9, 3e-6, 0.25)] == ["2 ns", "3 µs", "250 ms"]
    assert [report.format_bytes(b) for b in (5, 2048, 2**31)] == ["5 B", "2 KiB", "2 GiB"]
