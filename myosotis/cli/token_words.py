"""The words that a task's tokens stand for."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from myosotis.data import Task
from myosotis.data.folder import data_folder
from myosotis.data.listops import as_text
from myosotis.data.published import SST
from myosotis.data.sst import parse_treebank

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
    if task.name in ("listops", "listops-tree"):
        return [as_text(np.array([token], dtype=np.uint8)) for token in tokens]
    if task.name in ("sst", "sst-binary"):
        words = _sst_words(task, data_folder(data_dir))
        return [words.get(token, "‹unknown›") for token in tokens]
    return [str(token) for token in tokens]


def _sst_words(task: Task, root: Path) -> dict[int, str]:
    """The vocabulary: the words of the training set in alphabetical order, as the last tokens."""
    training = SST.files[0]
    bank = parse_treebank(SST.read(training, root), str(SST.find(training, root)))
    words = sorted({word for word in bank.words if word})
    return dict(enumerate(words, start=task.vocabulary - len(words)))
