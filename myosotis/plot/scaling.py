"""Cost against the number of nodes, log–log."""

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from myosotis.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Point", "draw_scaling", "require_matplotlib"]

# Ours first, in the blue of the flower; the others are told apart by colour and marker.
_COLOURS = ("#2c6fbb", "#8c9bb0", "#c8553d", "#d9a441", "#4f8a5b", "#8a5a9e", "#5b5b5b")
_MARKERS = "osD^vPX"
_SMALLEST_BYTES = 2**17  # less than this drowns in the pages that come and go anyway


class Point(NamedTuple):
    """Cost of one size: seconds, and bytes of extra memory if known."""

    nodes: int
    seconds: float
    peak_bytes: int | None


def require_matplotlib() -> None:
    """Raises `ConfigError` if there is nothing to draw with."""
    if find_spec("matplotlib") is None:
        raise ConfigError("pictures need the extra plot: pip install 'myosotis[plot]'")


def draw_scaling(
    title: str, curves: Mapping[str, Sequence[Point]], absent: Sequence[str], stem: Path
) -> list[Path]:
    """Draws time and memory side by side and writes a PNG and an SVG.

    Args:
        title: of the picture.
        curves: points of each contender, ours first.
        absent: those who have no curve, with the reason.
        stem: path of the files without their suffixes.

    Returns:
        The files.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    time_axes, memory_axes = figure.subplots(1, 2)
    for index, (name, points) in enumerate(curves.items()):
        _draw(time_axes, name, [(p.nodes, p.seconds) for p in points], index)
        _draw(memory_axes, name, [(p.nodes, b) for p in points if (b := _resolved(p))], index)
    _finish(time_axes, "time of a call", _seconds_label, 10)
    _finish(memory_axes, "extra memory of a call", _bytes_label, 2)
    figure.suptitle(title, fontsize=13)
    if absent:
        figure.supxlabel("Not shown: " + "; ".join(absent), fontsize=8, color="#666666")
    handles, labels = time_axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize=10)
    return _save(figure, stem)


def _resolved(point: Point) -> int | None:
    peak = point.peak_bytes
    return peak if peak is not None and peak >= _SMALLEST_BYTES else None


def _draw(axes: "Axes", name: str, points: Sequence[tuple[int, float]], index: int) -> None:
    if not points:
        return
    colour, marker = (kinds[index % len(kinds)] for kinds in (_COLOURS, _MARKERS))
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


def _finish(axes: "Axes", title: str, label: Callable[[float, int], str], base: int) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=base)
    if not axes.lines:
        axes.text(0.5, 0.5, "too small to be seen", transform=axes.transAxes, ha="center")
        axes.set(xlim=(1, 2), ylim=(1, base))
    axes.set_xlabel("nodes")
    axes.set_title(title, fontsize=11)
    axes.yaxis.set_major_locator(LogLocator(base=base))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(label))
    axes.grid(which="major", color="#e4e4e4", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


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


def _save(figure: "Figure", stem: Path) -> list[Path]:
    files = [stem.with_name(f"{stem.name}.{suffix}") for suffix in ("png", "svg")]
    for file in files:
        figure.savefig(file, dpi=160)
    return files
