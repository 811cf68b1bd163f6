"""A Myo on a chain: a state-space model that runs both ways, as one solve."""

import torch
from torch import Tensor

from myosotis.nn.initial import Init
from myosotis.nn.mixers.base import SequenceMixer
from myosotis.nn.mixers.chain import chain
from myosotis.nn.mixers.registry import register
from myosotis.nn.myo import Myo
from myosotis.nn.parametrizations import Parametrization

__all__ = ["ChainMyo"]


@register("chain-myo")
class ChainMyo(SequenceMixer):
    """Token k is node k of a chain, so T is tridiagonal, and T⁻¹ carries it both ways.

    With the parametrization `factor`, T⁻¹ = (I − U^H)⁻¹ D⁻¹ (I − U)⁻¹: a scan from the first token
    to the last, and one back. Coefficients are shared by all tokens, so any length will do.

    Args:
        dim: number of features.
        heads: number of systems; dim / 2 if None.
        parametrization: as for `Myo`.
        init: as for `Myo`.
        selective: let the coefficients of a token depend on its features.
        device: of the parameters.
        dtype: of the parameters.

    Example:
        >>> ChainMyo(6, heads=4)(torch.ones(2, 20, 6)).shape
        torch.Size([2, 20, 6])
    """

    def __init__(
        self,
        dim: int,
        heads: int | None = None,
        *,
        parametrization: Parametrization = "factor",
        init: Init = "hippo",
        selective: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(dim)
        self.myo = Myo(
            dim,
            chain(2),
            heads,
            sharing="tied",
            parametrization=parametrization,
            init=init,
            selective=selective,
            device=device,
            dtype=dtype,
        )

    def mix(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Mixes x (batch, n, dim); padding cuts the chain."""
        tree = chain(x.shape[1])
        return self.myo(x, tree=tree) if mask is None else self.myo.mix_alive(x, mask, tree)
