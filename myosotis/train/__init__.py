"""Training: configurations, recipes, runs.

Lightning drives the loop and is imported when a run is asked for; configurations do without it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from myosotis.train.config import ModelConfig, OptimiserConfig, TrainConfig

if TYPE_CHECKING:
    from myosotis.train.runs import create_run, run
    from myosotis.train.saved import best_model, saved_model

__all__ = [
    "ModelConfig",
    "OptimiserConfig",
    "TrainConfig",
    "best_model",
    "create_run",
    "run",
    "saved_model",
]

_LAZY = {"best_model": "saved", "create_run": "runs", "run": "runs", "saved_model": "saved"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'myosotis.train' has no attribute {name!r}")
    return getattr(import_module(f"myosotis.train.{_LAZY[name]}"), name)
