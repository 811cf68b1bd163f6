"""Neuron morphologies in SWC files: one sample per line, `id type x y z radius parent`."""

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from myosotis.errors import TreeError, TreeFileError
from myosotis.tree.numbering import canonical_numbering

__all__ = ["swc_numbering"]

_NUM_COLUMNS = 7
_PARENT_COLUMN = 6


def swc_numbering(path: str | os.PathLike[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    r"""Read the tree of samples, numbered canonically.

    Lines that start with `#` and columns after the seventh are ignored; a parent of -1 marks a
    root. Identifiers are any non-negative integers in any order.

    Args:
        path: the file.

    Returns:
        parent: int64[L], canonical parents.
        input_index: int64[L], canonical number -> place among the file's samples, from 0.

    Raises:
        TreeFileError: if a line cannot be read or the samples form no forest, with file and line.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "neuron.swc")
        ...     _ = path.write_text("# soma first\n1 1 0 0 0 5 -1\n7 3 1 0 0 1 1\n")
        ...     swc_numbering(path)
        (array([ 1, -1]), array([1, 0]))
    """
    row_of: dict[int, int] = {}
    parent_ids: list[tuple[int, int]] = []  # (parent's identifier, line number) of each row
    for line_number, columns in _data_lines(path):
        where = f"{path}, line {line_number}"
        identifier, parent_id = _identifiers(columns, where)
        if identifier in row_of:
            raise TreeFileError(f"{where}: id {identifier} was used before")
        row_of[identifier] = len(row_of)
        parent_ids.append((parent_id, line_number))
    row_of[-1] = -1
    parents = []
    for parent_id, line_number in parent_ids:
        if parent_id not in row_of:
            raise TreeFileError(
                f"{path}, line {line_number}: no sample has the parent's id {parent_id}"
            )
        parents.append(row_of[parent_id])
    try:
        return canonical_numbering(parents)
    except TreeError as error:
        raise TreeFileError(f"{path}: {error} (nodes are samples, counted from 0)") from None


def _data_lines(path: str | os.PathLike[str]) -> list[tuple[int, list[str]]]:
    """Return the line number, from 1, and the columns of every line that holds a sample."""
    # Comments may be in any encoding; samples are ASCII, so a replaced character does not matter.
    lines = Path(path).read_text(encoding="utf-8", errors="replace").split("\n")
    columns = ((number, line.split()) for number, line in enumerate(lines, start=1))
    return [(number, words) for number, words in columns if words and words[0][0] != "#"]


def _identifiers(columns: list[str], where: str) -> tuple[int, int]:
    """Return the identifiers of a sample and of its parent."""
    if len(columns) < _NUM_COLUMNS:
        raise TreeFileError(
            f"{where}: expected {_NUM_COLUMNS} columns (id type x y z radius parent), "
            f"got {len(columns)}"
        )
    try:
        for column in columns[1:_PARENT_COLUMN]:
            float(column)
        identifier, parent_id = int(columns[0]), int(columns[_PARENT_COLUMN])
    except ValueError as error:
        raise TreeFileError(f"{where}: not a number where one is needed: {error}") from None
    if identifier < 0:
        raise TreeFileError(f"{where}: id {identifier} is negative")
    return identifier, parent_id
