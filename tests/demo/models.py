"""A small untrained model of the right kind, and something to show to it."""

import numpy as np
import torch
from numpy.typing import NDArray

from myosotis import Tree
from myosotis.nn import Classifier, ClassifierConfig


def small_model() -> Classifier:
    """Two blocks of four heads for 32×32 pixels; its answers are arbitrary, but not all alike."""
    torch.manual_seed(0)
    config = ClassifierConfig(10, Tree.quadtree(32), channels=1, dim=8, depth=2, heads=4)
    return Classifier(config).eval()


def drawn_seven() -> NDArray[np.float64]:
    """Ink on a page of 280×280: a bar and a leg, drawn with a pen of 20 pixels."""
    ink = np.zeros((280, 280))
    ink[40:60, 80:200] = 1
    for row in range(60, 240):
        column = 180 - (row - 60) * 80 // 180
        ink[row, column : column + 20] = 1
    return ink
