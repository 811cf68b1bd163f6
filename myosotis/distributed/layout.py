"""Between tensors over all nodes and those over the nodes of a rank."""

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh

from myosotis.distributed.collectives import all_gather
from myosotis.distributed.division import plan
from myosotis.distributed.part import part_of, part_on
from myosotis.errors import ShapeError
from myosotis.tree import Tree

__all__ = ["gather", "local_nodes", "scatter"]


def local_nodes(tree: Tree, mesh: DeviceMesh) -> Tensor:
    """int64 (n,), the nodes of this rank: those that it owns, then those that every rank has.

    Raises:
        TreeError: the tree does not fall into as many pieces as there are ranks.

    Example:
        >>> import torch.distributed as dist
        >>> from torch.distributed.device_mesh import init_device_mesh
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> mesh = init_device_mesh("cpu", (1,))
        >>> local_nodes(Tree.star(3), mesh)  # one rank has them all
        tensor([0, 1, 2, 3])
        >>> dist.destroy_process_group()
    """
    return part_on(tree, mesh).nodes


def scatter(x: Tensor, tree: Tree, mesh: DeviceMesh) -> Tensor:
    """The rows of this rank from a tensor that every rank has in full. Sends nothing.

    The gradient is zero for the nodes of other ranks: it is this rank's share, and the sum over
    all ranks is the whole.

    Args:
        x: (…, L, H).
        tree: the tree.
        mesh: of one dimension; its ranks share the tree.

    Returns:
        (…, n, H), in the order of `local_nodes`.

    Example:
        >>> import torch.distributed as dist
        >>> from torch.distributed.device_mesh import init_device_mesh
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> mesh = init_device_mesh("cpu", (1,))
        >>> scatter(torch.ones(8, 4, 16), Tree.star(3), mesh).shape  # one rank has all nodes
        torch.Size([8, 4, 16])
        >>> dist.destroy_process_group()
    """
    part = part_on(tree, mesh)
    if x.ndim < 2 or x.shape[-2] != tree.num_nodes:
        raise ShapeError(
            f"x has shape {tuple(x.shape)}; expected (…, {tree.num_nodes}, H): every node of the "
            "tree"
        )
    return x.index_select(-2, part.nodes.to(x.device))


def gather(x: Tensor, tree: Tree, mesh: DeviceMesh) -> Tensor:
    """The tensor over all nodes, on every rank, from the rows of each.

    Everything is sent everywhere: for results and small trees.

    Args:
        x: (…, n, H), in the order of `local_nodes`.
        tree: the tree.
        mesh: of one dimension; its ranks share the tree.

    Returns:
        (…, L, H).

    Raises:
        DistributedError: a rank did not answer.

    Example:
        >>> import torch.distributed as dist
        >>> from torch.distributed.device_mesh import init_device_mesh
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> mesh = init_device_mesh("cpu", (1,))
        >>> x = torch.randn(8, 4, 16)
        >>> torch.equal(gather(scatter(x, Tree.star(3), mesh), Tree.star(3), mesh), x)
        True
        >>> dist.destroy_process_group()
    """
    part = part_on(tree, mesh)
    if x.ndim < 2 or x.shape[-2] != part.num_nodes:
        raise ShapeError(
            f"x has shape {tuple(x.shape)}; expected (…, {part.num_nodes}, H): the nodes of rank "
            f"{part.rank}"
        )
    own, top = x.split([part.num_own, part.num_top], dim=-2)
    most = int(part.plan.sizes.max())
    padded = torch.nn.functional.pad(own, (0, 0, 0, most - part.num_own))
    owned = all_gather(padded, mesh).movedim(0, -3).flatten(-3, -2)  # (…, ranks · most, H)
    rows = _rows(tree, part.plan.ranks)
    return torch.cat([owned, top], dim=-2).index_select(-2, rows.to(x.device))


@lru_cache(maxsize=16)
def _rows(tree: Tree, ranks: int) -> Tensor:
    """int64 (L,), where each node stands: equally many rows for each rank, then the top."""
    division = plan(tree, ranks)
    most = int(division.sizes.max())
    row = np.empty(tree.num_nodes, dtype=np.int64)
    for rank in range(ranks):
        part = part_of(tree, ranks, rank)
        row[part.nodes.numpy()] = np.concatenate(
            [rank * most + np.arange(part.num_own), ranks * most + np.arange(part.num_top)]
        )
    return torch.from_numpy(row)
