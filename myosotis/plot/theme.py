"""How all pictures look: sizes, colours, light and dark.

Pictures are eight inches wide and shown about 800 pixels wide, so a point is about 1.4 pixels, and
no text is smaller than eight points. Colours are set on every artist and never as a global
setting: Matplotlib makes ticks when a figure is drawn, long after such a setting is gone.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, get_args

from myosotis.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "SMALL", "THEMES", "WIDTH", "Theme", "ThemeName", "require_matplotlib"]

ThemeName = Literal["light", "dark"]

WIDTH = 8.0
SMALL, NORMAL, LARGE = 8, 9, 11
_NOTE_LENGTH = 110  # letters of the small size in a line

# Paul Tol's "vibrant" scheme, which no common colour blindness confuses; a violet stands for its
# grey, which is faint on white. The blue of the flower comes first.
COLOURS = ("#0077bb", "#ee7733", "#009988", "#ee3377", "#cc3311", "#8855dd", "#33bbee")


@dataclass(frozen=True)
class Theme:
    """Colours of everything but data, and the colour map of quantities.

    Attributes:
        background: of the figure.
        ink: text, and lines that matter.
        muted: text and lines that matter less.
        grid: lines that hardly matter.
        shades: colours of quantities, from near the background for nothing to far from it.

    Example:
        >>> THEMES["dark"].figure("A title", height=3.0).get_facecolor()[:3] < (0.2, 0.2, 0.2)
        True
    """

    background: str
    ink: str
    muted: str
    grid: str
    shades: tuple[str, ...]

    @staticmethod
    def named(name: str) -> "Theme":
        """Return a theme.

        Raises:
            ConfigError: there is no such theme.

        Example:
            >>> Theme.named("light") is THEMES["light"]
            True
        """
        if name not in THEMES:
            raise ConfigError(f"theme is {name!r}; it is one of {', '.join(get_args(ThemeName))}")
        return THEMES[name]

    def figure(self, title: str, height: float) -> "Figure":
        """Make an empty figure of the usual width, with room for a title of one or more lines.

        Raises:
            ConfigError: Matplotlib is not installed.
        """
        require_matplotlib()
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine

        layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08)
        figure = Figure(figsize=(WIDTH, height), layout=layout, facecolor=self.background)
        FigureCanvasAgg(figure)
        if title:
            figure.suptitle(title, fontsize=LARGE, color=self.ink, wrap=True)
        return figure

    def style(self, axes: "Axes", title: str = "", horizontal: str = "") -> None:
        """Set the colours and sizes of axes that show curves."""
        axes.set_facecolor(self.background)
        self.caption(axes, title)
        axes.set_xlabel(horizontal, fontsize=NORMAL, color=self.ink)
        axes.tick_params(which="both", colors=self.muted, labelcolor=self.ink, labelsize=SMALL)
        axes.grid(color=self.grid, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(self.muted)

    def caption(self, axes: "Axes", title: str) -> None:
        """Write a title above axes."""
        axes.set_title(title, fontsize=NORMAL, color=self.ink)

    def frame(self, axes: "Axes") -> None:
        """Leave nothing of axes but a thin frame, around an image or a matrix."""
        axes.set_facecolor(self.background)
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_color(self.muted)
        axes.spines[:].set_linewidth(0.6)

    def label(
        self,
        axes: "Axes",
        place: Sequence[float],
        text: str,
        *,
        colour: str = "",
        box: dict[str, Any] | None = None,
    ) -> None:
        """Write a few letters centred at a place, in ink or a colour, in a box or none."""
        x, y = place
        ink = colour or self.ink
        axes.text(x, y, text, fontsize=SMALL, color=ink, ha="center", va="center", bbox=box)

    def legend(self, axes: "Axes") -> None:
        """Add a legend of what is labelled in axes, where there is room."""
        axes.legend(frameon=False, fontsize=SMALL, labelcolor=self.ink)

    def legend_below(
        self, figure: "Figure", handles: "Sequence[Artist]", columns: int, note: str = ""
    ) -> None:
        """Add a legend below all axes of a figure, with a note above it."""
        legend = figure.legend(
            handles=handles,
            loc="outside lower center",
            ncols=columns,
            frameon=False,
            fontsize=SMALL,
            labelcolor=self.ink,
            title=textwrap.fill(note, _NOTE_LENGTH) or None,
            title_fontsize=SMALL,
        )
        legend.get_title().set(color=self.muted, ha="center")

    def colour_map(self) -> "Colormap":
        """Return the colours of quantities as Matplotlib wants them."""
        from matplotlib.colors import LinearSegmentedColormap

        return LinearSegmentedColormap.from_list("myosotis", self.shades)

    def style_bar(self, bar: "Colorbar", label: str) -> None:
        """Set the colours, sizes and ticks of a scale of colours."""
        from matplotlib.colors import LogNorm
        from matplotlib.ticker import LogLocator, StrMethodFormatter

        if isinstance(bar.norm, LogNorm):
            bar.locator = LogLocator(subs=(1, 2, 5))
            bar.formatter = StrMethodFormatter("{x:g}")
            bar.minorticks_off()
        bar.set_label(label, fontsize=SMALL, color=self.ink)
        bar.ax.tick_params(which="both", colors=self.muted, labelcolor=self.ink, labelsize=SMALL)
        bar.outline.set_edgecolor(self.muted)


THEMES: dict[ThemeName, Theme] = {
    "light": Theme(
        background="#ffffff",
        ink="#1f2328",
        muted="#66707b",
        grid="#e4e7eb",
        shades=("#e4e8c4", "#97ccaa", "#36a0b5", "#2363a5", "#1a1f66"),
    ),
    "dark": Theme(
        background="#0d1117",
        ink="#e6edf3",
        muted="#8d96a0",
        grid="#262c34",
        shades=("#2c2558", "#2f609f", "#1e9f8f", "#8bcd52", "#fbe84a"),
    ),
}


def require_matplotlib() -> None:
    """Raise `ConfigError` if there is nothing to draw with.

    Example:
        >>> require_matplotlib()
    """
    if find_spec("matplotlib") is None:
        raise ConfigError("pictures need the extra plot: pip install 'myosotis[plot]'")
