"""Training: configurations, recipes, runs.

Lightning drives the loop and is imported when a run is; configurations need it not.
"""

from typing import TYPE_CHECKING, Any

from myosotis.train.config import ModelConfig, OptimiserConfig, TrainConfig

if TYPE_CHECKING:
    from myosotis.train.runs import best_model, create_run, run

__all__ = ["ModelConfig", "OptimiserConfig", "TrainConfig", "best_model", "create_run", "run"]


def __getattr__(name: str) -> Any:
    if name in ("best_model", "create_run", "run"):
        from importlib import import_module

        return getattr(import_module("myosotis.train.runs"), name)
    raise AttributeError(f"module 'myosotis.train' has no attribute {name!r}")
