"""How much each pixel of an image weighs in one node."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from myosotis.errors import ShapeError
from myosotis.plot.samples import draw_image
from myosotis.plot.theme import COLOURS, WIDTH, Theme

if TYPE_CHECKING:
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

__all__ = ["show_influence_image"]

_MUCH_THE_SAME = 0.1
_DECADES = 3  # weaker influence all looks the same


def show_influence_image(
    image: NDArray[np.uint8],
    maps: Mapping[str, ArrayLike],
    *,
    pixel: tuple[int, int] | None = None,
    title: str = "",
    theme: str = "light",
) -> "Figure":
    """Draw an image, and beside it one or more maps of the influence of its pixels.

    Each map is divided by its largest value. The scale of colours is logarithmic if values differ
    by more than a factor of ten.

    Args:
        image: uint8 (height, width, 1 or 3).
        maps: at least one, by caption: numbers from 0 on, (height, width), such as a row of
            `myosotis.nn.influence` with leaves put back where their pixels are.
        pixel: row and column of the pixel that listens, to be marked; None for another node.
        title: of the picture.
        theme: `light` or `dark`.

    Raises:
        ShapeError: there are no maps, or one has another size than the image.
        ConfigError: there is no such theme, or Matplotlib is not installed.

    Example:
        >>> image = np.zeros((8, 8, 1), dtype=np.uint8)
        >>> figure = show_influence_image(image, {"all blocks": np.ones((8, 8))}, pixel=(2, 3))
        >>> [axes.get_title() for axes in figure.axes[:2]]
        ['image', 'all blocks']
    """
    if not maps:
        raise ShapeError("there is no map to draw beside the image: give at least one")
    look = Theme.named(theme)
    shares = {caption: _shares(values, image) for caption, values in maps.items()}
    smallest = min(float(share.min()) for share in shares.values())
    rows, columns = _grid(len(maps) + 1)
    shape = image.shape[0] / image.shape[1]
    figure = look.figure(title, height=0.6 + rows * (0.3 + (WIDTH - 1) / columns * shape))
    all_axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes in all_axes[len(maps) + 1 :]:
        axes.set_axis_off()
    draw_image(all_axes[0], image, brightest=int(image.max(initial=1)))
    look.caption(all_axes[0], "image")
    for axes, (caption, share) in zip(all_axes[1:], shares.items(), strict=False):
        shades = axes.imshow(share, cmap=look.colour_map(), norm=_scale(smallest))
        look.caption(axes, caption)
    for axes in all_axes[: len(maps) + 1]:
        look.frame(axes)
        if pixel is not None:
            axes.plot(pixel[1], pixel[0], "s", markersize=7, color=COLOURS[3], fillstyle="none")
    bar = figure.colorbar(shades, ax=list(all_axes), aspect=30, fraction=0.05)
    look.style_bar(bar, "share of the largest")
    return figure


def _scale(smallest: float) -> "Normalize":
    """A linear scale for shares that are much the same, otherwise a logarithmic one."""
    from matplotlib.colors import LogNorm, Normalize

    if smallest > _MUCH_THE_SAME:
        return Normalize(smallest, 1)
    return LogNorm(max(smallest, 10.0**-_DECADES), 1, clip=True)


def _grid(number: int) -> tuple[int, int]:
    """Rows and columns for so many pictures."""
    rows = -(-number // (4 if number <= 12 else 9))
    return rows, -(-number // rows)


def _shares(values: ArrayLike, image: NDArray[np.uint8]) -> NDArray[np.float64]:
    found = np.asarray(values, dtype=np.float64)
    if found.shape != image.shape[:2]:
        raise ShapeError(f"a map of shape {found.shape} does not fit an image of {image.shape[:2]}")
    shares: NDArray[np.float64] = found / max(found.max(), np.finfo(np.float64).tiny)
    return shares
