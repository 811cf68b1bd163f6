"""Reading ListOps from files: the Long Range Arena's, or those of the original data."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from myosotis.data.listops import tokenize
from myosotis.data.listops_examples import Corpus
from myosotis.errors import DataError

__all__ = ["read_tsv"]

_HEADER = ["Source", "Target"]


def read_tsv(path: Path) -> Corpus:
    r"""Read expressions and their values.

    With a first line `Source<TAB>Target`, as the Long Range Arena has it, lines are an expression,
    a tab and its value; without, as in the original data, the value comes first.

    Raises:
        DataError: naming file and line, if the file cannot be read or a line is not like that.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "basic_test.tsv")
        ...     _ = path.write_text("Source\tTarget\n( ( [MAX 2 ) 9 ) ]\t9\n")
        ...     read_tsv(path).labels
        array([9])
    """
    tokens: list[NDArray[np.uint8]] = []
    labels: list[int] = []
    value_first = True
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if number == 1 and line.split() == _HEADER:
                    value_first = False
                elif line.strip():
                    expression, label = _read_line(path, number, line, value_first)
                    tokens.append(expression)
                    labels.append(label)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is no text in UTF-8: {error}") from None
    if not tokens:
        raise DataError(f"{path} has no expressions")
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in tokens], dtype=np.int64)])
    return Corpus(np.concatenate(tokens), offsets, np.array(labels, dtype=np.int64))


def _read_line(
    path: Path, number: int, line: str, value_first: bool
) -> tuple[NDArray[np.uint8], int]:
    """Return the tokens and the value of a line."""
    columns = line.strip().split("\t")
    if len(columns) != 2:
        raise DataError(f"{path}, line {number}: expected 2 columns, got {len(columns)}")
    expression, value = reversed(columns) if value_first else columns
    value = value.strip()
    if len(value) != 1 or value not in "0123456789":
        shown = value if len(value) <= 20 else f"{value[:20]}…"
        raise DataError(f"{path}, line {number}: expected a value 0-9, got {shown!r}")
    try:
        return tokenize(expression), int(value)
    except DataError as error:
        raise DataError(f"{path}, line {number}: {error}") from None
