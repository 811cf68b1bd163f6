"""Recipes: settings of a run as YAML, in files of yours or among those that come with the library.

The library's are called `cpu/<task>`, for two cores, and `paper/<task>`, for accelerators.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from myosotis.errors import ConfigError
from myosotis.train.config import TrainConfig
from myosotis.train.settings import Settings, from_settings, set_value, to_settings

__all__ = [
    "ON_TREES_ONLY",
    "available_recipes",
    "dump_config",
    "load_config",
    "resolve_config",
    "with_mixer",
]


_SHIPPED = Path(__file__).resolve().parent.parent / "recipes"


class _Loader(yaml.SafeLoader):
    """YAML in which 1e-3 is a number, as in version 1.2 of the language."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?[eE][-+]?[0-9]+"),
    list("-+0123456789"),
)


def available_recipes() -> list[str]:
    """Return the names of the recipes that come with the library.

    Example:
        >>> "cpu/digits" in available_recipes()
        True
    """
    return sorted(
        f"{folder.name}/{file.stem}"
        for folder in _SHIPPED.iterdir()
        for file in folder.glob("*.yaml")
    )


def load_config(path: Path) -> TrainConfig:
    """Read the configuration in a file.

    Raises:
        ConfigError: it is missing, no YAML, or has wrong settings.

    Example:
        >>> load_config(Path("no-such.yaml"))
        Traceback (most recent call last):
        myosotis.errors.ConfigError: cannot read no-such.yaml: ...
    """
    return from_settings(TrainConfig, _read(path, str(path)), str(path))


def dump_config(config: TrainConfig) -> str:
    """Return a configuration as YAML, with every setting.

    Example:
        >>> print(dump_config(TrainConfig())[:13])
        task: digits
    """
    text: str = yaml.safe_dump(to_settings(config), sort_keys=False, allow_unicode=True)
    return text


def resolve_config(
    task: str | None = None,
    *,
    recipe: str | None = None,
    mixer: str | None = None,
    changes: Mapping[str, object] | None = None,
    assignments: Sequence[str] = (),
) -> TrainConfig:
    """Put a configuration together: a recipe, then what the caller wants otherwise.

    Args:
        task: name of the task; that of the recipe, or else `digits`, if None.
        recipe: a file, or one of `available_recipes()`. If None, `cpu/<task>` if there is one,
            otherwise the defaults.
        mixer: another mixer than the recipe's; what the recipe has for its own only, such as
            `heads`, is then left out.
        changes: values by dotted name, such as `{"epochs": 3}`.
        assignments: texts such as `model.dim=128`, their values in YAML; these come last.

    Raises:
        ConfigError: a file or setting does not exist, or a value has the wrong type.

    Example:
        >>> config = resolve_config("digits", assignments=["optimiser.lr=1e-3", "model.depth=2"])
        >>> config.optimiser.lr, config.model.depth
        (0.001, 2)
    """
    settings, source = _recipe(task, recipe)
    if task is not None:
        settings["task"] = task
    if mixer is not None:
        settings = with_mixer(settings, mixer)
    from_settings(TrainConfig, settings, source)  # mistakes in the file are blamed on the file
    for key, value in (changes or {}).items():
        set_value(settings, key, value)
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals or not key:
            raise ConfigError(f"--set {assignment}: write it as name=value")
        set_value(settings, key, _parse(text, f"--set {assignment}"))
    return from_settings(TrainConfig, settings, "--set" if assignments else "the settings")


# What a model can do with a tree, and none with a mixer over sequences.
ON_TREES_ONLY = ("recursive", "climb_after", "widen", "shifts")
_FOR_ONE_MIXER = ("heads", "mixer_options", *ON_TREES_ONLY)


def with_mixer(settings: Settings, mixer: str) -> Settings:
    """Return the settings with another mixer, and without what was meant for the first.

    Example:
        >>> with_mixer({"model": {"mixer": "myo", "heads": 32, "dim": 8}}, "s5")
        {'model': {'mixer': 's5', 'dim': 8}}
    """
    model = dict(settings.get("model") or {})
    if model.get("mixer", TrainConfig().model.mixer) != mixer:
        model = {k: v for k, v in model.items() if k not in _FOR_ONE_MIXER}
    return {**settings, "model": {**model, "mixer": mixer}}


def _recipe(task: str | None, recipe: str | None) -> tuple[Settings, str]:
    if recipe is None:
        name = f"cpu/{task or TrainConfig.task}"
        return (_shipped_settings(name), name) if name in available_recipes() else ({}, "defaults")
    if recipe in available_recipes():
        return _shipped_settings(recipe), recipe
    return _read(Path(recipe), recipe), recipe


def _shipped_settings(name: str) -> Settings:
    return _read(_SHIPPED / f"{name}.yaml", name)


def _read(file: Path, source: str) -> Settings:
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        known = ", ".join(available_recipes())
        raise ConfigError(
            f"cannot read {source}: {error.strerror}; give a file, or a recipe of {known}"
        ) from None
    settings = _parse(text, source)
    if not isinstance(settings, dict):
        raise ConfigError(f"{source}: a recipe has settings by name, such as 'epochs: 10'")
    return settings


def _parse(text: str, source: str) -> Any:
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise ConfigError(f"{source} is no YAML: {error}") from None
