"""What the tabs answer, without a page around it."""

import base64
import re

import numpy as np
import pytest

from myosotis.demo import digit_tab
from myosotis.demo.digit_tab import DigitAnswers
from myosotis.demo.reader import DigitReader
from myosotis.demo.tree_tab import show_system
from tests.demo.models import drawn_seven, small_model

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def answers() -> DigitAnswers:
    return DigitAnswers(DigitReader(small_model()))


def drawn() -> dict[str, object]:
    """What the sketch pad sends: a black pen on a transparent page."""
    picture = np.zeros((280, 280, 4), dtype=np.uint8)
    picture[..., 3] = 255 * drawn_seven()
    return {"background": None, "layers": [picture], "composite": picture}


def svg(html: str) -> str:
    (encoded,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', html)
    return base64.b64decode(encoded).decode()


def test_a_drawing_gets_probabilities_and_pictures(answers: DigitAnswers) -> None:
    image, probabilities, note = answers.read(drawn())
    assert sum(probabilities.values()) == pytest.approx(1)
    best = max(probabilities, key=probabilities.get)
    assert f"a {best}, I think: {probabilities[best]:.1%}" in note
    explanation, step = answers.explain(image), answers.step_through(image, 2, 4, 7)
    assert f"for and against a {best}" in explanation
    assert "Step 7 of 12: solutions come down" in step
    assert svg(explanation).count("<image") >= 3
    assert svg(step).count("<image") == 7


def test_the_chosen_block_and_head_are_shown(
    answers: DigitAnswers, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = []
    monkeypatch.setattr(digit_tab, "show_levels", lambda sweeps, step: shown.append(sweeps))
    monkeypatch.setattr(digit_tab, "picture", lambda figure, description: description)
    image, _, _ = answers.read(drawn())
    for block, head in ((1, 1), (2, 4)):
        assert answers.step_through(image, block, head, 12).startswith("Step 12 of 12")
        expected = answers.reader.sweeps(image, block - 1, head - 1)
        assert np.array_equal(shown.pop().solutions, expected.solutions)


@pytest.mark.parametrize(
    "empty", [None, {"composite": None}, {"composite": np.full((280, 280, 4), 255, dtype=np.uint8)}]
)
def test_an_empty_page_is_no_mistake(
    answers: DigitAnswers, empty: dict[str, object] | None
) -> None:
    image, probabilities, note = answers.read(empty)
    assert (image, probabilities) == (None, {})
    assert "draw a digit" in note
    assert answers.explain(None) == answers.step_through(None, 1, 1, 1) == ""


def test_a_tree_is_drawn_and_solved() -> None:
    note, tree, matrix, rows = show_system("((a b) c)", seed=5)
    assert "Solved" in note
    assert "<svg" in svg(tree)
    assert "<svg" in svg(matrix)
    assert [row[0] for row in rows] == ["1", "2", "[1;2]", "3", "[1;3]"]
    assert rows != show_system("((a b) c)", seed=6)[3]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(a <b>", "position 0"),
        ("-1, 5", "5"),
        (" ".join(["-1", *["0"] * 700]), "701 rows cannot be seen"),
    ],
)
def test_mistakes_are_shown_in_the_words_of_the_library(text: str, said: str) -> None:
    note, *others = show_system(text, seed=0)
    assert 'role="alert"' in note
    assert said in note
    assert "Traceback" not in note
    assert others == ["", "", []]
