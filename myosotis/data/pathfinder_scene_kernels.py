"""Where the dashes and markers of a Pathfinder image go, compiled.

A dash is a row (y, x, y, x) of `dashes`: where it starts and where it ends. A contour grows dash
by dash, each turned a little against the one before, and never comes close to anything else.
The two long contours grow in turn: the first has the even rows, the second the odd ones.
"""

import math

import numpy as np
from numpy.typing import NDArray

from myosotis.compiled import kernel
from myosotis.data.pathfinder_settings import Settings
from myosotis.data.random_kernels import integer, uniform

__all__ = ["place_scene"]

_DASH_TRIES = 10  # directions to look into before a contour is stuck
_STEPS_BACK = 4  # dashes that are taken back then, those of both contours counted
_MOST_STUCK = 100  # times after which the two contours are started afresh
_DISTRACTOR_TRIES = 60  # starts of a short contour, most of which are in the way of something

Stream = NDArray[np.uint64]
Coordinates = NDArray[np.float64]


@kernel
def place_scene(
    stream: Stream, settings: Settings, dashes: Coordinates, markers: Coordinates
) -> tuple[int, int]:
    """Fill dashes (number, 4) and markers (2, 2); return the number of dashes and the label.

    One marker is at the first end of a long contour. The other is at the last end of the same
    contour (label 1) or of the other one (label 0). Contours are kept only if both choices put the
    markers at nearly the same distances, and the label is a coin tossed afterwards: neither what
    is drawn nor how far the markers are apart says anything about it.
    """
    num_margins = settings.most_margin - settings.least_margin + 1
    margin = float(settings.least_margin + integer(stream, num_margins))
    while not _place_long_contours(stream, settings, margin, dashes):
        pass
    marked, label = integer(stream, 2), integer(stream, 2)
    count = 2 * settings.contour_dashes
    last = count - 2 + marked if label else count - 1 - marked
    for axis in range(2):  # assigning slices would take seconds more to compile
        markers[0, axis] = dashes[marked, axis]
        markers[1, axis] = dashes[last, 2 + axis]
    for _ in range(settings.distractors):
        for _ in range(_DISTRACTOR_TRIES):
            if _place_distractor(stream, settings, margin, dashes, count):
                count += settings.distractor_dashes
                break
    return count, label


@kernel
def _place_long_contours(
    stream: Stream, settings: Settings, margin: float, dashes: Coordinates
) -> bool:
    """Fill the first rows with two contours; return whether that came to a good end.

    Where a contour is stuck, or the ends do not suit the markers, the latest dashes are drawn
    again: most ways into a corner are left by taking back a few steps.
    """
    if not _start_long_contours(stream, settings, margin, dashes):
        return False
    row, stuck = 2, 0
    while stuck < _MOST_STUCK:
        if row == 2 * settings.contour_dashes:
            if _suits_markers(settings, dashes):
                return True
        elif _extend(stream, settings, margin, dashes, row, row - 2):
            row += 1
            continue
        row = max(2, row - _STEPS_BACK)
        stuck += 1
    return False


@kernel
def _start_long_contours(
    stream: Stream, settings: Settings, margin: float, dashes: Coordinates
) -> bool:
    """Lay the first dash of each contour; return whether both can stay."""
    frame = 2 * settings.seed_distance
    y = frame + uniform(stream) * (settings.size - 2 * frame)
    x = frame + uniform(stream) * (settings.size - 2 * frame)
    direction = 2 * math.pi * uniform(stream)
    for row in range(2):
        if not _start(stream, settings, margin, dashes, row, y, x):
            return False
        y += settings.seed_distance * math.sin(direction)
        x += settings.seed_distance * math.cos(direction)
    return True


@kernel
def _suits_markers(settings: Settings, dashes: Coordinates) -> bool:
    """Whether markers at any two ends are apart, and equally far on one contour as on two."""
    last = 2 * settings.contour_dashes - 2
    same, same_too = _span(dashes, 0, last), _span(dashes, 1, last + 1)
    other, other_too = _span(dashes, 0, last + 1), _span(dashes, 1, last)
    if min(same, same_too, other, other_too) < 3 * settings.marker_radius:
        return False
    return (
        abs(max(same, same_too) - max(other, other_too)) <= settings.tolerance
        and abs(min(same, same_too) - min(other, other_too)) <= settings.tolerance
    )


