"""Tables of coefficients before and after a sweep: each in one pass, of any size.

Complex numbers are pairs of real ones side by side.
"""

from numba import uintp

from myosotis.compiled import kernel
from myosotis.linalg.kernels.team import deal_out

__all__ = ["add_up", "invert"]


@kernel
def invert(team, pieces, numbers, parts, zero):
    """1/d in place of each d, and of the parts after it; zero[0] becomes 1 if a d is zero.

    Pieces: (from, to).
    """
    deal_out(team, pieces, invert_piece, (numbers, parts, zero))


@kernel
def invert_piece(pieces, numbers, parts, zero, i):
    found = False
    for k in range(pieces[i, 0], pieces[i, 1]):
        d = numbers[k * parts]
        found |= d == 0
        for part in range(parts):
            numbers[k * parts + part] = 1 / d
    if found:
        zero[0] = 1


@kernel
def add_up(team, pieces, totals, parts, a_sum, d_sum):
    """Finish sums of `gradient_sweeps`, see `add_edge` and `add_pivot` there.

    totals: (tables, rows, 3, channels · parts). a_sum, d_sum: (rows, channels · parts), (rows,
    channels). Pieces: rows (from, to).
    """
    deal_out(team, pieces, add_up_piece, (totals, parts, a_sum, d_sum))


@kernel
def add_up_piece(pieces, totals, parts, a_sum, d_sum, i):
    tables, channels = uintp(totals.shape[0]), uintp(d_sum.shape[1])
    for row in range(pieces[i, 0], pieces[i, 1]):
        for h in range(channels):
            re, im = h * parts, h * parts + parts - uintp(1)
            real, imaginary, pivot = d_sum.dtype.type(0), d_sum.dtype.type(0), d_sum.dtype.type(0)
            for t in range(tables):
                like, unlike, own = totals[t, row, 0], totals[t, row, 1], totals[t, row, 2]
                real += like[re]
                pivot += own[re]
                if parts > uintp(1):
                    real += like[im]
                    imaginary += unlike[re] - unlike[im]
                    pivot += own[im]
            a_sum[row, re] = real
            if parts > uintp(1):
                a_sum[row, im] = imaginary
            d_sum[row, h] = pivot
