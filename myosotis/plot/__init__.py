"""Pictures: each function returns a Matplotlib figure, in a light or a dark theme.

Matplotlib comes with the extra `plot` and is imported only when one is drawn.
"""

from myosotis.plot.curves import Contender, show_compare, show_run
from myosotis.plot.influence_image import show_influence_image
from myosotis.plot.influence_neuron import show_influence_neuron
from myosotis.plot.influence_text import show_influence_text
from myosotis.plot.matrix import example_matrix, show_matrix
from myosotis.plot.morphology import Morphology
from myosotis.plot.patterns import show_patterns
from myosotis.plot.samples import show_samples
from myosotis.plot.save import save_figure
from myosotis.plot.scaling import Point, show_scaling
from myosotis.plot.tree import show_tree

__all__ = [
    "Contender",
    "Morphology",
    "Point",
    "example_matrix",
    "save_figure",
    "show_compare",
    "show_influence_image",
    "show_influence_neuron",
    "show_influence_text",
    "show_matrix",
    "show_patterns",
    "show_run",
    "show_samples",
    "show_scaling",
    "show_tree",
]
