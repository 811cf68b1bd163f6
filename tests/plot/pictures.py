"""One of each picture, small, for what all of them promise."""

import numpy as np

from myosotis import Tree
from myosotis.plot import (
    Contender,
    Morphology,
    Point,
    example_matrix,
    show_compare,
    show_influence_image,
    show_influence_neuron,
    show_influence_text,
    show_matrix,
    show_patterns,
    show_run,
    show_samples,
    show_scaling,
    show_tree,
)
from myosotis.train.history import Epoch

RANDOM = np.random.default_rng(0)
IMAGE = RANDOM.integers(0, 255, (6, 8, 1), dtype=np.uint8)
WORDS = "An image of words , $5 each , that goes on for long enough to need a second line of text"


def epochs(number: int) -> list[Epoch]:
    return [
        Epoch(n, n, 1 / n, 0.5, 2 / n, 1 - 1 / (n + 1), 1e-3, float(n), 100.0)
        for n in range(1, number + 1)
    ]


def neuron() -> Morphology:
    """Two branches that leave a soma in opposite directions."""
    tree = Tree.forest([Tree.chain(9)])
    places = np.stack([np.linspace(-300, 200, 9), np.linspace(0, 80, 9) ** 1.2, np.zeros(9)], 1)
    return Morphology(tree, places, np.linspace(0.5, 4, 9))


PICTURES = {
    "tree": lambda theme: show_tree(Tree.perfect(3, 2), theme=theme),
    "large-tree": lambda theme: show_tree(Tree.quadtree(64), theme=theme),
    "groups": lambda theme: show_tree(Tree.star(9), groups=np.arange(10), theme=theme),
    "matrix": lambda theme: show_matrix(example_matrix(Tree.perfect(2, 3)), theme=theme),
    "patterns": lambda theme: show_patterns(theme=theme),
    "image": lambda theme: show_influence_image(
        IMAGE,
        {f"head {n}": RANDOM.random((6, 8)) for n in range(1, 14)},
        pixel=(1, 2),
        title="heads",
        theme=theme,
    ),
    "text": lambda theme: show_influence_text(
        WORDS.split(), RANDOM.random(len(WORDS.split())), token=3, title="words", theme=theme
    ),
    "neuron": lambda theme: show_influence_neuron(
        neuron(), np.geomspace(1e-4, 1, 9), node=8, title="a neuron", theme=theme
    ),
    "run": lambda theme: show_run("a run", epochs(5), theme=theme),
    "compare": lambda theme: show_compare(
        "two", {name: Contender([epochs(3)], [0.5]) for name in ("myo", "s5")}, theme=theme
    ),
    "samples": lambda theme: show_samples(
        "some", np.stack([IMAGE] * 5), list("abcde"), theme=theme
    ),
    "scaling": lambda theme: show_scaling(
        "a solver",
        {name: [Point(2**k, 1e-9 * 2**k, 2**20) for k in (8, 9)] for name in ("ours", "theirs")},
        [f"other {n}: not installed" for n in range(9)],
        theme=theme,
    ),
}
