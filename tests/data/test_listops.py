"""ListOps expressions as text, against an evaluator that rewrites the text and parses nothing."""

import re
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from myosotis.data.listops import VOCABULARY, as_text, evaluate, tokenize
from myosotis.errors import DataError

INNERMOST = re.compile(r"\[(MIN|MAX|MED|SM)((?: \d)+) \]")
WORDS = ["[MIN", "[MAX", "[MED", "[SM", "]", "(", ")", *"0123456789"]


def rewrite(text: str) -> str:
    """Replace innermost lists by their values until there is none left."""

    def value(match: re.Match[str]) -> str:
        digits = [int(digit) for digit in match[2].split()]
        results = {
            "MIN": sorted(digits)[0],
            "MAX": sorted(digits)[-1],
            "MED": int(statistics.median(digits)),
            "SM": sum(digits) % 10,
        }
        return str(results[match[1]])

    text = " ".join(re.sub(r"[()]", " ", text).split())
    while INNERMOST.search(text):
        text = INNERMOST.sub(value, text)
    return text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("[MAX 2 9 [MIN 4 7 ] 0 ]", 9),
        ("[MIN 2 9 [MIN 4 7 ] 0 ]", 0),
        ("[MED 1 2 3 4 ]", 2),
        ("[MED 9 0 ]", 4),
        ("[MED 8 1 5 ]", 5),
        ("[SM 9 8 7 ]", 4),
        ("[SM 3 ]", 3),
        ("( ( ( [MAX 2 ) 9 ) ] )", 9),
        ("[MAX 2[MIN 4 7]3]", 4),
        ("\n [SM\t1  2\n]", 3),
        ("))( 5", 5),
    ],
)
def test_values(text: str, value: int) -> None:
    assert evaluate(text) == value


@given(st.lists(st.sampled_from(WORDS), max_size=12))
def test_any_words_have_the_value_found_by_rewriting_or_are_refused(words: list[str]) -> None:
    text = " ".join(words)
    expected = rewrite(text)
    if len(expected) == 1 and expected.isdigit():
        assert evaluate(text) == int(expected)
    else:
        with pytest.raises(DataError, match=r"position [0-9]+: expected .* got"):
            evaluate(text)


@given(st.text(alphabet="[]() MINAXSED0123456789\t\n\x00é", max_size=30))
def test_any_text_has_a_value_or_is_refused(text: str) -> None:
    try:
        value = evaluate(text)
    except DataError:
        return
    assert rewrite(text.replace("[", " [").replace("]", " ] ")) == str(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "position 0: expected a digit 0-9 or one of .*, got the end of the text"),
        ("( )", "position 3: expected a digit 0-9 or one of .*, got the end of the text"),
        ("[MAX ]", r"position 5: expected a digit 0-9 or one of .*SM, got '\]'"),
        ("[MAX 1 2", r"position 8: expected a digit .*, or \], got the end of the text"),
        ("[MAX 1 2 ] 3", "position 11: expected the end of the text, got '3'"),
        ("] 1", r"position 0: expected a digit .*, got '\]'"),
        ("[SM 1 ] ]", r"position 8: expected the end of the text, got '\]'"),
        ("[SUM 1 ]", r"position 0: expected .*\[SM, got '\[SUM'"),
        ("[FIRST 1 ]", r"position 0: expected .*\[SM, got '\[FIRST'"),
        ("[ MAX 1 ]", r"position 0: expected .*, got '\['"),
        ("[MAX 12 ]", "position 5: expected .*, got '12'"),
        ("[MAX 1 a ]", r"position 7: expected .*, or \], got 'a'"),
        ("[MAX " + "9" * 50, "position 5: expected .*, got '9{20}…'"),
    ],
)
def test_errors_give_the_position_and_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        evaluate(text)


def test_deep_nesting() -> None:
    depth = 100_000
    assert evaluate("[SM 1 " * depth + "7" + " ]" * depth) == 7
    with pytest.raises(DataError, match=f"position {5 * depth}: expected"):
        evaluate("[SM 1" * depth)


def test_tokens_and_text_are_the_same_thing() -> None:
    text = "[MAX 0 9 [MIN 4 7 ] [MED 1 2 3 ] [SM 5 6 8 ] ]"
    tokens = tokenize(text)
    assert as_text(tokens) == text
    assert tokens.dtype == np.uint8
    assert tokens.min() > 0
    assert set(tokens.tolist()) == set(range(1, VOCABULARY))
