"""A sheet of sample images."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from myosotis.plot.scaling import require_matplotlib

__all__ = ["draw_samples"]

_COLUMNS = 4


def draw_samples(
    title: str, images: NDArray[np.uint8], captions: Sequence[str], path: Path
) -> None:
    """Draw images in rows of four and write them as a PNG.

    Args:
        title: of the picture.
        images: uint8 (number, height, width, 1 or 3); one channel is drawn in grey, from the
            darkest to the brightest value there is.
        captions: one for each image.
        path: the file.

    Raises:
        ConfigError: if Matplotlib is not installed.

    Example:
        >>> import tempfile
        >>> images = np.zeros((4, 8, 8, 1), dtype=np.uint8)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     draw_samples("nothing", images, ["0"] * 4, Path(folder, "nothing.png"))
        ...     Path(folder, "nothing.png").read_bytes()[1:4]
        b'PNG'
    """
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = -(-len(images) // _COLUMNS)
    figure = Figure(figsize=(1.8 * _COLUMNS, 1.9 * rows + 0.4), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    all_axes = figure.subplots(rows, _COLUMNS, squeeze=False).ravel()
    for axes in all_axes:
        axes.set_axis_off()
    for axes, image, caption in zip(all_axes, images, captions, strict=False):
        if image.shape[-1] == 3:
            axes.imshow(image, interpolation="nearest")
        else:
            axes.imshow(image[..., 0], cmap="gray", vmin=0, vmax=images.max(initial=1))
        axes.set_title(caption, fontsize=9)
    figure.savefig(path, format="png", dpi=100)