@kernel
def _span(dashes: Coordinates, first: int, last: int) -> float:
    """Return the distance from the start of one dash to the end of another."""
    return math.hypot(dashes[last, 2] - dashes[first, 0], dashes[last, 3] - dashes[first, 1])


@kernel
def _place_distractor(
    stream: Stream, settings: Settings, margin: float, dashes: Coordinates, count: int
) -> bool:
    """Add a short contour after `count` dashes; return whether there was room."""
    y, x = uniform(stream) * settings.size, uniform(stream) * settings.size
    if not _start(stream, settings, margin, dashes, count, y, x):
        return False
    for row in range(count + 1, count + settings.distractor_dashes):
        if not _extend(stream, settings, margin, dashes, row, row - 1):
            return False
    return True


@kernel
def _start(
    stream: Stream,
    settings: Settings,
    margin: float,
    dashes: Coordinates,
    row: int,
    y: float,
    x: float,
) -> bool:
    """Put dash number `row` at (y, x), in any direction; return whether it can stay there."""
    direction = 2 * math.pi * uniform(stream)
    dash = dashes[row]
    dash[0], dash[1] = y, x
    dash[2] = y + settings.dash_length * math.sin(direction)
    dash[3] = x + settings.dash_length * math.cos(direction)
    return _is_allowed(settings, margin, dashes, row, -1)


@kernel
def _extend(
    stream: Stream, settings: Settings, margin: float, dashes: Coordinates, row: int, previous: int
) -> bool:
    """Put dash number `row` after dash number `previous` of its contour, if it finds room."""
    last, dash = dashes[previous], dashes[row]
    forward_y = (last[2] - last[0]) / settings.dash_length
    forward_x = (last[3] - last[1]) / settings.dash_length
    y, x = last[2] + margin * forward_y, last[3] + margin * forward_x
    for _ in range(_DASH_TRIES):
        angle = _bend(stream) / settings.continuity
        along, across = math.cos(angle), math.sin(angle)
        step_y = along * forward_y + across * forward_x
        step_x = along * forward_x - across * forward_y
        dash[0], dash[1] = y + margin * step_y, x + margin * step_x
        dash[2] = dash[0] + settings.dash_length * step_y
        dash[3] = dash[1] + settings.dash_length * step_x
        if _is_allowed(settings, margin, dashes, row, previous):
            return True
    return False


@kernel
def _bend(stream: Stream) -> float:
    """Draw an angle between -π/2 and π/2 with a density proportional to its squared cosine.

    It is the angle whose sine is one coordinate of a point drawn from the unit disc.
    """
    while True:
        across, along = 2 * uniform(stream) - 1, 2 * uniform(stream) - 1
        if across**2 + along**2 < 1:
            return math.asin(across)


@kernel
def _is_allowed(
    settings: Settings, margin: float, dashes: Coordinates, row: int, previous: int
) -> bool:
    """Whether dash number `row` is inside the frame and clear of all before but `previous`."""
    low = settings.padding + margin
    high = settings.size - low
    dash = dashes[row]
    for coordinate in dash:
        if not low <= coordinate <= high:
            return False
    clearance = 2 * margin + settings.thickness
    reach = 2 * (settings.dash_length + clearance)  # twice what midpoints must be apart for that
    for other in range(row):
        away_y = dash[0] + dash[2] - dashes[other, 0] - dashes[other, 2]
        away_x = dash[1] + dash[3] - dashes[other, 1] - dashes[other, 3]
        is_near = other != previous and away_y**2 + away_x**2 < reach**2
        if is_near and _gap(dash, dashes[other]) < clearance**2:
            return False
    return True


@kernel
def _gap(first: Coordinates, second: Coordinates) -> float:
    """Return the least squared distance of an end of one dash from the other dash.

    That is the distance of the dashes unless they cross, and then it is at most half a dash,
    which is less than what must stay free.
    """
    nearest = math.inf
    for end in (0, 2):
        nearest = min(nearest, _point_gap(first[end], first[end + 1], second))
        nearest = min(nearest, _point_gap(second[end], second[end + 1], first))
    return nearest


@kernel
def _point_gap(y: float, x: float, dash: Coordinates) -> float:
    """Return the squared distance of the point (y, x) from a dash."""
    along_y, along_x = dash[2] - dash[0], dash[3] - dash[1]
    share = (y - dash[0]) * along_y + (x - dash[1]) * along_x
    share = min(max(share / (along_y**2 + along_x**2), 0.0), 1.0)
    return float((y - dash[0] - share * along_y) ** 2 + (x - dash[1] - share * along_x) ** 2)
