"""IMDB reviews as sequences of bytes: is a review positive?"""

import hashlib
import os
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from myosotis.data.arrays import ArraySplit
from myosotis.data.order import hold_out
from myosotis.data.published import IMDB
from myosotis.data.registry import register
from myosotis.data.source import read_content
from myosotis.data.task import DataFile, Task
from myosotis.errors import DataError
from myosotis.tree import Tree

__all__ = ["load_imdb", "pack_texts", "read_reviews"]

_LEAVES = 4_096
_BRANCHING = 2
_VALIDATION = 2_500
_LARGEST_REVIEW = 2**16
_NAME = re.compile(r"([0-9]{1,5})_([0-9]{1,2})\.txt")


@register(
    "imdb",
    summary="IMDB reviews as up to 4,096 bytes, two classes",
    origin="download",
    source=IMDB,
)
def load_imdb(root: Path) -> Task:
    """Make the task `imdb`: a token is a byte of UTF-8, and longer reviews are cut.

    Raises:
        DataError: if a review is missing, or the reviews are not those that were published.

    Example:
        >>> load_imdb(Path("nowhere"))
        Traceback (most recent call last):
        myosotis.errors.DataError: nowhere...neg is missing: get it with ...
    """
    texts = {file.path: _read_verified(file, root) for file in IMDB.files}
    train, test = (_labelled(texts[f"{p}/neg"], texts[f"{p}/pos"]) for p in ("train", "test"))
    train_rows, validation_rows = hold_out(len(train[1]), _VALIDATION)
    return Task(
        name="imdb",
        train=_split(*train, train_rows),
        validation=_split(*train, validation_rows),
        test=_split(*test, np.arange(len(test[1]))),
        tree=Tree.over(_LEAVES, _BRANCHING),
        num_classes=2,
        kind="tokens",
        vocabulary=256,
        provenance=IMDB.provenance({"train": len(train[1]), "test": len(test[1])}),
    )


def read_reviews(folder: Path) -> list[bytes]:
    """Read the reviews `NUMBER_RATING.txt` of a folder in the order of their numbers.

    Other files are left alone.

    Raises:
        DataError: if there is no such folder, a review is empty, too long or no text, or two have
            the same number.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "10_9.txt").write_text("Great")
        ...     _ = Path(folder, "2_7.txt").write_text("Fine")
        ...     read_reviews(Path(folder))
        [b'Fine', b'Great']
    """
    numbered: dict[int, str] = {}
    for name in _names_in(folder):
        if match := _NAME.fullmatch(name):
            number = int(match[1])
            if number in numbered:
                raise DataError(f"{folder} has two reviews of one number: {name}")
            numbered[number] = name
    reviews = []
    for number in sorted(numbered):
        path = folder / numbered[number]
        review = read_content(path, _LARGEST_REVIEW)
        if not review or 0 in review:  # 0 is the token for padding
            raise DataError(f"{path} is {'no text' if review else 'empty'}: expected a review")
        reviews.append(review)
    return reviews


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror or error}") from None


def pack_texts(texts: list[bytes], leaves: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Lay texts out as rows, cut at `leaves` bytes or filled up with zeros.

    Returns:
        tokens: uint8 (number of texts, leaves).
        lengths: int64[number of texts], bytes of each that are kept.

    Example:
        >>> pack_texts([b"no", b"great"], leaves=3)
        (array([[110, 111,   0],
               [103, 114, 101]], dtype=uint8), array([2, 3]))
    """
    cut = [text[:leaves] for text in texts]
    lengths = np.array([len(text) for text in cut], dtype=np.int64)
    tokens = np.zeros((len(texts), leaves), dtype=np.uint8)
    tokens[np.arange(leaves) < lengths[:, None]] = np.frombuffer(b"".join(cut), np.uint8)
    return tokens, lengths


def _read_verified(file: DataFile, root: Path) -> list[bytes]:
    folder = IMDB.find(file, root)
    reviews = read_reviews(folder)
    digest = hashlib.sha256()
    for review in reviews:
        digest.update(review)
    IMDB.verify(folder, sum(map(len, reviews)), digest.hexdigest(), file)
    return reviews


def _labelled(
    negative: list[bytes], positive: list[bytes]
) -> tuple[list[bytes], NDArray[np.int64]]:
    return negative + positive, np.repeat(np.arange(2), [len(negative), len(positive)])


def _split(texts: list[bytes], labels: NDArray[np.int64], rows: NDArray[np.int64]) -> ArraySplit:
    tokens, lengths = pack_texts([texts[row] for row in rows], _LEAVES)
    return ArraySplit(tokens, labels[rows], np.arange(len(rows)), lengths=lengths)
