"""Expressions of ListOps as chains of tokens, and the lists in them as examples of their own."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from myosotis.data.forests import ForestSplit
from myosotis.data.listops_examples import Corpus

__all__ = ["ChainSplit", "chains"]


@dataclass(frozen=True, eq=False, kw_only=True)
class ChainSplit(ForestSplit):
    """Expressions, each token hanging on the next; made by `chains`.

    Args:
        heights: int16[total nodes], how high the list that a token closes stands above the digits;
            0 if it closes none.

    Example:
        >>> from myosotis.data.listops import as_text, tokenize
        >>> corpus = Corpus(tokenize("[MAX 2 [MIN 4 7 ] 0 ]"), np.array([0, 8]), np.array([4]))
        >>> batch = next(chains(corpus).parts(0.5, seed=0).batches(1))
        >>> as_text(batch.inputs[0].numpy()), batch.labels.tolist()
        ('[MIN 4 7 ]', [4])
    """

    heights: NDArray[np.int16]

    def parts(self, share: float, *, seed: int) -> "ChainSplit":
        """Of each expression one list: any height up to this share of the largest is as likely."""
        from myosotis.data.listops_tree_kernels import choose_lists

        rng = np.random.default_rng(seed)
        highest = max(1, int(np.ceil(share * self.heights.max())))
        wanted = rng.integers(1, highest + 1, size=len(self))
        draws = rng.random(len(self))
        begins, ends = choose_lists(self.tokens, self.offsets, self.heights, wanted, draws)
        sizes = ends - begins
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        nodes = np.arange(offsets[-1]) + np.repeat(begins - offsets[:-1], sizes)
        assert self.node_labels is not None  # `chains` has given them
        return _chains(self.tokens[nodes], offsets, self.node_labels[nodes], self.heights[nodes])


def chains(corpus: Corpus) -> ChainSplit:
    """Return the expressions of a corpus; the label of a `]` is the value of its list.

    The value of an expression counts as much as those of all lists inside it together.
    """
    from myosotis.data.listops_tree_kernels import list_values

    values, heights = list_values(corpus.tokens, corpus.offsets)
    values[corpus.offsets[1:] - 1] = corpus.labels  # also of an expression that is only a digit
    return _chains(corpus.tokens, corpus.offsets, values, heights)


def _chains(
    tokens: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    values: NDArray[np.int8],
    heights: NDArray[np.int16],
) -> ChainSplit:
    """The split from tokens laid end to end; the last value of each example is its label."""
    last, sizes = offsets[1:] - 1, np.diff(offsets)
    parents = np.arange(1, len(tokens) + 1, dtype=np.int32)
    parents -= np.repeat(offsets[:-1].astype(np.int32), sizes)
    parents[last] = -1
    inside = np.add.reduceat(values >= 0, offsets[:-1], dtype=np.int32) - 1
    weights = np.repeat((1 / np.maximum(inside, 1)).astype(np.float32), sizes)
    weights[last] = 1
    return ChainSplit(
        parents,
        offsets,
        tokens,
        labels=values[last].astype(np.int64),
        inputs_on="nodes",
        node_labels=values,
        node_weights=weights,
        heights=heights,
    )
