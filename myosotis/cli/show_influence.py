"""`myo show influence`: what weighs how much in a trained model, or in a neuron."""

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from myosotis.cli.data import DataDir
from myosotis.cli.evaluate import SplitName
from myosotis.cli.example_influence import ROOT, Example
from myosotis.cli.show import Dark, Out, theme_name, write_picture
from myosotis.cli.token_words import token_words
from myosotis.cli.train import require_training
from myosotis.data import load
from myosotis.errors import ConfigError
from myosotis.plot.influence_image import show_influence_image
from myosotis.plot.influence_neuron import show_influence_neuron
from myosotis.plot.influence_text import show_influence_text
from myosotis.plot.morphology import Morphology
from myosotis.plot.save import check_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["show_influence"]


class Each(str, Enum):
    """What there may be a map for each of."""

    block = "block"
    head = "head"


Source = Annotated[
    Path,
    typer.Argument(
        metavar="RUN", help="Folder of a run or of a saved model, or a neuron's .swc file."
    ),
]
At = Annotated[
    str,
    typer.Option(
        "--at",
        metavar="PLACE",
        help="What listens: root, a pixel ROW,COLUMN counted from 0, or the number of a token or "
        "of a neuron's sample counted from 1.",
    ),
]
Block = Annotated[
    int | None, typer.Option(min=1, help="Only this block, counted from 1; else their mean.")
]
Head = Annotated[
    int | None, typer.Option(min=1, help="Only this head, counted from 1; else their mean.")
]


def show_influence(
    source: Source,
    at: At = ROOT,
    example: Annotated[int, typer.Option(min=1, help="Which example, counted from 1.")] = 1,
    split: Annotated[SplitName, typer.Option(help="Examples to choose from.")] = SplitName.test,
    block: Block = None,
    head: Head = None,
    each: Annotated[
        Each | None, typer.Option(help="For images: a map for each block or each head.")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="The task of a saved model, or another of the same kind.")
    ] = None,
    data_dir: DataDir = None,
    out: Out = Path("influence.png"),
    dark: Dark = False,
) -> None:
    """Draw the exact weight of each pixel, token or sample in the state of one node.

    For each head that is a row of the inverse of its matrix, found by one solve
    and divided by its sum. A neuron is taken for a passive cable.
    """
    check_picture(out)
    if source.suffix.lower() == ".swc":
        if block or head or each:
            raise ConfigError("a neuron has neither blocks nor heads: leave these options out")
        write_picture(_neuron(source, at, theme_name(dark)), out)
        return
    require_training()
    from myosotis.train.saved import saved_model

    model, name = saved_model(source, task)
    chosen = Example.of(model, load(name, data_dir), split.value, example - 1)
    listener = chosen.find(at)
    node = chosen.root if listener is None else int(chosen.nodes[listener])
    maps = _maps(chosen.shares(node), block, head, each)
    kind = "token" if chosen.task.layout is None else "pixel"
    title = (
        f"{chosen.describe()}: influence on {'the root' if listener is None else f'{kind} {at}'}"
    )
    if chosen.task.layout is None:
        figure = _text(chosen, maps, listener, title, data_dir, theme_name(dark))
    else:
        figure = show_influence_image(
            chosen.task.images(split.value, [example - 1])[0],
            {caption: chosen.as_image(shares) for caption, shares in maps.items()},
            pixel=None if listener is None else chosen.pixel(listener),
            title=title,
            theme=theme_name(dark),
        )
    write_picture(figure, out)


def _maps(
    shares: NDArray[np.float64], block: int | None, head: int | None, each: Each | None
) -> dict[str, NDArray[np.float64]]:
    """Means of shares (depth, heads, n) over what is not chosen, n numbers each, by caption."""
    names = []
    for axis, (what, chosen) in enumerate((("block", block), ("head", head))):
        number = shares.shape[axis]
        if chosen is not None and chosen > number:
            raise ConfigError(f"there is no {what} {chosen}: the model has {number}")
        names.append(f"all {what}s" if chosen is None else f"{what} {chosen}")
        if chosen is not None:
            shares = shares.take([chosen - 1], axis=axis)
    if each is None:
        return {", ".join(names): shares.mean(axis=(0, 1))}
    if each is Each.block:
        first = block or 1
        return {f"block {first + n}": row for n, row in enumerate(shares.mean(axis=1))}
    first = head or 1
    return {f"head {first + n}": row for n, row in enumerate(shares.mean(axis=0))}


def _text(
    example: Example,
    maps: dict[str, NDArray[np.float64]],
    listener: int | None,
    title: str,
    data_dir: Path | None,
    theme: str,
) -> "Figure":
    if len(maps) > 1:
        raise ConfigError("--each is for images: choose one --block or --head of a text instead")
    words = token_words(example.task, example.tokens, data_dir)
    (shares,) = maps.values()
    return show_influence_text(words, shares, token=listener, title=title, theme=theme)


def _neuron(path: Path, at: str, theme: str) -> "Figure":
    neuron = Morphology.read(path)
    tree = neuron.tree
    if at == ROOT:
        node = int(tree.roots[0])
    elif at.isdecimal() and 1 <= int(at) <= tree.num_nodes:
        node = int(np.argsort(tree.input_index)[int(at) - 1])
    else:
        raise ConfigError(
            f"no sample has the number {at!r}: write {ROOT}, or one from 1 to {tree.num_nodes}"
        )
    resistance = neuron.passive_system().influence(node)
    title = f"{path.stem}: influence on {'the root' if at == ROOT else f'sample {at}'}"
    weights = np.asarray(resistance).squeeze(-1)
    return show_influence_neuron(neuron, weights, node=node, title=title, theme=theme)
