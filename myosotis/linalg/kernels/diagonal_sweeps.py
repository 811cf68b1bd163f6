"""Sweeps over diagonal blocks: every tree straight from its parent array, at streaming speed.

Nodes go in canonical order, so children are done before their parents and lie side by side. A
table holds rows of H channels, `width` bytes each; tables are passed by the address of their first
channel, and indices are unsigned, so that a kernel does nothing but add and multiply.

    right-hand sides    row b·L + v                             of system b, node v
    pivots              row system[b]·pivot_rows + row[v]       coefficients may be shared by
    edges               row system[b]·edge_rows + row[v]        systems (system) and nodes (row)

`tree` is always (parent, first_child, num_children, levels), roots having the parent L; levels and
other `segments` are rows (first node, last), the lowest first, `some` of which are (first, last);
`unit` is any number of the dtype; `sign` is −1 where a coefficient enters conjugated.
"""

from numba import uintp

from myosotis.compiled import inlined, kernel
from myosotis.linalg.kernels.cutting import cuts, over_strips, put
from myosotis.linalg.kernels.elimination_sweeps import eliminate_by_subtrees
from myosotis.linalg.kernels.gradient_sweeps import SUMS, add_edge, add_pivot
from myosotis.linalg.kernels.rows import fence
from myosotis.linalg.kernels.strips import (
    AHEAD,
    add_product,
    fetch_ahead,
    load,
    load_coefficient,
    plus,
    rolled,
    store,
    subtract_product,
)
from myosotis.linalg.kernels.team import deal_out

__all__ = [
    "climb",
    "descend",
    "downwards",
    "solve",
    "start",
    "sweep",
    "sweep_by_subtrees",
    "upwards",
    "whole_rows",
]

CROWD = 32  # children that are dealt with together: their rows stay in the first cache


@kernel
def sweep(team, pieces, *arguments):
    """Solve the systems of each piece, in its channels, `group` systems at a time.

        up      ũ_p = Σ_c up_c ũ_c + u_p
        down    x_v = inverse_v ũ_v + down_v x_p

    Arguments: tree; unit; addresses of inverse, down, up; sharing (system, row, pivot_rows,
    edge_rows, None unless a row is one number for all channels); signs of inverse, down, up;
    ends; (bytes of a row of coefficients, of u, of a number); group; away; sums. A group goes
    through the tree together, so that coefficients which its systems share are read from memory
    once. Within a level nodes ascend both ways: memory is fetched ahead upwards only.
    ends: addresses of u, x and of rows for inner nodes; bytes of these for each piece; which of
    them each inner node has. There the way down finds what it needs, one system at a time, and x of
    inner nodes is written like that of leaves. If the last is None, they have their rows in x.
    away: whether leaves are written past the caches; their rows must then be aligned.
    sums: None, or what `gradient_sweeps` sums up, to be summed on the way down: (address of the
    solution to multiply with, of the sums by row of each piece, bytes from one piece to the next).
    """
    deal_out(team, pieces, sweep_piece, arguments)


@kernel
def sweep_piece(
    pieces, tree, unit, tables, sharing, signs, ends, sizes_in_bytes, group, away, sums, i
):
    low, high, first, last = pieces[i, 0], pieces[i, 1], pieces[i, 2], pieces[i, 3]
    step, width, item = sizes_in_bytes
    offset, size, across = low * item, (high - low) * item, moving(sharing)
    inverse, down, up = tables
    shift = across * offset
    tables = (inverse + shift, down + shift, up + shift)
    u, x, inner, apart, rank = ends
    sides = (u + offset, x + offset, inner + i * apart + offset, apart, rank)
    sizes = (step, width, item, size, across)
    levels, every, piece = tree[3], (uintp(0), uintp(tree[3].shape[0])), (uintp(i), offset)
    for g in range(first, last, group):
        systems = (g, min(g + group, last))
        climb(levels, every, tree, unit, tables[2], sharing, signs[2], sides, sizes, systems)
        start(tree, unit, tables, sharing, signs, sides, sizes, systems, sums, piece)
        rest = (tables, sharing, signs, sides, sizes, systems, away, sums, piece)
        descend(levels, every, tree, unit, *rest)
    fence()


@kernel
def sweep_by_subtrees(team, pieces, top, *arguments):
    """`sweep` for one system, the lower parts of its tree being dealt out to the team.

    pieces, top: of `pieces.Subtrees`. Arguments: its segments, then as for `sweep` up to the sizes;
    away.
    """
    deal_out(team, pieces, climb_segments, arguments)
    climb_segments(top, *arguments, uintp(0))
    start_one(*arguments)
    descend_segments(top, *arguments, uintp(0))
    deal_out(team, pieces, descend_segments, arguments)


@kernel
def climb_segments(
    pieces, segments, tree, unit, tables, sharing, signs, ends, sizes_in_bytes, away, i
):
    sizes, one = whole_rows(sharing, sizes_in_bytes), (uintp(0), uintp(1))
    some = (pieces[i, 0], pieces[i, 1])
    climb(segments, some, tree, unit, tables[2], sharing, signs[2], ends, sizes, one)


