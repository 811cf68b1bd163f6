"""Checkpoints: a folder with the model as `Classifier.from_pretrained` reads it, and the rest.

| file | holds |
|---|---|
| config.json | the `ClassifierConfig` |
| model.safetensors | the weights |
| training.pt | optimiser, schedule, loops, random numbers: what `--resume` needs; not in `best` |
"""

import io
import json
import pickle
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import constants
from pytorch_lightning.plugins.io import CheckpointIO
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from myosotis.errors import DataError
from myosotis.nn import ClassifierConfig
from myosotis.train.files import read_folder, write_folder

__all__ = ["PREFIX", "FolderCheckpoints"]

PREFIX = "model."  # of the classifier's weights in the names of the Lightning module's
_TRAINING = "training.pt"
_DAMAGE = (OSError, RuntimeError, ValueError, EOFError, pickle.UnpicklingError, SafetensorError)


class FolderCheckpoints(CheckpointIO):
    """Writes and reads Lightning's checkpoints as folders, each replaced as a whole.

    Args:
        config: of the model, to be stored beside its weights.

    Example:
        >>> import tempfile
        >>> from myosotis import Tree
        >>> from myosotis.nn import Classifier
        >>> config = ClassifierConfig(2, Tree.star(2), channels=1, dim=4, depth=1)
        >>> weights = {PREFIX + name: t for name, t in Classifier(config).state_dict().items()}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     FolderCheckpoints(config).save_checkpoint({"state_dict": weights}, f"{folder}/best")
        ...     Classifier.from_pretrained(f"{folder}/best").config == config
        True
    """

    def __init__(self, config: ClassifierConfig) -> None:
        self._config = config

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | Path, storage_options: object = None
    ) -> None:
        """Write a checkpoint; one without the optimiser's state is a model only."""
        weights = {
            name.removeprefix(PREFIX): tensor.detach().cpu().contiguous()
            for name, tensor in checkpoint["state_dict"].items()
        }
        text = json.dumps(self._config.to_dict(), sort_keys=True, indent=2) + "\n"
        contents = {
            constants.CONFIG_NAME: text.encode(),
            constants.SAFETENSORS_SINGLE_FILE: _packed(weights),
        }
        if "optimizer_states" in checkpoint:
            rest = {key: value for key, value in checkpoint.items() if key != "state_dict"}
            buffer = io.BytesIO()  # torch reports a full disk as a defect of its own
            torch.save(rest, buffer)
            contents[_TRAINING] = buffer.getvalue()
        write_folder(Path(path), contents)

    def load_checkpoint(
        self, path: str | Path, map_location: object = None, weights_only: bool | None = None
    ) -> dict[str, Any]:
        """Read a checkpoint back, never running code that a file might hold.

        Raises:
            DataError: it is missing or damaged.
        """
        folder = read_folder(Path(path))
        if folder is None:
            raise DataError(f"there is no checkpoint {path}")
        try:
            checkpoint: dict[str, Any] = torch.load(
                folder / _TRAINING, map_location="cpu", weights_only=True
            )
            weights = _unpacked(folder / constants.SAFETENSORS_SINGLE_FILE)
        except _DAMAGE as error:
            raise DataError(f"the checkpoint {folder} is damaged: {error}") from error
        checkpoint["state_dict"] = {PREFIX + name: tensor for name, tensor in weights.items()}
        return checkpoint

    def remove_checkpoint(self, path: str | Path) -> None:
        """Lightning's own checkpointing, which would remove some, is not in use."""
        raise NotImplementedError


def _packed(weights: dict[str, Tensor]) -> bytes:
    """As safetensors, in which a tensor with several names has one; the metadata has the others.

    That is how safetensors itself saves the weights of a module.
    """
    names: dict[int, str] = {}
    metadata = {"format": "pt"}
    for name, tensor in weights.items():
        first = names.setdefault(tensor.data_ptr(), name) if tensor.numel() else name
        if first != name:
            metadata[name] = first
    kept = {name: tensor for name, tensor in weights.items() if name not in metadata}
    return save(kept, metadata=metadata)


def _unpacked(file: Path) -> dict[str, Tensor]:
    """The weights of `_packed`, by all their names."""
    with safe_open(file, framework="pt") as content:
        names = content.keys()  # a file, not a dictionary: it cannot be iterated over itself
        weights = {name: content.get_tensor(name) for name in names}
        for name, first in content.metadata().items():
            if first in weights:
                weights[name] = weights[first]
    return weights
