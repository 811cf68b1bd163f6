"""The two sweeps of a Myo layer, level by level: messages go up, solutions come down.

    up    y_p = u_p − Σ_c C_c y_c / Â_c        Â_p = A_p − Σ_c C_c B_c / Â_c
    down  x_v = (y_v − B_v x_p) / Â_v

For the parametrization `factor` these are y_p = u_p + Σ_c a_c y_c and x_v = y_v / d_v + ā_v x_p.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from myosotis.errors import ConfigError
from myosotis.nn import Myo
from myosotis.nn.index import row_index
from myosotis.tree import Tree, morton_order

__all__ = ["Sweeps", "as_image", "eliminate", "layer_sweeps"]

Numbers = NDArray[np.inexact]


@dataclass(frozen=True, eq=False)
class Sweeps:
    """What the nodes know after each sweep.

    Attributes:
        tree: of the nodes.
        messages: (L,), y: what is known of the subtree below each node.
        solutions: (L,), x: what is known of the whole tree.

    Example:
        >>> tree = Tree.quadtree(2)
        >>> Sweeps(tree, np.ones(5), np.arange(5) - 2j).levels("solutions")[0]
        array([2.        , 2.23606798, 2.82842712, 3.60555128])
    """

    tree: Tree
    messages: Numbers
    solutions: Numbers

    def levels(self, which: str) -> list[NDArray[np.float64]]:
        """Moduli of the `messages` or `solutions` of each level, the deepest first."""
        moduli = np.abs(getattr(self, which))
        return [moduli[level] for level in self.tree.levels]


def eliminate(
    tree: Tree, a: Numbers, b: Numbers, c: Numbers, u: Numbers
) -> tuple[Numbers, Numbers]:
    """Solve one system of scalars by the two sweeps, and keep what goes up.

    Args:
        tree: which node hangs on which.
        a: (L,), of the nodes on themselves.
        b: (L,), of the parent on each node.
        c: (L,), of each node on its parent.
        u: (L,), the right-hand side.

    Returns:
        y and x, (L,) each.

    Example:
        >>> one = np.ones(2)
        >>> y, x = eliminate(Tree.chain(2), 2 * one, one, one, np.array([2.0, 4.0]))
        >>> y, x
        (array([2., 3.]), array([0., 2.]))
    """
    pivot, y = np.array(a), np.array(u)
    below_roots = tree.levels[:-1]
    for level in below_roots:
        parent, ratio = tree.parent[level], c[level] / pivot[level]
        np.subtract.at(pivot, parent, ratio * b[level])
        np.subtract.at(y, parent, ratio * y[level])
    x = y / pivot
    for level in reversed(below_roots):
        x[level] -= b[level] * x[tree.parent[level]] / pivot[level]
    return y, x


@torch.no_grad()
def layer_sweeps(layer: Myo, tree: Tree, features: Tensor, head: int) -> Sweeps:
    """The sweeps of one head of a layer.

    Args:
        layer: with blocks of size one. Of several right-hand sides the first is taken.
        tree: which node hangs on which.
        features: (L, dim), what enters the layer.
        head: counted from 0.

    Raises:
        ConfigError: the blocks are larger.

    Example:
        >>> tree = Tree.quadtree(4)
        >>> sweeps = layer_sweeps(Myo(8, tree), tree, torch.randn(tree.num_nodes, 8), head=0)
        >>> [len(level) for level in sweeps.levels("messages")]
        [16, 4, 1]
    """
    if layer.coefficients.block > 1:
        raise ConfigError(
            f"the layer has blocks of size {layer.coefficients.block}: only those of size one can "
            f"be shown level by level"
        )
    u = layer.project_in(features)
    if layer.complex_heads:
        u = torch.view_as_complex(u.unflatten(-1, (-1, 2)))
    u = u.unflatten(-1, layer.channels)
    rows = row_index(layer.layout, tree)
    blocks = layer.coefficients.blocks(tree, rows, features.unsqueeze(0))
    a, b, c = (_double(t[..., head, 0, 0].reshape(tree.num_nodes)) for t in blocks)
    return Sweeps(tree, *eliminate(tree, a, b, c, _double(u[:, head, 0, 0])))


def as_image(level: NDArray[np.float64]) -> NDArray[np.float64]:
    """Put the nodes of a level of a square quad-tree, (side²,), where they are: (side, side).

    Example:
        >>> as_image(np.arange(4.0))
        array([[0., 1.],
               [2., 3.]])
    """
    side = int(np.sqrt(len(level)))
    image = np.empty_like(level)
    image[morton_order(side)] = level
    return image.reshape(side, side)


def _double(values: Tensor) -> Numbers:
    wide = torch.promote_types(values.dtype, torch.float64)
    doubled: Numbers = values.to(wide).resolve_conj().numpy()
    return doubled