@kernel
def start_one(segments, tree, unit, tables, sharing, signs, ends, sizes_in_bytes, away):
    sizes, one = whole_rows(sharing, sizes_in_bytes), (uintp(0), uintp(1))
    start(tree, unit, tables, sharing, signs, ends, sizes, one, None, None)


@kernel
def descend_segments(
    pieces, segments, tree, unit, tables, sharing, signs, ends, sizes_in_bytes, away, i
):
    sizes, one = whole_rows(sharing, sizes_in_bytes), (uintp(0), uintp(1))
    some = (pieces[i, 0], pieces[i, 1])
    rest = (tables, sharing, signs, ends, sizes, one, away, None, None)
    descend(segments, some, tree, unit, *rest)
    fence()


@inlined
def whole_rows(sharing, sizes_in_bytes):
    """`sizes` as `climb` and others take them, for all channels at once."""
    step, width, item = sizes_in_bytes
    return step, width, item, width, moving(sharing)


@inlined
def inner_row(x, inner, rank, v, width):
    """Address of what the way down needs of an inner node of the system whose rows begin at x."""
    if rank is None:
        return x + v * width
    return inner + rank[v] * width


@inlined
def is_apart(rank):
    """Whether inner nodes have rows that are not in x."""
    return rank is not None


@inlined
def moving(sharing):
    """1, or 0 where there is one coefficient for all channels: it does not move along."""
    return uintp(1) if sharing[4] is None else uintp(0)


@inlined
def upwards(segments, some, tree, crowd, visit, arguments):
    """Call visit(family, *arguments) for the nodes of some segments, the lowest first.

    family: (node, children from, to, whether they are the first of it, whether the last): at most
    `crowd` of them at a time.
    """
    _, first_child, num_children, _ = tree
    for k in range(some[0], some[1]):
        for v in range(segments[k, 0], segments[k, 1]):
            visit_children(v, first_child, num_children, crowd, visit, arguments)


@inlined
def downwards(segments, some, tree, crowd, visit, arguments):
    """The same, the highest segment first."""
    _, first_child, num_children, _ = tree
    k = some[1]
    while k != some[0]:
        k -= uintp(1)
        for v in range(segments[k, 0], segments[k, 1]):
            visit_children(v, first_child, num_children, crowd, visit, arguments)


@inlined
def visit_children(v, first_child, num_children, crowd, visit, arguments):
    first, begins = first_child[v], True
    last = first + num_children[v]
    while first < last:
        end = min(first + uintp(crowd), last)
        visit((v, first, end, begins, end == last), *arguments)
        first, begins = end, False


@kernel
def climb(segments, some, tree, unit, up, sharing, sign, sides, sizes, systems):
    """Leave ũ of the inner nodes of some segments in their rows. A leaf has ũ = u."""
    system, row, _, edge_rows, one = sharing
    step, width, item, size, across = sizes
    apart, strips = uintp(tree[2].size) * width, cuts(size, item)
    table = (up, row, step, across, one, sign)
    several = (unit, strips, systems, system, edge_rows * step, apart)
    arguments = (tree[2], table, (sides, width), several)
    upwards(segments, some, tree, CROWD, receive_each, arguments)


@inlined
def receive_each(family, num_children, table, ends, several):
    """`receive` in every strip of each of the systems."""
    unit, strips, systems, system, edges, apart = several
    up, row, step, across, one, sign = table
    (u, x, inner, _, rank), width = ends
    for b in range(systems[0], systems[1]):
        own = (up + system[b] * edges, row, step, across, one, sign)
        sides = (u + b * apart, x + b * apart, inner, rank, width)
        over_strips(unit, strips, receive, (family, num_children, own, sides))


@inlined
def receive(like, at, family, num_children, table, ends):
    """ũ_v = Σ_c up_c ũ_c + u_v in the strip `at`."""
    v, first, last, begins, ends_family = family
    up, row, step, across, one, sign = table
    u, x, inner, rank, width = ends
    here = inner_row(x, inner, rank, v, width) + at
    total = like if begins else load(like, here)  # like: zeros
    for c in range(first, last):
        rolled()
        fetch_ahead(like, u + c * width + at + uintp(AHEAD))
        leaf = num_children[c] == uintp(0)
        below = u + c * width if leaf else inner_row(x, inner, rank, c, width)
        value = load(like, below + at)
        edge = load_coefficient(like, up + row[c] * step + across * at, one)
        total = add_product(total, edge, value, sign)
    if ends_family:
        fetch_ahead(like, u + v * width + at + uintp(AHEAD))
        total = plus(total, load(like, u + v * width + at))
    store(total, here)


