"""S5: one diagonal state space model with many inputs and many outputs."""

import math

import torch
from torch import Tensor, nn

from myosotis.linalg import tree_solve_diag
from myosotis.nn.hippo import block_spectrum, block_vectors, log_uniform_steps, zero_order_hold
from myosotis.nn.mixers.base import SequenceMixer
from myosotis.nn.mixers.chain import chain
from myosotis.nn.mixers.registry import register
from myosotis.nn.mixers.settings import checked_count, checked_flag
from myosotis.nn.precision import full_precision

__all__ = ["S5"]


@register("s5")
class S5(SequenceMixer):
    """x_k = Λ̄ x_{k−1} + B̄ u_k,  y_k = 2 Re(C x_k) + D u_k, with a state shared by all features.

    Λ̄ and B̄ are Λ and B after zero-order hold with one learned step per state. Λ starts as the
    normal part of HiPPO-LegS in `blocks` blocks, of which one of each conjugate pair is kept;
    −Re Λ is learned through its logarithm, so the recurrence is stable whatever the optimiser
    does. (Smith, Warrington and Linderman, 2023; their code may clip Re Λ, ours need not.)

    Args:
        dim: number of features.
        heads: number of complex states kept, half of the state size; dim / 2 if None.
        blocks: number of equal blocks that Λ starts from; divides heads.
        bidirectional: read the sequence from both ends, with one C for each direction.
        min_step: smallest step at the start.
        max_step: largest step at the start.
        device: of the parameters.
        dtype: of the parameters.

    Example:
        >>> S5(6, heads=4, blocks=2)(torch.ones(2, 20, 6)).shape
        torch.Size([2, 20, 6])
    """

    def __init__(
        self,
        dim: int,
        heads: int | None = None,
        *,
        blocks: int = 1,
        bidirectional: bool = False,
        min_step: float = 0.001,
        max_step: float = 0.1,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(dim)
        self.heads = max(1, dim // 2) if heads is None else checked_count("heads", heads)
        self.blocks = checked_count("blocks", blocks)
        self.bidirectional = checked_flag("bidirectional", bidirectional)
        self.min_step, self.max_step = min_step, max_step
        directions = 2 if bidirectional else 1

        def empty(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(*shape, device=device, dtype=dtype))

        self.log_rate = empty(self.heads)  # log(−Re Λ)
        self.frequency = empty(self.heads)  # Im Λ
        self.log_step = empty(self.heads)
        self.input_map = empty(self.heads, dim, 2)  # B as real and imaginary parts
        self.output_map = empty(directions, dim, self.heads, 2)  # C likewise
        self.skip = empty(dim)  # D
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Start anew: HiPPO's spectrum, and random B and C expressed in its eigenvectors V."""
        states = 2 * self.heads
        eigenvalues = torch.from_numpy(block_spectrum(states, self.blocks))
        V = torch.from_numpy(block_vectors(states, self.blocks))
        self.log_rate.copy_((-eigenvalues.real).log())
        self.frequency.copy_(eigenvalues.imag)
        self.log_step.copy_(log_uniform_steps(self.heads, self.min_step, self.max_step).log())
        B = torch.randn(states, self.dim, dtype=torch.float64, device="cpu") / math.sqrt(self.dim)
        self.input_map.copy_(torch.view_as_real(V.mH @ B.to(V.dtype)))
        C = torch.randn(*self.output_map.shape[:2], states, dtype=V.dtype, device="cpu")
        self.output_map.copy_(torch.view_as_real(C * math.sqrt(2 / states) @ V))
        nn.init.normal_(self.skip)

    def mix(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Drive the states with x (batch, n, dim) and read them out."""
        with torch.autocast(x.device.type, enabled=False):
            u, skip, output_map = full_precision(x, self.skip, self.output_map)
            decay, input_map = self._discretised()
            states = self._states(decay, _apply(input_map, u))
            # 2 Re(C x) = 2 (Re C · Re x − Im C · Im x): one real product.
            signed = output_map * output_map.new_tensor([2.0, -2.0])
            weight = signed.movedim(1, 0).flatten(1)  # (dim, directions·heads·2)
            return (torch.view_as_real(states).flatten(-2) @ weight.mT + skip * u).to(x.dtype)

    def _discretised(self) -> tuple[Tensor, Tensor]:
        """Λ̄ (heads,) and B̄ (heads, dim), complex."""
        log_rate, frequency, log_step, input_map = full_precision(
            self.log_rate, self.frequency, self.log_step, self.input_map
        )
        eigenvalues = torch.complex(-log_rate.exp(), frequency)
        decay, scale = zero_order_hold(eigenvalues, log_step.exp())
        return decay, scale.unsqueeze(-1) * torch.view_as_complex(input_map)

    def _states(self, decay: Tensor, driven: Tensor) -> Tensor:
        """x (batch, n, directions·heads) from B̄u (batch, n, heads), both complex."""
        tree = chain(driven.shape[1])
        one, zero = torch.ones_like(decay), torch.zeros_like(decay)
        # The parent of node k is k+1: c carries the state onward, b would carry it back.
        states = tree_solve_diag(tree, one, zero, -decay, driven)
        if not self.bidirectional:
            return states
        backward = tree_solve_diag(tree, one, -decay, zero, driven)
        return torch.cat([states, backward], dim=-1)

    def extra_repr(self) -> str:
        """The settings, for `print`."""
        return f"dim={self.dim}, heads={self.heads}, bidirectional={self.bidirectional}"


def _apply(matrix: Tensor, u: Tensor) -> Tensor:
    """The complex `matrix` (heads, dim) applied to real u (…, dim) as one real product."""
    weight = torch.view_as_real(matrix).transpose(1, 2).flatten(0, 1)  # (heads·2, dim)
    return torch.view_as_complex((u @ weight.mT).unflatten(-1, (-1, 2)))
