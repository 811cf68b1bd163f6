"""Elimination and substitution of diagonal systems in one go, where nobody needs the factor.

Nodes go in canonical order, so that every coefficient is read once and in the order in which it
lies in memory. A finished node sends to its parent, whose rows stay in the first cache while its
children follow each other. What the way down needs of a node is left behind, but of leaves only
where a system is too large for the caches, and then past them: in the caches it is less to compute
it again.

    up      â_v = Σ_c c_c down_c + a_v    ũ_v = Σ_c up_c ũ_c + u_v
            down_v = −b_v / â_v           up_v = −c_v / â_v           û_v = ũ_v / â_v
    down    x_v = û_v + down_v x_p

These are the operations of `diagonal_sweeps`, in an order that leaves the same bits. û is kept in
the place of x, and down in memory of the kernel's own, in which every node that leaves something
behind has a row. Before that the two sums are there, unless the system is too large for the caches:
then sums have rows of their own, which are used again by one subtree after the other, so that what
is left behind can be written past the caches without being read first.
"""

from numba import uintp

from myosotis.compiled import inlined, kernel
from myosotis.linalg.kernels.cutting import cuts, over_strips, put
from myosotis.linalg.kernels.rows import fence
from myosotis.linalg.kernels.strips import (
    add_product,
    has_zero,
    load,
    plus,
    raise_flag,
    reciprocal,
    store,
    subtract_product,
)
from myosotis.linalg.kernels.team import deal_out, thread_of

__all__ = ["solve", "solve_by_subtrees"]


@kernel
def solve(team, pieces, *arguments):
    """Solve the systems of each piece in its channels.

    Arguments: tree; unit; addresses of a, b, c, u, x; (E, rows between systems of b, of c); (bytes
    of a row, of a number); the row of each node in memory of the kernel's own; (address of that,
    bytes of it for each piece); flags (whether leaves leave something behind, whether they are
    written past the caches, all rows then being aligned); address of a byte that becomes 1 if a
    pivot is zero.
    """
    deal_out(team, pieces, solve_piece, arguments)


@kernel
def solve_piece(
    pieces, tree, unit, tables, sizes, sizes_in_bytes, rank, scratch, flags, singular, i
):
    low, high, first, last = pieces[i, 0], pieces[i, 1], pieces[i, 2], pieces[i, 3]
    a, b, c, u, x = tables
    edges, b_rows, c_rows = sizes
    width, item = sizes_in_bytes
    L, offset, step = uintp(rank.size), low * item, (high - low) * item
    levels, every = tree[3], (uintp(0), uintp(tree[3].shape[0]))
    strips, kept = cuts(step, item), (scratch[0] + uintp(i) * scratch[1], step)
    for s in range(first, last):
        here = s * L * width + offset
        b_own, c_own = b + s * b_rows * width + offset, c + s * c_rows * width + offset
        system = (a + here, b_own, c_own, u + here, x + here, width)
        rest = (edges, flags, None, singular)
        climb(levels, every, tree, unit, strips, system, kept, rank, *rest)
        descend(levels, every, tree, unit, strips, system, kept, rank, edges, flags)
    fence()


@kernel
def solve_by_subtrees(team, pieces, top, *arguments):
    """Solve one system, the lower parts of its tree being dealt out to the team.

    So rows are read as a whole, which is what memory is fast at, and the sums of a node are still
    in the caches when it is its turn. pieces, top: of `pieces.Subtrees`. Arguments: its segments;
    tree; unit; (bytes of a number; addresses of a, b, c, u, x and bytes of a row; address of memory
    of the kernel's own and bytes of a row there); the row of each node there; E; flags as for
    `solve`; None, or where sums are, see `sums_of`; address of a byte as for `solve`.
    """
    deal_out(team, pieces, climb_piece, arguments)
    climb_piece(top, *arguments, uintp(0))
    descend_piece(top, *arguments, uintp(0))
    deal_out(team, pieces, descend_piece, arguments)


@kernel
def climb_piece(pieces, segments, tree, unit, places, rank, edges, flags, sums, singular, i):
    item, system, kept = places
    strips, some = cuts(system[5], item), (pieces[i, 0], pieces[i, 1])
    climb(segments, some, tree, unit, strips, system, kept, rank, edges, flags, sums, singular)
    fence()


@kernel
def descend_piece(pieces, segments, tree, unit, places, rank, edges, flags, sums, singular, i):
    item, system, kept = places
    strips, some = cuts(system[5], item), (pieces[i, 0], pieces[i, 1])
    descend(segments, some, tree, unit, strips, system, kept, rank, edges, flags)
    fence()


