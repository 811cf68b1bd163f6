"""ListOps: nested lists of digits under MIN, MAX, MED (the median) and SM (the sum modulo 10).

An expression is text such as `[MAX 2 9 [MIN 4 7 ] 0 ]`. As tokens, an opening bracket and its
operator are one, `]` is one, and a digit is one; 0 is left for padding.
"""

import re

import numpy as np
from numpy.typing import NDArray

from myosotis.errors import DataError

__all__ = [
    "CLOSE",
    "FIRST_DIGIT",
    "FIRST_OPERATOR",
    "OPERATORS",
    "VOCABULARY",
    "as_text",
    "evaluate",
    "tokenize",
]

OPERATORS = ("MIN", "MAX", "MED", "SM")
FIRST_DIGIT = 1
FIRST_OPERATOR = FIRST_DIGIT + 10
CLOSE = FIRST_OPERATOR + len(OPERATORS)
VOCABULARY = CLOSE + 1

_WORDS = [str(digit) for digit in range(10)] + [f"[{name}" for name in OPERATORS] + ["]"]
_TOKEN_OF = {word: FIRST_DIGIT + place for place, word in enumerate(_WORDS)}
_SPACED = {"(": " ", ")": " ", "]": " ] ", "[": " ["}
_WORD = re.compile(r"\[[^\s()\[\]]*|\]|[^\s()\[\]]+")
_ARGUMENT = "a digit 0-9 or one of " + ", ".join(f"[{name}" for name in OPERATORS)


def evaluate(text: str) -> int:
    """Return the value of an expression, a digit.

    Round brackets are ignored. An operator may have any number of arguments from one on.

    Raises:
        DataError: if the text is no expression, with the position and what was expected there.

    Example:
        >>> evaluate("[MAX 2 9 [MIN 4 7 ] 0 ]")
        9
        >>> evaluate("( ( ( [MED 1 ) 4 ) ] )")
        2
    """
    pending: list[list[int]] = [[]]  # values of the arguments of each open operator
    operators: list[int] = []
    for token in tokenize(text).tolist():
        if token == CLOSE:
            value = _apply(operators.pop(), pending.pop())
            pending[-1].append(value)
        elif token >= FIRST_OPERATOR:
            operators.append(token - FIRST_OPERATOR)
            pending.append([])
        else:
            pending[-1].append(token - FIRST_DIGIT)
    return pending[0][0]


def tokenize(text: str) -> NDArray[np.uint8]:
    """Return the tokens, uint8[length], of one complete expression.

    Raises:
        DataError: if the text is no expression, with the position and what was expected there.

    Example:
        >>> tokenize("[SM 0 9 ]")
        array([14,  1, 10, 15], dtype=uint8)
    """
    spaced = text
    for character, replacement in _SPACED.items():
        spaced = spaced.replace(character, replacement)
    try:
        tokens = np.array([_TOKEN_OF[word] for word in spaced.split()], dtype=np.uint8)
    except KeyError:
        raise DataError(_fault(text)) from None
    if not _is_expression(tokens):
        raise DataError(_fault(text))
    return tokens


def as_text(tokens: NDArray[np.uint8]) -> str:
    """Write tokens, uint8[length], as text, without round brackets.

    Example:
        >>> as_text(tokenize("[MAX 2[MIN 4 7]]"))
        '[MAX 2 [MIN 4 7 ] ]'
    """
    return " ".join(_WORDS[token - FIRST_DIGIT] for token in tokens.tolist())


def _is_expression(tokens: NDArray[np.uint8]) -> bool:
    """Whether tokens, uint8[length], are one expression, all of it and nothing after it."""
    is_close = tokens == CLOSE
    is_open = (tokens >= FIRST_OPERATOR) & ~is_close
    depth = np.cumsum(is_open.astype(np.int64) - is_close)  # of open operators, after each token
    ends_once = len(tokens) > 0 and depth[-1] == 0 and bool((depth[:-1] > 0).all())
    return ends_once and not (is_open[:-1] & is_close[1:]).any()


def _apply(operator: int, values: list[int]) -> int:
    """Return the value of an operator; `values` may be reordered."""
    name = OPERATORS[operator]
    if name == "MIN":
        return min(values)
    if name == "MAX":
        return max(values)
    if name == "SM":
        return sum(values) % 10
    values.sort()
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) // 2


def _fault(text: str) -> str:
    """Say where `text` stops being an expression, and what should have stood there."""
    depth = 0
    previous = ""
    for match in _WORD.finditer(text):
        word = match.group()
        is_complete = bool(previous) and depth == 0
        may_close = depth > 0 and not previous.startswith("[")
        if word not in _TOKEN_OF or is_complete or (word == "]" and not may_close):
            shown = word if len(word) <= 20 else f"{word[:20]}…"
            return f"position {match.start()}: expected {_expected(depth, previous)}, got {shown!r}"
        depth += word.startswith("[") - (word == "]")
        previous = word
    return f"position {len(text)}: expected {_expected(depth, previous)}, got the end of the text"


def _expected(depth: int, previous: str) -> str:
    """Say what may follow the word `previous` inside `depth` open operators."""
    if previous and not depth:
        return "the end of the text"
    if not previous or previous.startswith("["):
        return _ARGUMENT
    return f"{_ARGUMENT}, or ]"
