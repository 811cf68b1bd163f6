"""The tasks `listops`, `listops-chain` and `listops-tree`: what is the value of an expression?

Files of the Long Range Arena or of the original data are read if they are in the folder
`listops` of the data folder. Otherwise expressions are generated into it on first use.
"""

import hashlib
import itertools
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from myosotis.data.arrays import ArraySplit
from myosotis.data.forests import ForestSplit
from myosotis.data.generated import dataset
from myosotis.data.growing import Arrays, Recipe
from myosotis.data.listops import FIRST_OPERATOR, VOCABULARY
from myosotis.data.listops_chains import chains
from myosotis.data.listops_examples import Corpus, Expressions
from myosotis.data.listops_files import read_tsv
from myosotis.data.order import hold_out
from myosotis.data.registry import register
from myosotis.data.task import DataFile, Provenance, Task
from myosotis.errors import DataError
from myosotis.tree import Tree

__all__ = ["generated_listops", "load_listops", "load_listops_chain", "load_listops_tree"]

LEAVES = 2048
LONGEST = 2000
SIZES = {"train": 96_000, "validation": 2_000, "test": 2_000}

_VERSION = 1
_SEED = 0
_FOLDER = "listops"
_LRA = {"train": "basic_train.tsv", "validation": "basic_val.tsv", "test": "basic_test.tsv"}
_ORIGINAL = {"train": "train_d20s.tsv", "test": "test_d20s.tsv"}
_HELD_OUT = 2_000  # for validation, of the original data, which has none


@register(
    "listops",
    summary="nested lists of digits as up to 2,000 tokens, ten classes",
    origin="generated",
    folder=_FOLDER,
)
def load_listops(root: Path, *, branching: int = 2) -> Task:
    """Make the task `listops`: the expression as a sequence on a tree over 2,048 leaves.

    Args:
        root: the data folder.
        branching: of the tree.

    Raises:
        DataError: if a file cannot be read or written.
    """
    found = _read_files(root)
    if found is None:
        examples, provenance = generated_listops(root)
    else:
        corpora, provenance = found
        examples = {name: corpus.padded(LEAVES, LONGEST) for name, corpus in corpora.items()}
    splits = {
        name: ArraySplit(
            part.tokens, part.labels, np.arange(len(part.labels)), lengths=part.lengths
        )
        for name, part in examples.items()
    }
    return Task(
        name="listops",
        train=splits["train"],
        validation=splits["validation"],
        test=splits["test"],
        tree=Tree.over(LEAVES, branching),
        num_classes=10,
        kind="tokens",
        vocabulary=VOCABULARY,
        provenance=provenance,
    )


@register(
    "listops-chain",
    summary="nested lists of digits as chains of tokens, each of its own length, ten classes",
    origin="generated",
    folder=_FOLDER,
)
def load_listops_chain(root: Path) -> Task:
    """Make the task `listops-chain`: the tokens of `listops`, each hanging on the next one.

    Nothing is padded. The label of a `]` is the value of its list; other tokens have none. The
    value of an expression counts as much as those of all lists inside it together. Training may
    begin with lists cut out of the expressions (`growing_epochs`).

    Raises:
        DataError: if a file cannot be read or written.
    """
    return _forest_task("listops-chain", root, chains)


@register(
    "listops-tree",
    summary="nested lists of digits on each expression's own tree, ten classes",
    origin="generated",
    folder=_FOLDER,
)
def load_listops_tree(root: Path) -> Task:
    """Make the task `listops-tree`: operators at the inner nodes of a tree, digits at its leaves.

    The labels of operators are the values of their lists; digits have none.

    Raises:
        DataError: if a file cannot be read or written.
    """
    return _forest_task("listops-tree", root, _tree_split)


