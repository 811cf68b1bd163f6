"""Layers and models built on the solver."""

from myosotis.nn import mixers
from myosotis.nn.classifier import Classifier
from myosotis.nn.config import ClassifierConfig
from myosotis.nn.myo import Myo

__all__ = ["Classifier", "ClassifierConfig", "Myo", "mixers"]
