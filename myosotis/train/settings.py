"""Plain dictionaries, as YAML gives them, to configuration classes and back.

The types of the fields are the schema: whole numbers, numbers, texts, switches, choices, any of
them or None, options by name, and classes of further fields.
"""

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from myosotis.errors import ConfigError

__all__ = ["from_settings", "set_value", "to_settings"]

Config = TypeVar("Config")
Settings = dict[str, Any]

_NAMES = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


def from_settings(cls: type[Config], settings: Mapping[str, Any], source: str) -> Config:
    """Make a configuration of the dataclass `cls`; what is not given keeps its default.

    A field whose metadata has a function `parse` is passed through it first.

    Args:
        cls: a dataclass.
        settings: values by field name, nested as the classes are.
        source: where they come from, for messages.

    Raises:
        ConfigError: a name does not exist, or a value has the wrong type.

    Example:
        >>> from myosotis.train import TrainConfig
        >>> from_settings(TrainConfig, {"model": {"depht": 2}}, "my.yaml")
        Traceback (most recent call last):
        myosotis.errors.ConfigError: my.yaml: there is no 'model.depht'; did you mean 'model.depth'?
    """
    config: Config = _build(cls, settings, source, "")
    return config


def _build(cls: Any, settings: object, source: str, prefix: str) -> Any:
    if not isinstance(settings, Mapping):
        where = f"'{prefix.rstrip('.')}' has" if prefix else "the file must have"
        raise ConfigError(f"{source}: {where} settings by name, not {settings!r}")
    known = {field.name: field for field in fields(cls)}
    for name in settings:
        if name not in known:
            raise ConfigError(f"{source}: {_unknown(str(name), list(known), prefix)}")
    values = {}
    for name, value in settings.items():
        key, declared = prefix + name, _types(cls)[name]
        if is_dataclass(declared):
            values[name] = _build(declared, value, source, f"{key}.")
            continue
        try:
            parse = known[name].metadata.get("parse")
            value = value if parse is None or value is None else parse(value)
        except ConfigError as error:
            raise ConfigError(f"{source}: {key}: {error}") from None
        values[name] = _checked(declared, value, f"{source}: {key}")
    try:
        return cls(**values)
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from None


@cache
def _types(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _checked(declared: Any, value: object, where: str) -> object:
    """The value as its declared type: a whole number may stand for a number, nothing else."""
    for choice in _alternatives(declared):
        if get_origin(choice) is Literal and value in get_args(choice):
            return value
        if choice is type(None) and value is None:
            return None
        if choice is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if get_origin(choice) is tuple and isinstance(value, list | tuple):
            element, _ = get_args(choice)
            return tuple(_checked(element, v, f"{where}.{i}") for i, v in enumerate(value))
        if get_origin(choice) is Mapping and isinstance(value, Mapping):
            return dict(value)
        if choice in _NAMES and type(value) is choice:
            return value
    expected = " or ".join(map(_describe, _alternatives(declared)))
    raise ConfigError(f"{where} is {value!r}; it must be {expected}")


def _alternatives(declared: Any) -> tuple[Any, ...]:
    if get_origin(declared) in (Union, types.UnionType):
        return get_args(declared)
    return (declared,)


def _describe(choice: Any) -> str:
    if choice is type(None):
        return "null"
    if get_origin(choice) is Literal:
        return f"one of {', '.join(map(str, get_args(choice)))}"
    if get_origin(choice) is tuple:
        return "a list"
    return _NAMES.get(choice, "options by name")


def _unknown(name: str, known: list[str], prefix: str) -> str:
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean {prefix + near[0]!r}?" if near else f"there are {', '.join(known)}"
    return f"there is no {prefix + name!r}; {hint}"


def to_settings(config: object) -> Settings:
    """Return a configuration as plain values: the inverse of `from_settings`.

    Example:
        >>> from myosotis.train import OptimiserConfig
        >>> to_settings(OptimiserConfig())["weight_decay"]
        0.05
    """
    assert is_dataclass(config)
    values = {field.name: getattr(config, field.name) for field in fields(config)}
    return {name: _plain(value) for name, value in values.items()}


def _plain(value: object) -> object:
    if is_dataclass(value):
        return to_settings(value)
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


def set_value(settings: Settings, key: str, value: object) -> None:
    """Set one value in nested settings by its dotted name.

    Raises:
        ConfigError: a part of the name before the last is a plain value.

    Example:
        >>> settings = {"model": {"dim": 64}}
        >>> set_value(settings, "model.depth", 6)
        >>> settings
        {'model': {'dim': 64, 'depth': 6}}
    """
    *groups, name = key.split(".")
    inner = settings
    for group in groups:
        inner = inner.setdefault(group, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"there is no {key!r}: {group!r} is a plain value")
    inner[name] = value
