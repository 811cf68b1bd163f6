import pytest

from myosotis.errors import ConfigError
from myosotis.train.duration import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("30m", 1800),
        ("1.5h", 5400),
        ("1h 30m 5s", 5405),
        (7, 7),
        (0.5, 0.5),
    ],
)
def test_parse(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-5", "0", "1d", "5m1h", "nan", True])
def test_what_is_no_length_of_time(text):
    with pytest.raises(ConfigError, match="length of time"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.0s"), (59.94, "59.9s"), (59.97, "1m00s"), (119.6, "2m00s"), (3599.7, "1h00m")],
)
def test_format(seconds, text):
    assert format_duration(seconds) == text
