"""How Pathfinder images are made: the published settings of the two hard tasks."""

from typing import NamedTuple

__all__ = ["PATHFINDER", "PATHX", "Settings"]


class Settings(NamedTuple):
    """What an image looks like; lengths are in pixels.

    Attributes:
        size: height and width of the image.
        contour_dashes: dashes of each of the two long contours.
        distractors: number of short contours, fewer where no room is left.
        distractor_dashes: dashes of each of them.
        dash_length: length of a dash, at most four margins.
        thickness: of a dash.
        least_margin: half the gap between the dashes of a contour, and half of what stays free
            between contours. Each image draws its own, a whole number, from this one…
        most_margin: … up to this one.
        marker_radius: of the round markers.
        seed_distance: between the first ends of the two contours.
        continuity: a contour bends by at most π/2 divided by this from dash to dash.
        padding: width of the frame that stays empty.
        contrast: brightness of a pixel that a dash covers wholly; markers have 1.
        tolerance: by how much the distances that the markers of an image can have on one contour
            may differ from those on two.

    Example:
        >>> PATHX._replace(size=256).size
        256
    """

    size: int
    contour_dashes: int
    distractors: int
    distractor_dashes: int
    dash_length: float
    thickness: float
    least_margin: int
    most_margin: int
    marker_radius: float
    seed_distance: float
    continuity: float
    padding: float
    contrast: float
    tolerance: float


PATHFINDER = Settings(
    size=32,
    contour_dashes=14,
    distractors=5,
    distractor_dashes=4,
    dash_length=2.0,
    thickness=0.5,
    least_margin=1,
    most_margin=1,
    marker_radius=1.5,
    seed_distance=7.0,
    continuity=1.0,
    padding=1.0,
    contrast=2 * 0.75,
    tolerance=1.5,
)
"""Pathfinder, 32×32."""

PATHX = Settings(
    size=128,
    contour_dashes=14,
    distractors=8,
    distractor_dashes=4,
    dash_length=5.0,
    thickness=1.5,
    least_margin=2,
    most_margin=3,
    marker_radius=3.0,
    seed_distance=20.0,
    continuity=1.8,
    padding=1.0,
    contrast=0.9 * 1,
    tolerance=4.0,
)
"""Path-X, 128×128."""
