"""The words that a task's tokens stand for."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from myosotis.data import Task
from myosotis.data.folder import data_folder
from myosotis.data.listops import as_text
from myosotis.data.published import SST
from myosotis.data.sst import parse_treebank, vocabulary_of

__all__ = ["token_words"]


def token_words(task: Task, tokens: Sequence[int], data_dir: Path | None) -> list[str]:
    """Write tokens as text, one by one; those of a task that is not known here as numbers.

    Args:
        task: where they come from.
        tokens: of one example, padding left out.
        data_dir: where the data is, which may be needed to know the words.

    Raises:
        DataError: data is missing or damaged.

    Example:
        >>> from dataclasses import replace
        >>> from myosotis.data import load
        >>> token_words(replace(load("digits"), name="imdb"), [72, 105, 33], None)
        ['H', 'i', '!']
    """
    if task.name == "imdb":
        return [chr(token) if token < 128 else "\ufffd" for token in tokens]
    if task.name in ("listops", "listops-chain", "listops-tree"):
        return [as_text(np.array([token], dtype=np.uint8)) for token in tokens]
    if task.name in ("sst", "sst-binary"):
        words = _sst_words(data_folder(data_dir))
        return [words.get(token, "‹unknown›") for token in tokens]
    return [str(token) for token in tokens]


def _sst_words(root: Path) -> dict[int, str]:
    """The word of each token that stands for one."""
    training = SST.files[0]
    bank = parse_treebank(SST.read(training, root), str(SST.find(training, root)))
    return {token: word for word, token in vocabulary_of(bank).items()}
