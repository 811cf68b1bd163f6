"""Drawing Pathfinder images, compiled."""

import math

import numpy as np
from numpy.typing import NDArray

from myosotis.compiled import kernel
from myosotis.data.pathfinder_scene_kernels import place_scene
from myosotis.data.pathfinder_settings import Settings
from myosotis.data.random_kernels import open_stream

__all__ = ["draw_images"]


@kernel
def draw_images(
    seed: int,
    first: int,
    settings: Settings,
    order: NDArray[np.int64],
    images: NDArray[np.uint8],
    labels: NDArray[np.uint8],
    markers: NDArray[np.float64],
) -> None:
    """Draw the images from number `first` on.

    Args:
        seed: of all images.
        first: number of the first image.
        settings: what they look like.
        order: int64[pixels], place in the result -> row-major pixel.
        images: uint8 (number, pixels), is filled.
        labels: uint8[number], is filled: whether the markers sit on one contour.
        markers: float64 (number, 2, 2), is filled with the markers' (y, x).
    """
    most = 2 * settings.contour_dashes + settings.distractors * settings.distractor_dashes
    dashes = np.empty((most, 4))
    canvas = np.empty((settings.size, settings.size))
    pixels = canvas.reshape(-1)
    for row in range(len(images)):
        stream = open_stream(seed, first + row)
        count, labels[row] = place_scene(stream, settings, dashes, markers[row])
        canvas[:] = 0
        for number in range(count):
            _draw_dash(canvas, dashes[number], settings.thickness, settings.contrast)
        for number in range(2):
            _draw_marker(canvas, markers[row, number], settings.marker_radius)
        for place in range(len(order)):
            images[row, place] = round(255 * min(pixels[order[place]], 1.0))


@kernel
def _draw_dash(
    canvas: NDArray[np.float64], dash: NDArray[np.float64], thickness: float, contrast: float
) -> None:
    """Draw a line over `canvas`, brighter pixels winning.

    How much of a pixel the line covers is exact for lines along the axes, and smooth for others.
    """
    middle_y, middle_x = (dash[0] + dash[2]) / 2, (dash[1] + dash[3]) / 2
    along_y, along_x = dash[2] - dash[0], dash[3] - dash[1]
    length = math.hypot(along_y, along_x)
    along_y, along_x = along_y / length, along_x / length
    reach = (length + thickness) / 2 + 1
    for i in range(max(0, int(middle_y - reach)), min(len(canvas), int(middle_y + reach) + 1)):
        for j in range(max(0, int(middle_x - reach)), min(len(canvas), int(middle_x + reach) + 1)):
            y, x = i + 0.5 - middle_y, j + 0.5 - middle_x
            covered = _overlap(y * along_y + x * along_x, length / 2)
            covered *= _overlap(y * along_x - x * along_y, thickness / 2)
            canvas[i, j] = max(canvas[i, j], contrast * covered)


@kernel
def _overlap(centre: float, half: float) -> float:
    """Return how much of the unit interval around `centre` lies between -half and half."""
    return max(0.0, min(centre + 0.5, half) - max(centre - 0.5, -half))


@kernel
def _draw_marker(canvas: NDArray[np.float64], centre: NDArray[np.float64], radius: float) -> None:
    """Draw a disc over `canvas`, its edge one pixel wide."""
    y, x = centre
    reach = radius + 1
    for i in range(max(0, int(y - reach)), min(len(canvas), int(y + reach) + 1)):
        for j in range(max(0, int(x - reach)), min(len(canvas), int(x + reach) + 1)):
            covered = 0.5 + radius - math.hypot(i + 0.5 - y, j + 0.5 - x)
            canvas[i, j] = max(canvas[i, j], min(max(covered, 0.0), 1.0))
