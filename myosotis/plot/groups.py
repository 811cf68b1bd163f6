"""Nodes in groups: a colour for each, and a legend."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from myosotis.errors import ShapeError
from myosotis.plot.theme import COLOURS, Theme

if TYPE_CHECKING:
    from matplotlib.artist import Artist

__all__ = ["Groups", "text_colour"]


@dataclass(frozen=True, eq=False)
class Groups:
    """A group of each node, with the colours of the groups.

    Attributes:
        of_node: int64[L], 0..number of colours - 1.
        names: int64[number of colours], the groups as the caller numbers them.
        colours: float64 (number of colours, 4), red, green, blue and opacity.

    Example:
        >>> Groups.of([7, 3, 7], 3, Theme.named("light")).of_node
        array([1, 0, 1])
    """

    of_node: NDArray[np.int64]
    names: NDArray[np.int64]
    colours: NDArray[np.float64]

    @classmethod
    def of(cls, groups: ArrayLike, num_nodes: int, look: Theme) -> "Groups":
        """Give every group a colour: one of the palette, or of the colour map if there are many.

        Raises:
            ShapeError: there is not one whole number for each node.
        """
        values = np.asarray(groups)
        if values.shape != (num_nodes,) or not np.issubdtype(values.dtype, np.integer):
            raise ShapeError(
                f"groups have shape {values.shape} and dtype {values.dtype}; "
                f"expected a whole number for each of the {num_nodes} nodes"
            )
        from matplotlib.colors import to_rgba_array

        names, of_node = np.unique(values.astype(np.int64), return_inverse=True)
        if len(names) <= len(COLOURS):
            colours = to_rgba_array(COLOURS[: len(names)])
        else:
            colours = look.colour_map()(np.linspace(0.1, 1, len(names)))
        return cls(of_node, names, colours)

    def handles(self, what: str) -> "list[Artist]":
        """Return what a legend shows: which colour is which group, such as `rank 3`.

        Group -1 belongs to all of them.
        """
        from matplotlib.patches import Patch

        return [
            Patch(color=tuple(colour), label=f"{what} {name}" if name >= 0 else f"every {what}")
            for name, colour in zip(self.names, self.colours, strict=True)
        ]


def text_colour(background: ArrayLike) -> str:
    """Return black or white, whichever is easier to read on a colour (red, green, blue, …).

    Example:
        >>> text_colour((1, 1, 0)), text_colour((0, 0, 0.5))
        ('#000000', '#ffffff')
    """
    rgb = np.asarray(background, dtype=np.float64)[:3]
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ (0.2126, 0.7152, 0.0722))
    return "#000000" if luminance > 0.179 else "#ffffff"  # where both have the same contrast
