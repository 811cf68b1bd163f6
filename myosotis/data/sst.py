"""The Stanford Sentiment Treebank: every sentence comes with its own parse tree.

A line of its files is one tree, such as `(3 (2 It) (4 (2 's) (4 good)))`: every pair of brackets
is a node with a class from 0 (very negative) to 4 (very positive), and a leaf holds one word.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from myosotis.data.forests import ForestSplit
from myosotis.data.published import SST
from myosotis.data.registry import register
from myosotis.data.task import Provenance, Task
from myosotis.errors import DataError

__all__ = ["Treebank", "load_sst", "load_sst_binary", "parse_treebank", "vocabulary_of"]

_NEUTRAL = 2
_UNKNOWN, _FIRST_WORD = 1, 2  # 0 is for nodes without a word
# One step of a tree: a leaf, the beginning of an inner node, or its end. Only the blank separates:
# some words contain a no-break space.
_STEP = re.compile(r"\(([0-4]) (?:([^ ()]+)\) ?)?|(\)) ?")


@dataclass(frozen=True, eq=False)
class Treebank:
    """Labelled trees, laid end to end; the nodes of each in the order in which they begin.

    Attributes:
        parents: int64[total nodes], counted from the first node of the same tree, -1 for a root.
        offsets: int64[trees + 1], where each tree's nodes begin.
        words: of all nodes, empty for inner ones. No array: that would be as wide as its longest.
        classes: int64[total nodes], 0–4.

    Example:
        >>> parse_treebank(b"(4 (2 so) (3 good))", where="a tree").classes
        array([4, 2, 3])
    """

    parents: NDArray[np.int64]
    offsets: NDArray[np.int64]
    words: Sequence[str]
    classes: NDArray[np.int64]

    @property
    def roots(self) -> NDArray[np.int64]:
        """int64[trees], the index of each root, which is the first node of its tree."""
        return self.offsets[:-1]

    def take(self, trees: NDArray[np.int64]) -> "Treebank":
        """Return some of the trees."""
        sizes = np.diff(self.offsets)
        chosen = np.zeros(len(sizes), dtype=bool)
        chosen[trees] = True
        nodes = np.repeat(chosen, sizes)
        offsets = np.concatenate([[0], np.cumsum(sizes[chosen])])
        words = list(compress(self.words, nodes.tolist()))
        return Treebank(self.parents[nodes], offsets, words, self.classes[nodes])


def parse_treebank(content: bytes, where: str) -> Treebank:
    r"""Read trees, one a line; empty lines are passed over.

    Args:
        content: the whole file, UTF-8.
        where: names the file in messages.

    Raises:
        DataError: for a line that is no tree, with its number and the place in it.

    Example:
        >>> bank = parse_treebank(b"(3 (2 It) (4 (2 's) (4 good)))\n(1 No)\n", where="two trees")
        >>> bank.parents
        array([-1,  0,  0,  2,  2, -1])
        >>> bank.words
        ['', 'It', '', "'s", 'good', 'No']
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{where} is no UTF-8 text: {error}") from None
    parents: list[int] = []
    words: list[str] = []
    classes: list[int] = []
    offsets = [0]
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            _parse_line(line.strip(" \r"), f"{where}, line {number}", parents, words, classes)
            offsets.append(len(parents))
    return Treebank(
        np.array(parents, dtype=np.int64),
        np.array(offsets, dtype=np.int64),
        words,
        np.array(classes, dtype=np.int64),
    )


def _parse_line(
    line: str, where: str, parents: list[int], words: list[str], classes: list[int]
) -> None:
    """Append the nodes of one tree. The open nodes are kept in a list: nesting may be deep."""
    first, place = len(parents), 0
    open_nodes: list[int] = []
    while place < len(line):
        step = _STEP.match(line, place)
        last = len(parents) - 1 - first
        begun_and_ended = last >= 0 and not open_nodes
        closes_nothing = step is not None and step[3] and (not open_nodes or open_nodes[-1] == last)
        if step is None or begun_and_ended or closes_nothing:
            raise DataError(
                f"{where}, column {place + 1}: {_complaint(line[place:], begun_and_ended)}"
            )
        place = step.end()
        if step[3]:
            open_nodes.pop()
            continue
        parents.append(open_nodes[-1] if open_nodes else -1)
        words.append(step[2] or "")
        classes.append(int(step[1]))
        if not step[2]:
            open_nodes.append(last + 1)
    if open_nodes:
        raise DataError(f"{where}: {len(open_nodes)} brackets are never closed")


