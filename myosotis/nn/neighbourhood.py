"""Pixels seen together with those around them."""

from math import isqrt

import torch
from torch import Tensor, nn

from myosotis.tree import morton_order

__all__ = ["Neighbourhood"]


class Neighbourhood(nn.Module):
    """One linear map of the square of pixels around each; beyond the border there are zeros.

    Args:
        channels: numbers per pixel.
        dim: features per pixel.
        side: of the square, an odd number.
        num_pixels: of the image, whose sides are equal and a power of two.

    Example:
        >>> Neighbourhood(3, 8, side=5, num_pixels=64)(torch.ones(2, 64, 3)).shape
        torch.Size([2, 64, 8])
    """

    order: Tensor
    place: Tensor

    def __init__(self, channels: int, dim: int, *, side: int, num_pixels: int) -> None:
        super().__init__()
        self.filter = nn.Conv2d(channels, dim, side, padding=side // 2)
        order = torch.from_numpy(morton_order(isqrt(num_pixels)))
        self.register_buffer("order", order, persistent=False)  # place in the sequence -> pixel
        self.register_buffer("place", order.argsort(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Maps x (batch, pixels in Morton order, channels) to (batch, pixels, dim)."""
        side = isqrt(x.shape[1])
        image = x.index_select(1, self.place).mT.unflatten(2, (side, side))
        features: Tensor = self.filter(image)  # (batch, dim, side, side)
        return features.flatten(2).mT.index_select(1, self.order)
