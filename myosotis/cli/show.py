"""`myo show`: trees, matrices, patterns and runs as pictures."""

from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Annotated

import typer

from myosotis.cli.train import require_training
from myosotis.cli.tree_argument import FORMS, parse_tree
from myosotis.errors import ConfigError
from myosotis.plot.curves import Contender, show_compare, show_run
from myosotis.plot.matrix import example_matrix, show_matrix
from myosotis.plot.patterns import show_patterns
from myosotis.plot.save import check_picture, save_figure
from myosotis.plot.tree import show_tree

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from myosotis.train.result import Result

__all__ = ["Dark", "Out", "app", "theme_name", "write_picture"]

app = typer.Typer(help="Draw trees, matrices, influence and runs.", no_args_is_help=True)

TreeText = Annotated[str, typer.Argument(metavar="TREE", help=f"One such as {FORMS}.")]
Out = Annotated[
    Path, typer.Option("--out", metavar="FILE", dir_okay=False, help="A .png or .svg file.")
]
Dark = Annotated[bool, typer.Option("--dark", help="Light on dark instead of dark on light.")]


@app.command("tree")
def draw_tree(
    tree: TreeText,
    ranks: Annotated[
        int | None, typer.Option(help="Colour the nodes by the rank that owns them, of so many.")
    ] = None,
    out: Out = Path("tree.png"),
    dark: Dark = False,
) -> None:
    """Draw a tree, level by level, with the leaves below each node; large trees are abridged."""
    check_picture(out)
    parsed = parse_tree(tree)
    owner = None
    if ranks is not None:
        from myosotis.distributed import plan  # brings Numba, which takes a second

        owner = plan(parsed, ranks).owner
    write_picture(show_tree(parsed, groups=owner, group_name="rank", theme=theme_name(dark)), out)


@app.command("matrix")
def draw_matrix(tree: TreeText, out: Out = Path("matrix.png"), dark: Dark = False) -> None:
    """Draw the matrix of a tree beside its inverse: one sparse, the other dense.

    Its entries are an example: positive definite, with equal weights for siblings.
    """
    check_picture(out)
    matrix = example_matrix(parse_tree(tree))
    write_picture(show_matrix(matrix, theme=theme_name(dark)), out)


@app.command("patterns")
def draw_patterns(out: Out = Path("patterns.png"), dark: Dark = False) -> None:
    """Draw four sparsity patterns of attention, as masks and as graphs."""
    check_picture(out)
    write_picture(show_patterns(theme=theme_name(dark)), out)


@app.command("run")
def draw_run(
    run: Annotated[Path, typer.Argument(help="Folder of a run, finished or not.")],
    out: Out = Path("run.png"),
    dark: Dark = False,
) -> None:
    """Draw the learning curves of a run."""
    require_training()
    check_picture(out)
    from myosotis.train.history import read_history
    from myosotis.train.layout import CONFIG, METRICS, RESULT
    from myosotis.train.recipes import load_config
    from myosotis.train.result import Result

    config = load_config(run / CONFIG)
    history = read_history(run / METRICS)
    if not history:
        raise ConfigError(f"{run} has finished no epoch yet: there is nothing to draw")
    title = f"{config.task}, {config.model.mixer}"
    if (run / RESULT).exists():
        title += f": test accuracy {Result.read(run).test_accuracy:.2%}"
    write_picture(show_run(title, history, theme=theme_name(dark)), out)


@app.command("compare")
def draw_comparison(
    folder: Annotated[Path, typer.Argument(help="Folder of finished runs of one task.")],
    out: Out = Path("compare.png"),
    dark: Dark = False,
) -> None:
    """Draw the accuracy of several runs against time, best mixer first."""
    require_training()
    check_picture(out)
    from myosotis.train.history import read_history
    from myosotis.train.layout import METRICS, RESULT
    from myosotis.train.result import Result

    results = {file.parent: Result.read(file.parent) for file in sorted(folder.glob(f"*/{RESULT}"))}
    if not results:
        raise ConfigError(f"there are no finished runs in {folder}: make some with 'myo compare'")
    tasks = sorted({result.task for result in results.values()})
    if len(tasks) > 1:
        raise ConfigError(
            f"the runs in {folder} are of several tasks ({', '.join(tasks)}), which cannot be "
            f"compared: choose a folder with runs of one"
        )
    contenders = {
        mixer: Contender(
            [read_history(run / METRICS) for run in runs],
            [results[run].test_accuracy for run in runs],
        )
        for mixer, runs in _by_mixer(results).items()
    }
    title = f"{tasks[0]}: accuracy against time"
    write_picture(show_compare(title, contenders, theme=theme_name(dark)), out)


def _by_mixer(results: dict[Path, "Result"]) -> dict[str, list[Path]]:
    """Return the runs of each mixer, that of the highest mean test accuracy first."""
    found: defaultdict[str, list[Path]] = defaultdict(list)
    for run, result in results.items():
        found[result.mixer].append(run)

    def accuracy(mixer: str) -> float:
        return mean(results[run].test_accuracy for run in found[mixer])

    return {mixer: found[mixer] for mixer in sorted(found, key=accuracy, reverse=True)}


def theme_name(dark: bool) -> str:
    """Return the name of the theme that the option --dark chooses."""
    return "dark" if dark else "light"


def write_picture(figure: "Figure", out: Path) -> None:
    """Write a picture, and say where."""
    save_figure(figure, out)
    typer.echo(f"wrote {out}")
