"""Lengths of time as people write them."""

import re

from myosotis.errors import ConfigError

__all__ = ["format_duration", "parse_duration"]

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0}
_TEXT = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?")


def parse_duration(text: str | float) -> float:
    """Return the seconds in a text such as `90`, `90s`, `30m` or `1h30m`.

    Raises:
        ConfigError: if it is none, or not positive.

    Example:
        >>> parse_duration("1h30m"), parse_duration("90"), parse_duration(0.5)
        (5400.0, 90.0, 0.5)
    """
    found = _TEXT.fullmatch(str(text).replace(" ", ""))
    if isinstance(text, bool) or found is None or not any(found.groups()):
        raise ConfigError(f"{text!r} is no length of time; write 90s, 30m or 1h30m")
    seconds = sum(
        float(part) * unit
        for part, unit in zip(found.groups(), _UNITS.values(), strict=True)
        if part is not None
    )
    if seconds <= 0:
        raise ConfigError(f"a length of time must be positive, got {text!r}")
    return seconds


def format_duration(seconds: float) -> str:
    """Return seconds in the two largest units that matter.

    Example:
        >>> format_duration(5400), format_duration(754.3), format_duration(7.26)
        ('1h30m', '12m34s', '7.3s')
    """
    if round(seconds, 1) < 60:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
