"""A sheet of sample images."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from myosotis.plot.theme import SMALL, Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_image", "show_samples"]

_COLUMNS = 4


def show_samples(
    title: str, images: NDArray[np.uint8], captions: Sequence[str], *, theme: str = "light"
) -> "Figure":
    """Draw images in rows of four.

    Args:
        title: of the picture.
        images: uint8 (number, height, width, 1 or 3); one channel is drawn in grey, from black to
            the brightest value there is.
        captions: one for each image.
        theme: `light` or `dark`.

    Raises:
        ConfigError: there is no such theme, or Matplotlib is not installed.

    Example:
        >>> images = np.zeros((5, 8, 8, 1), dtype=np.uint8)
        >>> figure = show_samples("nothing", images, list("abcde"))
        >>> sum(axes.get_title() != "" for axes in figure.axes)
        5
    """
    look = Theme.named(theme)
    rows = -(-len(images) // _COLUMNS)
    figure = look.figure(title, height=2.1 * rows + 0.4)
    all_axes = figure.subplots(rows, _COLUMNS, squeeze=False).ravel()
    for axes in all_axes:
        axes.set_axis_off()
    for axes, image, caption in zip(all_axes, images, captions, strict=False):
        draw_image(axes, image, brightest=int(images.max(initial=1)))
        axes.set_title(caption, fontsize=SMALL, color=look.ink)
    return figure


def draw_image(axes: "Axes", image: NDArray[np.uint8], brightest: int) -> None:
    """Draw an image (height, width, 1 or 3); grey ones from black to `brightest`.

    Example:
        >>> axes = Theme.named("light").figure("", height=1.0).subplots()
        >>> draw_image(axes, np.zeros((2, 2, 3), dtype=np.uint8), brightest=255)
        >>> axes.images[0].get_array().shape
        (2, 2, 3)
    """
    if image.shape[-1] == 3:
        axes.imshow(image, interpolation="nearest")
    else:
        axes.imshow(image[..., 0], cmap="gray", vmin=0, vmax=brightest, interpolation="nearest")
