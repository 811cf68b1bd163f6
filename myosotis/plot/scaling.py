"""Cost against the number of nodes, log–log."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from myosotis.plot.theme import COLOURS, Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Point", "show_scaling"]

_MARKERS = "osD^vPX"
_SMALLEST_BYTES = 2**17  # less than this drowns in the pages that come and go anyway


class Point(NamedTuple):
    """Cost of one size: seconds, and bytes of extra memory if known.

    Example:
        >>> Point(1024, 1e-3, None).seconds
        0.001
    """

    nodes: int
    seconds: float
    peak_bytes: int | None


def show_scaling(
    title: str,
    curves: Mapping[str, Sequence[Point]],
    absent: Sequence[str] = (),
    *,
    theme: str = "light",
) -> "Figure":
    """Draw time and memory side by side.

    Args:
        title: of the picture.
        curves: points of each contender, ours first.
        absent: those who have no curve, with the reason.
        theme: `light` or `dark`.

    Raises:
        ConfigError: there is no such theme, or Matplotlib is not installed.

    Example:
        >>> figure = show_scaling(
        ...     "a solver", {"ours": [Point(2**k, 2.0**k, 2**20) for k in (3, 4)]}
        ... )
        >>> [axes.get_title() for axes in figure.axes]
        ['time of a call', 'extra memory of a call']
    """
    look = Theme.named(theme)
    figure = look.figure(title, height=3.8)
    time_axes, memory_axes = figure.subplots(1, 2)
    for index, (name, points) in enumerate(curves.items()):
        _draw(time_axes, name, [(p.nodes, p.seconds) for p in points], index)
        _draw(memory_axes, "", [(p.nodes, b) for p in points if (b := _resolved(p))], index)
    _finish(look, time_axes, "time of a call", _seconds_label, 10)
    _finish(look, memory_axes, "extra memory of a call", _bytes_label, 2)
    handles, _ = time_axes.get_legend_handles_labels()
    note = "Not shown: " + "; ".join(absent) if absent else ""
    look.legend_below(figure, handles, columns=4, note=note)
    return figure


def _resolved(point: Point) -> int | None:
    peak = point.peak_bytes
    return peak if peak is not None and peak >= _SMALLEST_BYTES else None


def _draw(axes: "Axes", name: str, points: Sequence[tuple[int, float]], index: int) -> None:
    if not points:
        return
    colour, marker = (kinds[index % len(kinds)] for kinds in (COLOURS, _MARKERS))
    width, size = (2.6, 6) if index == 0 else (1.5, 5)
    axes.plot(
        [x for x, _ in points],
        [y for _, y in points],
        color=colour,
        marker=marker,
        markersize=size,
        linewidth=width,
        label=name,
        zorder=3 if index == 0 else 2,
    )


def _finish(
    look: Theme, axes: "Axes", title: str, label: Callable[[float, int], str], base: int
) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=base)
    if not axes.lines:
        text = "too small to be seen"
        axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", color=look.muted)
        axes.set(xlim=(1, 2), ylim=(1, base))
    look.style(axes, title, "nodes")
    axes.yaxis.set_major_locator(LogLocator(base=base))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(label))


def _seconds_label(value: float, _: int) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size * 0.999:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def _bytes_label(value: float, _: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if value >= size:
            return f"{value / size:.4g} {unit}"
    return f"{value:.0f} B"
