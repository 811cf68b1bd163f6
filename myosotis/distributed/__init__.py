"""Trees that several processes share: who owns what, and the solution of their systems."""

from myosotis.distributed.collectives import average_gradients
from myosotis.distributed.division import Plan, plan
from myosotis.distributed.layout import gather, local_nodes, scatter

__all__ = ["Plan", "average_gradients", "gather", "local_nodes", "plan", "scatter"]
