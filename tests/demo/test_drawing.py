"""Drawings against where and how large MNIST has its digits."""

import numpy as np
import pytest

from myosotis.demo.drawing import ink_of, mnist_image
from myosotis.errors import DataError, ShapeError


def strokes(height: int = 300, width: int = 400) -> np.ndarray:
    """A seven: a bar and a leg, thick lines on a large page."""
    ink = np.zeros((height, width))
    ink[60:80, 100:220] = 1
    for row in range(80, 240):
        column = 210 - (row - 80) // 3
        ink[row, column : column + 20] = 1
    return ink


def centre(image: np.ndarray) -> tuple[float, float]:
    rows, columns = np.indices(image.shape)
    return (rows * image).sum() / image.sum(), (columns * image).sum() / image.sum()


def test_a_digit_is_twenty_pixels_tall_with_its_mass_in_the_middle() -> None:
    image = mnist_image(strokes())
    assert image.shape == (28, 28)
    rows, columns = np.nonzero(image)
    assert rows.max() - rows.min() + 1 == 20
    assert columns.max() - columns.min() + 1 == round(20 * 130 / 180)
    assert image.max() > 250
    # Whole pixels are moved, so it is right to half of one.
    assert np.abs(np.array(centre(image)) - 14).max() <= 0.5


@pytest.mark.parametrize("enlarge", [2, 3])
def test_place_and_size_of_the_drawing_do_not_matter(enlarge: int) -> None:
    ink = strokes()
    moved = np.pad(ink, ((0, 70), (40, 0)))
    assert np.array_equal(mnist_image(moved), mnist_image(ink))
    larger = np.kron(ink, np.ones((enlarge, enlarge)))
    assert np.abs(mnist_image(larger).astype(int) - mnist_image(ink)).max() <= 12


def test_what_reaches_far_to_one_side_stays_inside() -> None:
    ink = np.zeros((200, 200))
    ink[:, :60] = 1
    ink[190:, :] = 0.5  # the mass is far left, the box is as wide as it can be
    image = mnist_image(ink)
    rows, columns = np.nonzero(image)
    assert (columns.max() - columns.min(), rows.max() - rows.min()) == (19, 19)


@pytest.mark.parametrize("shape", [(400, 2), (2, 400), (1, 1)])
def test_lines_and_dots_do_not_vanish(shape: tuple[int, int]) -> None:
    image = mnist_image(np.ones(shape))
    assert image.max() == 255
    assert max(np.ptp(places) + 1 for places in np.nonzero(image)) == 20


def test_ink_is_what_is_dark_and_opaque() -> None:
    picture = np.array([[[0, 0, 0, 255], [0, 0, 0, 51], [255, 255, 255, 255], [9, 9, 9, 0]]])
    assert ink_of(picture.astype(np.uint8)) == pytest.approx(np.array([[1, 0.2, 0, 0]]))


def test_mistakes_are_named() -> None:
    with pytest.raises(DataError, match="draw a digit"):
        mnist_image(np.zeros((280, 280)))
    with pytest.raises(ShapeError, match=r"\(2, 3, 4\)"):
        mnist_image(np.zeros((2, 3, 4)))
    with pytest.raises(ShapeError, match=r"\(5, 5\)"):
        ink_of(np.zeros((5, 5), dtype=np.uint8))
