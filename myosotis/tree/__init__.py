"""Trees: their shape, their numbering, and orders of pixels that suit them."""

from myosotis.tree.order import hilbert_order, morton_order, snake_order
from myosotis.tree.topology import Tree

__all__ = ["Tree", "hilbert_order", "morton_order", "snake_order"]
