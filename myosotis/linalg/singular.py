"""Saying where an elimination broke down."""

import numpy as np
from torch import Tensor

from myosotis.errors import SingularBlockError
from myosotis.tree import Tree

__all__ = ["raise_if_singular"]


def raise_if_singular(tree: Tree, singular: Tensor, diagonal: bool, *, ordered: bool) -> None:
    """Raise `SingularBlockError` for the first node of the first system that is flagged.

    Args:
        tree: the tree that was eliminated.
        singular: bool (L, *batch) for dense blocks, (L, *batch, h) for diagonal ones.
        diagonal: whether the last axis of `singular` counts channels.
        ordered: whether the elimination went leaf to root; otherwise the message says that such
            an elimination may still succeed.
    """
    if not singular.any():
        return
    # Batch-major order: later nodes of the same system may be flagged only because an earlier
    # one spoiled them, and what happens in one system says nothing of the others.
    flags = singular.movedim(0, -1).reshape(-1, len(singular)).cpu().numpy()
    system = int(np.argmax(flags.any(axis=1)))
    node = int(np.argmax(flags[system]))
    index = tuple(int(i) for i in np.unravel_index(system, singular.shape[1:]))
    batch, channel = (index[:-1], index[-1]) if diagonal else (index, None)
    level = tree.num_levels - int(tree.depth[node])
    where = f"node {node} (level {level} of {tree.num_levels}"
    where += f", channel {channel}" if diagonal else ""
    where += f", batch index {batch})" if batch else ")"
    others = int(flags.any(axis=1).sum()) - 1
    message = f"the pivot block of {where} is singular: T has no inverse"
    message += " or needs another elimination order"
    message += "" if ordered else "; backend='reference' eliminates strictly from leaf to root"
    message += f"; {others} other systems of the batch are singular too" if others else ""
    message += ". Check A there, or add a multiple of the identity to it"
    raise SingularBlockError(message, node, level, batch)
