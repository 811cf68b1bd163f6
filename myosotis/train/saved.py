"""Trained models, as runs and others leave them."""

from pathlib import Path

from huggingface_hub import constants
from safetensors import SafetensorError

from myosotis.errors import ConfigError, DataError
from myosotis.nn import Classifier
from myosotis.train.files import read_folder
from myosotis.train.layout import BEST, CONFIG
from myosotis.train.recipes import load_config

__all__ = ["best_model", "saved_model"]


def best_model(folder: Path) -> Classifier:
    """Return the model with the best validation accuracy of a run.

    Raises:
        ConfigError: there is none.
        DataError: it is damaged.

    Example:
        >>> best_model(Path("no-such-run"))
        Traceback (most recent call last):
        myosotis.errors.ConfigError: no-such-run has no checkpoints/best: ...
    """
    best = read_folder(folder / BEST)
    if best is None:
        raise ConfigError(f"{folder} has no {BEST}: give the folder of a run of 'myo train'")
    return _load_model(best)


def saved_model(folder: Path, task: str | None = None) -> tuple[Classifier, str]:
    """Return a trained model and the name of its task.

    Args:
        folder: of a run, or of a model that `Classifier.save_pretrained` or a run wrote.
        task: name of the task; None for that of the run.

    Raises:
        ConfigError: there is no model, or nothing says what its task is.
        DataError: it is damaged.

    Example:
        >>> saved_model(Path("no-such-run"))
        Traceback (most recent call last):
        myosotis.errors.ConfigError: no-such-run is neither a run of 'myo train' nor a saved model
    """
    if (folder / CONFIG).exists():
        return best_model(folder), task or load_config(folder / CONFIG).task
    if not (folder / constants.SAFETENSORS_SINGLE_FILE).exists():
        raise ConfigError(f"{folder} is neither a run of 'myo train' nor a saved model")
    if task is None:
        raise ConfigError(f"{folder} is a model without its run: name its task with --task")
    return _load_model(folder), task


def _load_model(folder: Path) -> Classifier:
    try:
        model: Classifier = Classifier.from_pretrained(str(folder))
    except (SafetensorError, RuntimeError) as error:
        raise DataError(f"the model in {folder} is damaged: {error}") from error
    return model
