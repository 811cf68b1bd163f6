"""S4D: a diagonal state space model per feature, applied as a long convolution."""

import math

import torch
from torch import Tensor, nn

from myosotis.nn.hippo import block_spectrum, log_uniform_steps, zero_order_hold
from myosotis.nn.mixers.base import SequenceMixer
from myosotis.nn.mixers.registry import register
from myosotis.nn.mixers.settings import checked_choice, checked_count, checked_flag
from myosotis.nn.precision import full_precision

__all__ = ["S4D"]

_COLUMNS = 128  # of the table that a kernel is computed as: about the root of usual lengths


@register("s4d")
class S4D(SequenceMixer):
    """One model x_k = Λ̄ x_{k−1} + B̄ u_k, y_k = 2 Re⟨C, x_k⟩ + D u_k per feature, then a linear map.

    Feature by feature that is a convolution with K_l = 2 Re Σ_s C_s B̄_s Λ̄_s^l, done by FFT. B is 1
    before zero-order hold, which uses one learned step per feature. (Gu et al., 2022.)

    Args:
        dim: number of features.
        heads: number of complex states kept per feature; dim / 2 if None.
        init: what Λ starts as: "legs", the normal part of HiPPO-LegS, or "lin", −1/2 + iπs.
        bidirectional: add a convolution with what follows, with a C of its own.
        min_step: smallest step at the start.
        max_step: largest step at the start.
        device: of the parameters.
        dtype: of the parameters.

    Example:
        >>> S4D(6, heads=4, init="lin")(torch.ones(2, 20, 6)).shape
        torch.Size([2, 20, 6])
    """

    def __init__(
        self,
        dim: int,
        heads: int | None = None,
        *,
        init: str = "legs",
        bidirectional: bool = False,
        min_step: float = 0.001,
        max_step: float = 0.1,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(dim)
        self.heads = max(1, dim // 2) if heads is None else checked_count("heads", heads)
        self.init = checked_choice("init", init, ("legs", "lin"))
        self.bidirectional = checked_flag("bidirectional", bidirectional)
        self.min_step, self.max_step = min_step, max_step
        directions = 2 if bidirectional else 1

        def empty(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(*shape, device=device, dtype=dtype))

        self.log_rate = empty(dim, self.heads)  # log(−Re Λ)
        self.frequency = empty(dim, self.heads)  # Im Λ
        self.log_step = empty(dim, 1)
        self.output_map = empty(directions, dim, self.heads, 2)  # C as real and imaginary parts
        self.skip = empty(dim)  # D
        self.output = nn.Linear(dim, dim, device=device, dtype=dtype)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Start anew: the spectrum that `init` names, C and D standard normal."""
        nn.init.constant_(self.log_rate, math.log(0.5))
        if self.init == "legs":
            self.frequency.copy_(torch.from_numpy(block_spectrum(2 * self.heads).imag))
        else:
            self.frequency.copy_(math.pi * torch.arange(self.heads, device="cpu"))
        steps = log_uniform_steps(self.dim, self.min_step, self.max_step)
        self.log_step.copy_(steps.log().unsqueeze(-1))
        nn.init.normal_(self.output_map, std=math.sqrt(0.5))
        nn.init.normal_(self.skip)
        self.output.reset_parameters()

    def mix(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Convolve each feature of x (batch, n, dim) with its kernel, then mix the features."""
        with torch.autocast(x.device.type, enabled=False):
            u, skip = full_precision(x, self.skip)
            y = _convolve(u.mT, self._kernel(x.shape[1])).mT + skip * u
        mixed: Tensor = self.output(y.to(x.dtype))
        return mixed

    def _kernel(self, n: int) -> Tensor:
        """K (dim, 2n): its lags 0 to n−1, then those from −n to −1.

        Λ̄^l is a product of two powers, l = row · _COLUMNS + column, so the sum over the states
        is a product of matrices and nothing of size dim · heads · n is ever stored.
        """
        log_rate, frequency, log_step, output_map = full_precision(
            self.log_rate, self.frequency, self.log_step, self.output_map
        )
        eigenvalues = torch.complex(-log_rate.exp(), frequency)
        step = log_step.exp()
        _, scale = zero_order_hold(eigenvalues, step)
        z = (eigenvalues * step).unsqueeze(-1)  # log Λ̄
        rows = -(-n // _COLUMNS)
        within = (z * torch.arange(_COLUMNS, device=z.device)).exp()
        across = (z * (_COLUMNS * torch.arange(rows, device=z.device))).exp()
        weight = 2 * torch.view_as_complex(output_map) * scale  # (directions, dim, heads)
        table = (weight.unsqueeze(-1) * across).mT @ within  # (directions, dim, rows, _COLUMNS)
        kernel = table.real.flatten(-2)[..., :n]
        if not self.bidirectional:
            return nn.functional.pad(kernel[0], (0, n))
        return torch.cat([kernel[0], kernel[1].flip(-1)], dim=-1)

    def extra_repr(self) -> str:
        """The settings, for `print`."""
        return (
            f"dim={self.dim}, heads={self.heads}, init={self.init}, "
            f"bidirectional={self.bidirectional}"
        )


def _convolve(u: Tensor, kernel: Tensor) -> Tensor:
    """u (batch, dim, n) with a circular kernel (dim, 2n), long enough not to wrap around."""
    n = u.shape[-1]
    spectrum = torch.fft.rfft(u, n=2 * n) * torch.fft.rfft(kernel)
    y: Tensor = torch.fft.irfft(spectrum, n=2 * n)
    return y[..., :n]