@kernel
def start(tree, unit, tables, sharing, signs, sides, sizes, systems, sums, piece):
    """Leave x of the roots. piece: (number, offset of its channels), of interest to sums only."""
    num_children, levels = tree[2], tree[3]
    system, row, pivot_rows, _, one = sharing
    step, width, item, size, across = sizes
    L, strips = uintp(num_children.size), cuts(size, item)
    u, x, inner, _, rank = sides
    for v in range(levels[uintp(levels.shape[0]) - uintp(1), 0], L):
        for b in range(systems[0], systems[1]):
            table = (tables[0] + system[b] * pivot_rows * step, step, across, one, signs[0])
            system_x, here = x + b * L * width, (b * L + v) * width
            leaf = num_children[v] == uintp(0)
            source = u + here if leaf else inner_row(system_x, inner, rank, v, width)
            ends = (source, x + here, x + here if leaf else source)
            over_strips(unit, strips, solve_root, (row[v], table, ends))
            if sums is not None:
                other, totals = own_sums(sums, piece)
                total = totals + uintp(SUMS) * row[v] * width
                over_strips(unit, strips, sum_root, (ends[1], other + here, total, width))


@kernel
def descend(
    segments, some, tree, unit, tables, sharing, signs, sides, sizes, systems, away, sums, piece
):
    """Leave x of the children of the nodes of some segments, those of a family together."""
    inverse, down, _ = tables
    system, row, pivot_rows, edge_rows, one = sharing
    step, width, item, size, across = sizes
    apart, strips = uintp(tree[2].size) * width, cuts(size, item)
    table = (inverse, down, row, step, across, one, signs, away)
    several = (unit, strips, systems, system, (pivot_rows * step, edge_rows * step), apart)
    arguments = (tree[2], table, (sides, width), several, sums, piece)
    downwards(segments, some, tree, CROWD, send_each, arguments)


@inlined
def send_each(family, num_children, table, ends, several, sums, piece):
    """`send` in every strip of each of the systems."""
    unit, strips, systems, system, (pivots, edges), apart = several
    inverse, down, row, step, across, one, signs, away = table
    (u, x, inner, _, rank), width = ends
    for b in range(systems[0], systems[1]):
        tables = (inverse + system[b] * pivots, down + system[b] * edges)
        own = (*tables, row, step, across, one, signs, away)
        arguments = (family, num_children, own, (u + b * apart, x + b * apart, inner, rank, width))
        if sums is None:
            over_strips(unit, strips, send, (*arguments, None))
        else:
            other, totals = own_sums(sums, piece)
            over_strips(unit, strips, send, (*arguments, (other + b * apart, totals)))


@inlined
def own_sums(sums, piece):
    """Addresses of the other solution and of the sums of a piece."""
    other, totals, apart = sums
    return other + piece[1], totals + piece[0] * apart + piece[1]


@inlined
def solve_root(like, at, row, table, ends):
    """x_v = inverse_v ũ_v of a root in the strip `at`; ends: where ũ_v is, and twice where to."""
    inverse, step, across, one, sign = table
    own = load_coefficient(like, inverse + row * step + across * at, one)
    value = add_product(None, own, load(like, ends[0] + at), sign)
    store(value, ends[1] + at)
    store(value, ends[2] + at)


@inlined
def sum_root(like, at, left, right, total, width):
    """What a root adds to the sums: it has η = left and ξ = right."""
    add_pivot(like, total + at, width, load(like, left + at), load(like, right + at))


@inlined
def send(like, at, family, num_children, table, ends, products):
    """x_c = inverse_c ũ_c + down_c x_v in the strip `at`.

    products: None, or addresses of the other solution and of the sums; these are then those of
    `gradient_sweeps.factored_outer` with x as its `left`: x_c is η_c and down_c x_v.
    """
    v, first, last, _, _ = family
    inverse, down, row, step, across, one, signs, away = table
    u, x, inner, rank, width = ends
    above = load(like, inner_row(x, inner, rank, v, width) + at)
    if products is not None:
        other, totals = products
        right_p = load(like, other + v * width + at)
    for c in range(first, last):
        rolled()
        here, shift = c * width + at, row[c] * step + across * at
        leaf = num_children[c] == uintp(0)
        source = u + here if leaf else inner_row(x, inner, rank, c, width) + at
        own = load_coefficient(like, inverse + shift, one)
        edge = load_coefficient(like, down + shift, one)
        eta = add_product(None, own, load(like, source), signs[0])
        total = add_product(eta, edge, above, signs[1])
        if not leaf:
            store(total, source)
        if leaf or is_apart(rank):
            put(total, x + here, away)
        if products is not None:
            fetch_ahead(like, other + here + uintp(AHEAD))
            xi = subtract_product(load(like, other + here), edge, right_p, signs[1])
            place = totals + uintp(SUMS) * row[c] * width + at
            add_edge(like, place, width, (eta, xi, above, right_p))
            add_pivot(like, place, width, eta, xi)


@kernel
def solve(team, pieces, parts, elimination, *arguments):
    """`eliminate_by_subtrees` and `sweep` in one go, where nobody else needs the factor.

    parts: pieces and top of `pieces.Subtrees`. elimination: the other arguments of the first.
    """
    eliminate_by_subtrees(team, *parts, *elimination)
    deal_out(team, pieces, sweep_piece, arguments)
