"""A trained model that reads drawn digits, and what can be asked of it."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from myosotis.data.arrays import ArraySplit, Scale
from myosotis.data.layout import ImageLayout
from myosotis.demo.drawing import SIDE
from myosotis.demo.sweeps import Sweeps, as_image, layer_sweeps
from myosotis.errors import ConfigError
from myosotis.nn import Classifier, Myo
from myosotis.nn.influence import influence, layers_on_the_whole_tree, recorded_calls
from myosotis.nn.shift import moved_nodes
from myosotis.tree import Tree

__all__ = ["TASK", "DigitReader", "committed_checkpoint"]

TASK = "zmnist"
_BORDER = 2  # around an image of the task
_LAYOUT = ImageLayout.morton(SIDE, SIDE, _BORDER)
# Of the pixels of the task's training split, which need not be there to read a drawing.
_SCALE = Scale(np.array([33.3242487]), np.array([78.57232564]))
_PATH_STEPS = 16  # between a blank page and the drawing; the sum is then right to a few per cent


def committed_checkpoint() -> Path:
    """Return the folder of the model that comes with a checkout.

    Raises:
        ConfigError: there is none, as in an installed package.

    Example:
        >>> try:
        ...     folder = committed_checkpoint()
        ... except ConfigError as error:
        ...     print(error)
        ... else:
        ...     print("there is no model", end="...")
        there is no model...
    """
    folder = Path(__file__).resolve().parents[2] / "checkpoints" / TASK
    if not folder.is_dir():
        raise ConfigError(
            f"there is no model in {folder}, where a checkout has one: make your own with "
            f"'myo train {TASK}' and name its folder, as in 'myo demo runs/NAME'"
        )
    return folder


@dataclass(frozen=True, eq=False)
class DigitReader:
    """A classifier of images of MNIST, in Morton order with their border.

    Images are uint8 (28, 28), as `myosotis.demo.drawing.mnist_image` makes them.

    Attributes:
        model: of Myo layers on the quad-tree over 32×32 pixels.

    Raises:
        ConfigError: the model is made for something else.

    Example:
        >>> from myosotis.nn import ClassifierConfig
        >>> config = ClassifierConfig(10, Tree.quadtree(32), channels=1, dim=8, depth=1, heads=2)
        >>> reader = DigitReader(Classifier(config).eval())
        >>> image = np.zeros((28, 28), dtype=np.uint8)
        >>> reader.probabilities(image).shape, reader.contributions(image, digit=3).shape
        ((10,), (28, 28))
        >>> len(reader.sweeps(image, block=0, head=1).levels("messages"))
        6
    """

    model: Classifier

    def __post_init__(self) -> None:
        config = self.model.config
        found = (config.mixer, config.channels, config.num_classes, config.tree)
        expected = ("myo", 1, 10, Tree.quadtree(*_LAYOUT.padded_shape))
        if found != expected or any(layer.coefficients.block > 1 for layer in self.layers):
            raise ConfigError(
                f"the model does not read digits as the page draws them: give one of "
                f"'myo train {TASK}' with the mixer myo and blocks of size one"
            )

    @classmethod
    def load(cls, folder: Path) -> "DigitReader":
        """Read the model of a run, or one that `Classifier.save_pretrained` wrote.

        Raises:
            ConfigError: there is no model, or it is made for something else.
            DataError: it is damaged.
        """
        from myosotis.train.layout import CONFIG
        from myosotis.train.recipes import load_config
        from myosotis.train.saved import saved_model

        if (folder / CONFIG).exists():
            task = load_config(folder / CONFIG).task
            if task != TASK:
                raise ConfigError(f"{folder} is a run of {task}: the page needs one of {TASK}")
        model, _ = saved_model(folder, TASK)
        return cls(model)

    @property
    def tree(self) -> Tree:
        """The quad-tree over the pixels and their border."""
        tree = self.model.config.tree
        assert tree is not None  # as was checked
        return tree

    @property
    def layers(self) -> list[Myo]:
        """The Myo layer of each block that works on the whole tree."""
        return layers_on_the_whole_tree(self.model)

    @torch.no_grad()
    def probabilities(self, image: NDArray[np.uint8]) -> NDArray[np.float64]:
        """float64[10], that of each digit."""
        logits: Tensor = self.model(_inputs(image))[0]
        found: NDArray[np.float64] = logits.double().softmax(-1).numpy()
        return found

    def contributions(self, image: NDArray[np.uint8], digit: int) -> NDArray[np.float64]:
        """What the ink at each pixel adds to the score of a digit: float64 (28, 28).

        That is ink times gradient, averaged over the way from a blank page to the image. All of
        it together is, up to the error of the average, the difference of the two scores. Pixels
        without ink add nothing.
        """
        blank, drawn = _inputs(np.zeros_like(image)), _inputs(image)
        way = (torch.arange(_PATH_STEPS) + 0.5) / _PATH_STEPS
        points = (blank + way[:, None, None] * (drawn - blank)).requires_grad_()
        score = self.model(points)[:, digit].sum()
        (gradient,) = torch.autograd.grad(score, points)
        added = (drawn - blank)[0] * gradient.mean(0)
        return _inside(added[:, 0].double().numpy())

    def weights_at_root(self, image: NDArray[np.uint8]) -> NDArray[np.float64]:
        """The influence of each pixel on the root, float64 (28, 28), mean of blocks and heads.

        It depends on the image only if the coefficients do.
        """
        weights = influence(self.model, _inputs(image), int(self.tree.roots[0]))
        mean = weights[:, 0].double().mean((0, 1)).numpy()
        return _inside(mean[self.tree.leaves])

    @torch.no_grad()
    def sweeps(self, image: NDArray[np.uint8], block: int, head: int) -> Sweeps:
        """Messages and solutions of one head of one block, both counted from 0."""
        layer, shift = self.layers[block], self.model.config.shift_of(block)
        with recorded_calls(self.layers) as calls:
            self.model(_inputs(image))
        features, _ = calls[block]
        sweeps = layer_sweeps(layer, self.tree, features[0], head)
        if shift == 0:
            return sweeps
        back = moved_nodes(self.tree, shift, 0).numpy()  # each cell where it is in the image
        return Sweeps(self.tree, sweeps.messages[back], sweeps.solutions[back])


def _inputs(image: NDArray[np.uint8]) -> Tensor:
    """float32 (1, leaves, 1), scaled and in order as in training."""
    sequence = _LAYOUT.sequences(image[None, ..., None])
    one = ArraySplit(sequence, np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), _SCALE)
    return next(one.batches(1)).inputs


def _inside(leaves: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values of the leaves as an image without the border."""
    inside = slice(_BORDER, _BORDER + SIDE)
    return as_image(leaves)[inside, inside]
