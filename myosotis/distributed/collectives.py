"""What ranks say to each other, differentiable any number of times.

Every rank counts as a variable of its own: on rank r, the gradient of a tensor says how the sum of
the losses of all ranks changes with that rank's copy of it.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh

from myosotis.errors import ConfigError, DistributedError

__all__ = ["all_gather", "average_gradients", "group_of"]


def group_of(mesh: DeviceMesh) -> dist.ProcessGroup:
    """The processes of a mesh of one dimension.

    Raises:
        ConfigError: it has more, or is no mesh.
    """
    if not isinstance(mesh, DeviceMesh):
        raise ConfigError(
            f"mesh is a {type(mesh).__name__}; expected a DeviceMesh, as "
            "torch.distributed.device_mesh.init_device_mesh gives"
        )
    if mesh.ndim != 1:
        names = mesh.mesh_dim_names or ()
        raise ConfigError(
            f"the mesh has {mesh.ndim} dimensions {tuple(names)}; give the one along which the "
            "nodes are divided, as mesh['sequence']"
        )
    return mesh.get_group()


def all_gather(t: Tensor, mesh: DeviceMesh) -> Tensor:
    """What every rank has, (ranks, *shape), from equal shapes on all of them.

    Raises:
        DistributedError: a rank did not answer.
    """
    gathered: Tensor = _AllGather.apply(t, group_of(mesh))  # type: ignore[no-untyped-call]
    return gathered


class _AllGather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, t: Tensor, group: dist.ProcessGroup) -> Tensor:
        ctx.group = group
        real = _as_real(t).contiguous()
        gathered = real.new_empty(group.size(), *real.shape)
        with _explained("all-gather", group):  # as a list, which no version of torch warns of
            dist.all_gather(list(gathered), real, group=group)
        return torch.view_as_complex(gathered) if t.is_complex() else gathered

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _ReduceScatter.apply(grad, ctx.group), None  # type: ignore[no-untyped-call]


class _ReduceScatter(torch.autograd.Function):
    """From (ranks, *shape) on every rank, row r of their sum to rank r."""

    @staticmethod
    def forward(ctx: Any, t: Tensor, group: dist.ProcessGroup) -> Tensor:
        ctx.group = group
        real = _as_real(t).contiguous()
        share = torch.empty_like(real[0])
        with _explained("reduce-scatter", group):
            dist.reduce_scatter(share, list(real), group=group)
        return torch.view_as_complex(share) if t.is_complex() else share

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _AllGather.apply(grad, ctx.group), None  # type: ignore[no-untyped-call]


@torch.no_grad()
def average_gradients(parameters: Iterable[Tensor], mesh: DeviceMesh) -> None:
    """Replace the gradients of parameters that all ranks hold by their mean over the ranks.

    Right where every rank computes the whole loss, as `DistributedDataParallel`, which does the
    same, would have it. Where each computes a share of it, multiply that by the number of ranks.

    Args:
        parameters: in the same order on all ranks; those without a gradient count as zero.
        mesh: of one dimension.

    Raises:
        DistributedError: a rank did not answer.

    Example:
        >>> import torch.distributed as dist
        >>> from torch.distributed.device_mesh import init_device_mesh
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> mesh = init_device_mesh("cpu", (1,))
        >>> layer = torch.nn.Linear(2, 1, bias=False)
        >>> layer(torch.ones(3, 2)).sum().backward()
        >>> average_gradients(layer.parameters(), mesh)
        >>> layer.weight.grad  # the mean over one rank
        tensor([[3., 3.]])
        >>> dist.destroy_process_group()
    """
    group = group_of(mesh)
    by_dtype: dict[torch.dtype, list[Tensor]] = {}
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        grad = _as_real(parameter.grad)
        by_dtype.setdefault(grad.dtype, []).append(grad)
    for grads in by_dtype.values():
        flat = torch.cat([grad.flatten() for grad in grads])
        with _explained("all-reduce of gradients", group):
            dist.all_reduce(flat, group=group)
        flat /= group.size()
        for grad, mean in zip(grads, flat.split([g.numel() for g in grads]), strict=True):
            grad.copy_(mean.view(grad.shape))


def _as_real(t: Tensor) -> Tensor:
    """Not every backend knows complex numbers."""
    return torch.view_as_real(t.resolve_conj()) if t.is_complex() else t


@contextmanager
def _explained(what: str, group: dist.ProcessGroup) -> Iterator[None]:
    begin = time.monotonic()
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[0]
        raise DistributedError(
            f"rank {group.rank()} of {group.size()}: the {what} failed after "
            f"{time.monotonic() - begin:.1f} s ({reason}). Another rank has ended, or was "
            "later than the time-out of the process group. Look for its error, then start all "
            "ranks anew, if need be with a longer init_process_group(timeout=…)"
        ) from error
