"""Generated ListOps: labels against another evaluator, shares against what they must be."""

import random

import numpy as np
import pytest
from scipy import stats

from myosotis.data.listops import CLOSE, FIRST_DIGIT, FIRST_OPERATOR, OPERATORS, as_text
from myosotis.data.listops_examples import Expressions
from myosotis.data.listops_generate import LRA, draw_block, generate, replace_duplicates
from myosotis.data.listops_kernels import Limits
from myosotis.errors import DataError
from tests.data.test_listops import rewrite

SHALLOW = Limits(max_depth=4, max_args=6, min_length=0, max_length=2000)  # throws nothing away
UNLIKELY = 1e-4


def texts(expressions: Expressions) -> list[str]:
    rows = zip(expressions.tokens, expressions.lengths, strict=True)
    return [as_text(tokens[:length]) for tokens, length in rows]


def nodes(text: str) -> list[tuple[int, str, int]]:
    """Depth, word and number of arguments of each node."""
    found: list[tuple[int, str, int]] = []
    unfinished: list[int] = []
    for word in text.split():
        if word == "]":
            unfinished.pop()
            continue
        if unfinished:
            depth, name, arguments = found[unfinished[-1]]
            found[unfinished[-1]] = (depth, name, arguments + 1)
        found.append((len(unfinished) + 1, word, 0))
        if word.startswith("["):
            unfinished.append(len(found) - 1)
    return found


def plain_length(depth: int, rng: random.Random) -> int:
    """Length of an expression drawn in the simplest way; a digit counts 1, an operator 2."""
    if depth == LRA.max_depth or rng.random() > 0.25:
        return 1
    arguments = rng.randint(2, LRA.max_args)
    return 2 + sum(plain_length(depth + 1, rng) for _ in range(arguments))


@pytest.fixture(scope="module")
def lra() -> Expressions:
    return generate(600, seed=1)


@pytest.fixture(scope="module")
def shallow() -> list[list[tuple[int, str, int]]]:
    return [nodes(text) for text in texts(draw_block(3, 0, 6000, SHALLOW))]


def test_labels_are_the_values(lra: Expressions) -> None:
    assert [rewrite(text) for text in texts(lra)] == [str(label) for label in lra.labels]


def test_lengths_and_padding(lra: Expressions) -> None:
    assert lra.tokens.shape == (600, 2048)
    assert lra.lengths.min() > 500
    assert lra.lengths.max() < 2000
    is_token = np.arange(2048) < lra.lengths[:, None]
    np.testing.assert_array_equal(lra.tokens != 0, is_token)


def test_lengths_count_as_published(lra: Expressions) -> None:
    is_close, is_digit = lra.tokens == CLOSE, (lra.tokens - FIRST_DIGIT) < 10
    operators = ((lra.tokens >= FIRST_OPERATOR) & ~is_close).sum(axis=1)
    np.testing.assert_array_equal(lra.lengths, 2 * operators + is_digit.sum(axis=1))


@pytest.mark.parametrize("length", [5, 6, 9])
def test_length_limits_are_strict(length: int) -> None:
    limits = Limits(max_depth=4, max_args=6, min_length=length - 1, max_length=length + 1)
    assert set(draw_block(0, 0, 50, limits).lengths) == {length}


def test_lengths_are_distributed_as_those_of_a_plain_sampler(lra: Expressions) -> None:
    rng = random.Random(0)
    plain: list[int] = []
    while len(plain) < 400:
        length = plain_length(1, rng)
        if 500 < length < 2000:
            plain.append(length)
    assert stats.ks_2samp(lra.lengths, plain).pvalue > UNLIKELY


def test_mean_length_has_its_closed_form(shallow: list[list[tuple[int, str, int]]]) -> None:
    expected = 1.0
    for _ in range(SHALLOW.max_depth - 1):
        expected = 0.75 + 0.25 * (2 + (2 + SHALLOW.max_args) / 2 * expected)
    lengths = [sum(2 if word.startswith("[") else 1 for _, word, _ in tree) for tree in shallow]
    assert abs(stats.zmap(expected, lengths)) * len(lengths) ** 0.5 < 4


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_a_quarter_of_the_nodes_are_operators(
    shallow: list[list[tuple[int, str, int]]], depth: int
) -> None:
    at_depth = [
        word.startswith("[") for tree in shallow for level, word, _ in tree if level == depth
    ]
    expected = 0.25 if depth < SHALLOW.max_depth else 0.0
    assert stats.binomtest(sum(at_depth), len(at_depth), expected).pvalue > UNLIKELY


def test_operators_digits_and_numbers_of_arguments_are_uniform(
    shallow: list[list[tuple[int, str, int]]],
) -> None:
    every = [node for tree in shallow for node in tree]
    operators = [(word, arguments) for _, word, arguments in every if word.startswith("[")]
    digits = np.bincount([int(word) for _, word, _ in every if word.isdigit()])
    kinds = [sum(word == f"[{name}" for word, _ in operators) for name in OPERATORS]
    arguments = np.bincount([number for _, number in operators])
    assert len(digits) == 10
    assert arguments[:2].tolist() == [0, 0]
    assert len(arguments) == SHALLOW.max_args + 1
    for counts in (digits, kinds, arguments[2:]):
        assert stats.chisquare(counts).pvalue > UNLIKELY


def test_an_expression_depends_on_seed_and_number_alone() -> None:
    whole = draw_block(5, 0, 12)
    for first, last in [(0, 5), (5, 6), (6, 12)]:
        part = draw_block(5, first, last)
        for column, expected in zip(part, whole.part(first, last), strict=True):
            np.testing.assert_array_equal(column, expected)
    assert (draw_block(6, 0, 12).lengths != whole.lengths).any()


def test_duplicates_are_replaced_by_what_comes_next() -> None:
    limits = Limits(max_depth=2, max_args=2, min_length=1, max_length=5)  # 400 expressions
    drawn = texts(draw_block(0, 0, 200, limits))
    assert len(set(drawn)) < 200
    expressions = generate(200, seed=0, limits=limits)
    found = texts(expressions)
    assert len(set(found)) == 200
    assert [rewrite(text) for text in found] == [str(label) for label in expressions.labels]
    assert all(new == old for new, old in zip(found, drawn, strict=True) if drawn.count(old) == 1)
    before = [column.copy() for column in expressions]
    replace_duplicates(expressions, 0, limits)
    for column, expected in zip(expressions, before, strict=True):
        np.testing.assert_array_equal(column, expected)


def test_too_few_different_expressions() -> None:
    digits = Limits(max_depth=2, max_args=2, min_length=0, max_length=2)
    assert sorted(generate(10, seed=0, limits=digits).labels) == list(range(10))
    with pytest.raises(DataError, match=r"too few expressions within .* to find 11"):
        generate(11, seed=0, limits=digits)