def _complaint(rest: str, ended: bool) -> str:
    """Say what is wrong where `rest` begins."""
    found = repr(rest[:12])
    if ended:
        return f"expected the end of the line after a tree, got {found}"
    return f"expected '(' with a class 0–4, or ')' after a word or a child, got {found}"


@register(
    "sst",
    summary="sentiment of sentences on their parse trees, five classes",
    origin="download",
    source=SST,
)
def load_sst(root: Path) -> Task:
    """Make the task `sst`: the class of a whole sentence, 0–4.

    Raises:
        DataError: if a file is missing, truncated or altered.

    Example:
        >>> load_sst(Path("nowhere"))
        Traceback (most recent call last):
        myosotis.errors.DataError: nowhere...train.txt is missing: get it with ...
    """
    banks = _read(root)
    return _task("sst", banks, num_classes=5, provenance=_provenance(banks))


@register(
    "sst-binary",
    summary="sentiment of sentences on their parse trees, without the neutral ones",
    origin="download",
    source=SST,
)
def load_sst_binary(root: Path) -> Task:
    """Make the task `sst-binary`: is a sentence positive? Neutral ones are left out.

    Labels of nodes are 0 and 1 too, and -1 for neutral ones.

    Raises:
        DataError: if a file is missing, truncated or altered.

    Example:
        >>> load_sst_binary(Path("nowhere"))
        Traceback (most recent call last):
        myosotis.errors.DataError: nowhere...train.txt is missing: get it with ...
    """
    banks = _read(root)
    clear = [bank.take(np.flatnonzero(bank.classes[bank.roots] != _NEUTRAL)) for bank in banks]
    return _task("sst-binary", clear, num_classes=2, provenance=_provenance(banks))


def _read(root: Path) -> list[Treebank]:
    """Read the training, development and test trees."""
    return [parse_treebank(SST.read(file, root), str(SST.find(file, root))) for file in SST.files]


def _provenance(banks: Sequence[Treebank]) -> Provenance:
    counts = [len(bank.roots) for bank in banks]
    return SST.provenance(dict(zip(("train", "dev", "test"), counts, strict=True)))


def vocabulary_of(training: Treebank) -> dict[str, int]:
    """Return the token of each word of the training trees, in alphabetical order.

    Example:
        >>> vocabulary_of(parse_treebank(b"(4 (2 so) (3 good))", where="a tree"))
        {'good': 2, 'so': 3}
    """
    words = sorted({word for word in training.words if word})
    return {word: token for token, word in enumerate(words, _FIRST_WORD)}


def _task(name: str, banks: Sequence[Treebank], num_classes: int, provenance: Provenance) -> Task:
    learned = vocabulary_of(banks[0])
    vocabulary = {"": 0, **learned}
    train, validation, test = (_split(bank, vocabulary, num_classes) for bank in banks)
    return Task(
        name=name,
        train=train,
        validation=validation,
        test=test,
        tree=None,
        num_classes=num_classes,
        kind="tokens",
        vocabulary=_FIRST_WORD + len(learned),
        provenance=provenance,
    )


def _split(bank: Treebank, vocabulary: Mapping[str, int], num_classes: int) -> ForestSplit:
    classes = bank.classes
    if num_classes == 2:
        classes = np.where(classes == _NEUTRAL, -1, classes > _NEUTRAL)
    tokens = [vocabulary.get(word, _UNKNOWN) for word in bank.words]
    return ForestSplit(
        bank.parents,
        bank.offsets,
        np.array(tokens, dtype=np.int64),
        classes[bank.roots],
        node_labels=classes,
    )
