"""Drawing ListOps expressions, compiled.

An expression is drawn from left to right together with its value: `work` holds, for each operator
that is still open, what it is, how many arguments it wants and which it has.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from myosotis.compiled import kernel
from myosotis.data.listops import CLOSE, FIRST_DIGIT, FIRST_OPERATOR, OPERATORS
from myosotis.data.random_kernels import integer, open_stream, uniform

__all__ = ["Limits", "apply_operator", "draw_expressions"]

_MIN, _MAX, _MED, _SM = (OPERATORS.index(name) for name in ("MIN", "MAX", "MED", "SM"))
_NUM_OPERATORS = len(OPERATORS)
_OPERATOR_SHARE = 0.25
_KIND, _WANTED, _FILLED, _VALUES = 0, 1, 2, 3  # columns of `work`; the arguments' values follow


class Limits(NamedTuple):
    """What bounds an expression.

    Attributes:
        max_depth: depth at which only digits stand; the root has depth 1.
        max_args: an operator has 2 to that many arguments.
        min_length: expressions of that length or shorter are thrown away.
        max_length: expressions of that length or longer are thrown away.

    Example:
        >>> Limits(max_depth=3, max_args=5, min_length=0, max_length=20).max_args
        5
    """

    max_depth: int
    max_args: int
    min_length: int
    max_length: int


@kernel
def draw_expressions(
    seed: int,
    first: int,
    limits: Limits,
    tokens: NDArray[np.uint8],
    lengths: NDArray[np.int64],
    labels: NDArray[np.int64],
) -> None:
    """Fill tokens (number, places), lengths[number] and labels[number] from number `first` on."""
    work = np.empty((limits.max_depth, _VALUES + limits.max_args), dtype=np.int64)
    for row in range(len(tokens)):
        stream = open_stream(seed, first + row)
        length = 0
        while length <= limits.min_length:
            length, labels[row] = _draw(stream, limits, tokens[row], work)
        lengths[row] = length
        tokens[row, length:] = 0


@kernel
def _draw(
    stream: NDArray[np.uint64], limits: Limits, row: NDArray[np.uint8], work: NDArray[np.int64]
) -> tuple[int, int]:
    """Write one expression into `row`; return length and value, or 0, 0 if it grew too long."""
    depth = place = length = 0
    while True:
        if depth + 1 < limits.max_depth and uniform(stream) < _OPERATOR_SHARE:
            length += 2  # the closing bracket is as good as there
            if length >= limits.max_length:
                return 0, 0
            operator = integer(stream, _NUM_OPERATORS)
            work[depth, _KIND] = operator
            work[depth, _WANTED] = 2 + integer(stream, limits.max_args - 1)
            work[depth, _FILLED] = 0
            row[place] = FIRST_OPERATOR + operator
            place += 1
            depth += 1
            continue
        length += 1
        if length >= limits.max_length:
            return 0, 0
        value = integer(stream, 10)
        row[place] = FIRST_DIGIT + value
        place += 1
        while depth > 0:  # an argument may complete its operator, whose value is one in turn
            frame = work[depth - 1]
            frame[_VALUES + frame[_FILLED]] = value
            frame[_FILLED] += 1
            if frame[_FILLED] < frame[_WANTED]:
                break
            value = apply_operator(frame[_KIND], frame[_VALUES : _VALUES + frame[_WANTED]])
            row[place] = CLOSE
            place += 1
            depth -= 1
        if depth == 0:
            return length, value


@kernel
def apply_operator(operator: int, values: NDArray[np.int64]) -> int:
    """Return the value of an operator, given by its place in OPERATORS; `values` may be reordered.

    Example:
        >>> apply_operator(OPERATORS.index("SM"), np.array([7, 8]))
        5
    """
    if operator == _MIN:
        return int(values.min())
    if operator == _MAX:
        return int(values.max())
    if operator == _SM:
        return int(values.sum() % 10)
    values.sort()
    count = len(values)
    return int((values[(count - 1) // 2] + values[count // 2]) // 2)
