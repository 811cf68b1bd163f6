"""Tasks: real data, in order, ready to train on."""

from myosotis.data.arrays import ArraySplit, Scale
from myosotis.data.batch import Batch, Separable, Split
from myosotis.data.forests import ForestSplit
from myosotis.data.layout import ImageLayout
from myosotis.data.registry import available, load, register
from myosotis.data.task import Provenance, Task

__all__ = [
    "ArraySplit",
    "Batch",
    "ForestSplit",
    "ImageLayout",
    "Provenance",
    "Scale",
    "Separable",
    "Split",
    "Task",
    "available",
    "load",
    "register",
]