@kernel
def climb(segments, some, tree, unit, strips, system, kept, rank, edges, flags, sums, singular):
    """Leave down and û of the nodes of some segments, and x of roots."""
    parent, first_child, num_children, _ = tree
    memory, step = kept
    x, width = system[4], system[5]
    own = uintp(0) if sums is None else thread_of(sums[0])
    for k in range(some[0], some[1]):
        for v in range(segments[k, 0], segments[k, 1]):
            leaf, left = num_children[v] == uintp(0), (memory + rank[v] * step, x + v * width)
            total = left if sums is None else sums_of(sums, own, v)
            if v < edges:
                p = parent[v]
                if sums is None:
                    above = (memory + rank[p] * step, x + p * width)
                else:
                    above = sums_of(sums, own, p)
                keep, away = flags[0] or not leaf, flags[1] and (leaf or sums is not None)
                begins = v == first_child[p]
                arguments = (unit, v * width, leaf, system, total, left, above, begins, keep, away)
                over_strips(unit, strips, eliminate, (*arguments, singular))
            else:
                arguments = (unit, v * width, leaf, system, total, left, singular)
                over_strips(unit, strips, finish, arguments)


@inlined
def sums_of(sums, own, v):
    """Addresses of the two sums of a node: in rows of the thread `own` or, above pieces, of all.

    sums: (team; address; bytes of a row; the row of each inner node; rows of a thread; rows of
    all threads; the first node above all pieces). See `sum_rows.SumRows`.
    """
    _, address, width, row, of_one, of_all, top = sums
    place = row[v] + (own * of_one if v < top else of_all)
    return address + uintp(2) * place * width, address + (uintp(2) * place + uintp(1)) * width


@inlined
def eliminate(like, at, unit, here, leaf, system, sums, left, above, begins, keep, away, singular):
    """What a node adds to the sums of its parent, in the strip `at`; begins: are these new?"""
    pivot, side = collected(like, at, here, leaf, system, sums)
    if has_zero(pivot):
        raise_flag(singular)
    one, inverse = unit.real, reciprocal(pivot)
    coupling = load(like, system[2] + here + at)
    down = subtract_product(None, load(like, system[1] + here + at), inverse, one)
    up = subtract_product(None, coupling, inverse, one)
    if keep:
        put(down, left[0] + at, away)
        put(add_product(None, inverse, side, one), left[1] + at, away)
    pivots, sides = above[0] + at, above[1] + at
    so_far = like if begins else load(like, pivots)  # like: zeros
    store(add_product(so_far, coupling, down, one), pivots)
    so_far = like if begins else load(like, sides)
    store(add_product(so_far, up, side, one), sides)


@inlined
def finish(like, at, unit, here, leaf, system, sums, left, singular):
    """x of a root, in the strip `at`."""
    pivot, side = collected(like, at, here, leaf, system, sums)
    if has_zero(pivot):
        raise_flag(singular)
    store(add_product(None, reciprocal(pivot), side, unit.real), left[1] + at)


@inlined
def collected(like, at, here, leaf, system, sums):
    """â_v and ũ_v."""
    pivot, side = load(like, system[0] + here + at), load(like, system[3] + here + at)
    if leaf:
        return pivot, side
    return plus(load(like, sums[0] + at), pivot), plus(load(like, sums[1] + at), side)


@kernel
def descend(segments, some, tree, unit, strips, system, kept, rank, edges, flags):
    """Leave x of the nodes of some segments but roots."""
    parent, _, num_children, _ = tree
    memory, step = kept
    keep, away = flags
    k = some[1]
    while k != some[0]:
        k -= uintp(1)
        for v in range(segments[k, 0], min(segments[k, 1], edges)):
            leaf = num_children[v] == uintp(0)
            if keep or not leaf:
                arguments = (unit, v, parent[v], system, memory + rank[v] * step, away and leaf)
                over_strips(unit, strips, solve_kept, arguments)
            else:
                over_strips(unit, strips, solve_leaf, (unit, v, parent[v], system, away))


@inlined
def solve_leaf(like, at, unit, v, p, system, away):
    """x_v = u_v / a_v − b_v / a_v x_p in the strip `at`."""
    a, b, _, u, x, width = system
    here, one = v * width + at, unit.real
    inverse = reciprocal(load(like, a + here))
    down = subtract_product(None, load(like, b + here), inverse, one)
    own = add_product(None, inverse, load(like, u + here), one)
    value = add_product(own, down, load(like, x + p * width + at), one)
    put(value, x + here, away)


@inlined
def solve_kept(like, at, unit, v, p, system, own, away):
    """x_v = û_v + down_v x_p in the strip `at`."""
    x, width = system[4], system[5]
    here, above = x + v * width + at, load(like, x + p * width + at)
    put(add_product(load(like, here), load(like, own + at), above, unit.real), here, away)
