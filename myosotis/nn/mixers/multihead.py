"""What all kinds of attention share: queries, keys and values per head, and the way back."""

from abc import abstractmethod

import torch
from torch import Tensor, nn

from myosotis.errors import ConfigError
from myosotis.nn.mixers.base import SequenceMixer
from myosotis.nn.mixers.settings import checked_count

__all__ = ["MultiHead", "Projections"]


class Projections(nn.Module):
    """Linear maps from features to queries, keys and values of several heads, and back.

    Args:
        dim: number of features.
        heads: number of attention heads, which divides dim; if None, one for each 32 features, or
            the next smaller number that divides dim.
        device: of the parameters.
        dtype: of the parameters.

    Raises:
        ConfigError: heads does not divide dim.

    Example:
        >>> maps = Projections(64)
        >>> q, k, v = maps.split(torch.ones(5, 10, 64))
        >>> q.shape, maps.merge(v).shape
        (torch.Size([5, 2, 10, 32]), torch.Size([5, 10, 64]))
    """

    def __init__(
        self,
        dim: int,
        heads: int | None = None,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.heads = _default_heads(dim) if heads is None else checked_count("heads", heads)
        if dim % self.heads:
            raise ConfigError(
                f"{heads} heads cannot share {dim} features evenly: choose heads that divide dim"
            )
        self.qkv = nn.Linear(dim, 3 * dim, device=device, dtype=dtype)
        self.output = nn.Linear(dim, dim, device=device, dtype=dtype)

    def split(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values (batch, heads, n, size) of x (batch, n, dim)."""
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return q, k, v

    def merge(self, attended: Tensor) -> Tensor:
        """Features (batch, n, dim) from (batch, heads, n, size)."""
        features: Tensor = self.output(attended.transpose(1, 2).flatten(2))
        return features


class MultiHead(SequenceMixer):
    """A mixer that projects, lets a subclass `attend`, and projects back.

    Args:
        dim: number of features.
        heads: as in `Projections`.
        device: of the parameters.
        dtype: of the parameters.

    Example:
        >>> class Values(MultiHead):
        ...     def attend(self, q, k, v, mask):
        ...         return v
        >>> Values(40, heads=4)(torch.ones(1, 3, 40)).shape
        torch.Size([1, 3, 40])
    """

    def __init__(
        self,
        dim: int,
        heads: int | None = None,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(dim)
        self.projections = Projections(dim, heads, device=device, dtype=dtype)
        self.heads = self.projections.heads

    def mix(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Attend head by head."""
        q, k, v = self.projections.split(x)
        return self.projections.merge(self.attend(q, k, v, mask))

    @abstractmethod
    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        """Weigh the values.

        Args:
            q: queries, (batch, heads, n, size).
            k: keys, likewise.
            v: values, likewise.
            mask: bool (batch, n), True where keys and values are real; None if all are.

        Returns:
            (batch, heads, n, size), finite everywhere; what it holds at masked positions is
            dropped.
        """

    def extra_repr(self) -> str:
        """The settings, for `print`."""
        return f"dim={self.dim}, heads={self.heads}"


def _default_heads(dim: int) -> int:
    return next(heads for heads in range(max(1, dim // 32), 0, -1) if dim % heads == 0)