def _forest_task(name: str, root: Path, make: Callable[[Corpus], ForestSplit]) -> Task:
    found = _read_files(root)
    if found is None:
        examples, provenance = generated_listops(root)
        corpora = {part: rows.corpus() for part, rows in examples.items()}
    else:
        corpora, provenance = found
    splits = {part: make(corpus) for part, corpus in corpora.items()}
    return Task(
        name=name,
        train=splits["train"],
        validation=splits["validation"],
        test=splits["test"],
        tree=None,
        num_classes=10,
        kind="tokens",
        vocabulary=VOCABULARY,
        inputs_on="nodes",
        provenance=provenance,
    )


def generated_listops(
    root: Path, sizes: Mapping[str, int] = SIZES, *, workers: int | None = None
) -> tuple[dict[str, Expressions], Provenance]:
    """Return generated expressions for splits of these sizes, memory-mapped.

    They are drawn as the Long Range Arena draws them, on first use, into the folder `listops`.

    Raises:
        DataError: if the generated files are damaged or cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     examples, _ = generated_listops(Path(folder), {"train": 3, "test": 1})
        ...     examples["train"].tokens.shape
        (3, 2048)
    """
    from myosotis.data.listops_generate import LRA, draw_block, replace_duplicates

    recipe = Recipe(
        version=_VERSION,
        seed=_SEED,
        count=sum(sizes.values()),
        arrays={"tokens": ("|u1", (LEAVES,)), "lengths": ("<i8", ()), "labels": ("<i8", ())},
        settings=LRA._asdict(),
    )

    def make(first: int, last: int) -> Arrays:
        return draw_block(_SEED, first, last, LRA, LEAVES)._asdict()

    def finish(arrays: Arrays) -> None:
        replace_duplicates(Expressions(**arrays), _SEED, LRA)

    made = dataset(root, _FOLDER, recipe, make, finish=finish, workers=workers)
    whole = Expressions(**made.arrays)
    ends = itertools.accumulate(sizes.values())
    examples = {
        name: whole.part(end - sizes[name], end) for name, end in zip(sizes, ends, strict=True)
    }
    source = f"generated by Myosotis (version {_VERSION}, seed {_SEED})"
    return examples, Provenance(source, "none needed", made.files, dict(sizes))


def _tree_split(corpus: Corpus) -> ForestSplit:
    from myosotis.data.listops_tree_kernels import expression_trees, node_values

    parents, tokens, offsets = expression_trees(corpus.tokens, corpus.offsets)
    values = node_values(parents, tokens, offsets)
    return ForestSplit(
        parents,
        offsets,
        tokens,
        corpus.labels,
        inputs_on="nodes",
        node_labels=np.where(tokens < FIRST_OPERATOR, -1, values),
    )


def _read_files(root: Path) -> tuple[dict[str, Corpus], Provenance] | None:
    """Read the published files; None if there is none of them."""
    for names, publisher in (
        (_LRA, "Long Range Arena (Tay et al. 2021)"),
        (_ORIGINAL, "ListOps (Nangia and Bowman 2018)"),
    ):
        paths = {split: root / _FOLDER / name for split, name in names.items()}
        absent = [path for path in paths.values() if not path.exists()]
        if len(absent) == len(paths):
            continue
        if absent:
            raise DataError(f"{absent[0]} is missing: put it beside the others, or remove them")
        corpora = {split: read_tsv(path) for split, path in paths.items()}
        if "validation" not in corpora:
            whole = corpora["train"]
            size = min(_HELD_OUT, len(whole.labels) // 10)
            kept, held_out = hold_out(len(whole.labels), size)
            corpora |= {"train": whole.take(kept), "validation": whole.take(held_out)}
        files = tuple(_data_file(root, path) for path in paths.values())
        counts = {split: len(corpus.labels) for split, corpus in corpora.items()}
        return corpora, Provenance(publisher, "not stated in the files", files, counts)
    return None


def _data_file(root: Path, path: Path) -> DataFile:
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    return DataFile(path.relative_to(root).as_posix(), len(content), digest)
