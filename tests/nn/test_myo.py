"""The Myo layer: its systems, their definiteness, masks, forests, gradients."""

import itertools
import math

import pytest
import torch
from torch import Tensor

from myosotis import Tree
from myosotis.errors import ConfigError, ShapeError
from myosotis.linalg import tree_solve_diag, tree_solve_factored
from myosotis.nn import Myo
from myosotis.nn.initial import start
from myosotis.nn.sharing import Layout
from tests.cases import TREES, relative_error

DIM = 5
PARAMETRIZATIONS = ["factor", "upward", "split", "dominant", "spectral", "free"]
DEFINITE = ["factor", "dominant", "spectral"]
SHARINGS = ["slot", "level", "tied", "node"]
KINDS = list(itertools.product([1, 3], [True, False]))  # block size, complex heads
SMALL = Tree([-1, 0, 0, 1, 1, 1, 2])


def layer(tree: Tree, *, seed: int = 0, selective: bool = False, **options: object) -> Myo:
    """A layer in double precision; what starts at zero is drawn, so that it takes part."""
    torch.manual_seed(seed)
    made = Myo(DIM, tree, 2, selective=selective, dtype=torch.float64, **options)
    for name, parameter in made.named_parameters():
        if "weight" in name or "skip" in name or "select" in name:
            torch.nn.init.normal_(parameter, std=0.5)
    return made


def features(tree: Tree, batch: int = 2) -> Tensor:
    return torch.randn(batch, tree.num_nodes, DIM, dtype=torch.float64)


def system(made: Myo, tree: Tree) -> Tensor:
    """T⁻¹ (heads, L·block, L·block) of the layer, column by column."""
    heads, block, _ = made.channels
    size = tree.num_nodes * block
    dtype = torch.complex128 if made.complex_heads else torch.float64
    unit = torch.eye(size, dtype=dtype).view(size, tree.num_nodes, 1, block, 1)
    u = unit.expand(-1, -1, heads, -1, made.channels[2])
    rows = torch.from_numpy(made.layout.rows(tree))
    x = made.coefficients.solve(tree, rows, u.contiguous(), features(tree, size))
    return x[..., 0].movedim(2, 0).flatten(2).mT  # columns are solutions


@pytest.mark.parametrize("sharing", SHARINGS)
@pytest.mark.parametrize("parametrization", PARAMETRIZATIONS)
@pytest.mark.parametrize(("block", "complex_heads"), KINDS)
@pytest.mark.parametrize("selective", [False, True])
def test_gradients_are_right(
    parametrization: str, sharing: str, block: int, complex_heads: bool, selective: bool
) -> None:
    made = layer(
        SMALL,
        parametrization=parametrization,
        sharing=sharing,
        block=block,
        complex_heads=complex_heads,
        selective=selective,
    )
    names = [name for name, _ in made.named_parameters()]
    values = [p.detach().requires_grad_() for p in made.parameters()]

    def call(x: Tensor, *parameters: Tensor) -> Tensor:
        return torch.func.functional_call(made, dict(zip(names, parameters, strict=True)), x)

    x = features(SMALL, 1).requires_grad_()
    assert torch.autograd.gradcheck(call, (x, *values), fast_mode=True)


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 1e6])
@pytest.mark.parametrize("parametrization", DEFINITE)
@pytest.mark.parametrize(("block", "complex_heads"), KINDS)
def test_systems_are_positive_definite_whatever_the_parameters(
    parametrization: str, block: int, complex_heads: bool, scale: float
) -> None:
    for name in ("ragged", "quad-5x3", "chain", "star", "forest"):
        tree = TREES[name]
        made = layer(
            tree,
            parametrization=parametrization,
            sharing="node",
            block=block,
            complex_heads=complex_heads,
        )
        for table in made.coefficients.tables.values():
            torch.nn.init.normal_(table, std=scale)
        inverse = system(made, tree)
        assert relative_error(inverse.mH, inverse) < 1e-6
        smallest = torch.linalg.eigvalsh(inverse)[:, 0]
        assert (smallest > 0).all(), f"{name}: {smallest}"


@pytest.mark.parametrize("parametrization", DEFINITE)
def test_selective_systems_are_positive_definite_too(parametrization: str) -> None:
    tree = TREES["ragged"]
    made = layer(tree, parametrization=parametrization, selective=True)
    assert made.coefficients.select is not None
    torch.nn.init.normal_(made.coefficients.select.weight, std=20)
    u = torch.randn(1, tree.num_nodes, 2, 1, 1, dtype=torch.complex128)
    x = features(tree, 1)
    rows = torch.from_numpy(made.layout.rows(tree))
    for _ in range(20):
        u = torch.randn_like(u)
        energy = (u.conj() * made.coefficients.solve(tree, rows, u, x)).sum(1)
        assert (energy.real > 0).all()
        assert energy.imag.abs().max() < 1e-6 * energy.real.max()


@pytest.mark.parametrize("parametrization", ["upward", "split"])
def test_a_head_hears_nothing_from_the_other_side_or_from_beside(parametrization: str) -> None:
    tree = TREES["ragged"]
    made = layer(tree, parametrization=parametrization, sharing="node")
    for table in made.coefficients.tables.values():
        torch.nn.init.normal_(table, std=3.0)
    inverse = system(made, tree)
    below = torch.eye(tree.num_nodes, dtype=torch.bool)
    for node in range(tree.num_edges):  # children come before their parents
        below[tree.parent[node]] |= below[node]
    for head, heard in enumerate([below, below if parametrization == "upward" else below.mT]):
        assert (inverse[head, ~heard] == 0).all()
        assert (inverse[head, heard] != 0).all()


def test_dominant_is_diagonally_dominant_and_spectral_bounds_the_norm() -> None:
    tree = TREES["ragged"]
    identity = torch.eye(tree.num_nodes, dtype=torch.float64)
    for parametrization in ("dominant", "spectral"):
        made = layer(tree, parametrization=parametrization, sharing="node")
        torch.nn.init.normal_(made.coefficients.tables["coupling"], std=1e3)
        beside = torch.linalg.inv(system(made, tree)) - identity
        if parametrization == "dominant":
            assert beside.abs().sum(-1).max() <= 1 + 1e-9
        else:
            assert torch.linalg.matrix_norm(beside, 2).max() < 1


@pytest.mark.parametrize("parametrization", PARAMETRIZATIONS)
@pytest.mark.parametrize(("block", "complex_heads"), KINDS)
@pytest.mark.parametrize("selective", [False, True])
def test_masked_tree_is_the_tree_without_its_masked_nodes(
    parametrization: str, block: int, complex_heads: bool, selective: bool
) -> None:
    tree, kept = Tree.perfect(2, 3), Tree([-1, 0, 0, 1, 2, 2, 3, 3, 4, 4, 5])
    # `kept` is the perfect tree without leaves 2, 3 (and their parent) and 7.
    made = layer(
        tree,
        parametrization=parametrization,
        block=block,
        complex_heads=complex_heads,
        selective=selective,
    )
    mask = torch.tensor([[True, True, False, False, True, True, True, False]] * 2)
    alive = torch.ones(tree.num_nodes, dtype=torch.bool)
    alive[[2, 3, 7, 9]] = False
    x = features(tree)
    x[:, ~alive] = float("nan")
    got = made(x, mask)
    assert (got[:, ~alive] == 0).all()
    assert relative_error(got[:, alive], made(x[:, alive], tree=kept)) < 1e-12


@pytest.mark.parametrize("sharing", ["slot", "level", "tied"])
@pytest.mark.parametrize("parametrization", PARAMETRIZATIONS)
def test_no_example_of_a_forest_influences_another(parametrization: str, sharing: str) -> None:
    members = [Tree.star(3), TREES["ragged"], Tree.chain(4)]
    forest = Tree.forest(members)
    made = layer(TREES["ragged"], parametrization=parametrization, sharing=sharing)
    x = features(forest, 1)
    before = made(x, tree=forest)
    for number, member in enumerate(members):
        own = torch.from_numpy(forest.member == number)
        changed = x.clone()
        changed[:, own] += 1
        after = made(changed, tree=forest)
        assert torch.equal(after[:, ~own], before[:, ~own])
        assert not torch.equal(after[:, own], before[:, own])
        assert relative_error(before[:, own], made(x[:, own], tree=member)) < 1e-12


def test_right_hand_sides_share_the_coefficients_of_their_head() -> None:
    made = layer(SMALL, rhs=3)
    u = torch.randn(1, SMALL.num_nodes, 2, 1, 3, dtype=torch.complex128)
    rows = torch.from_numpy(made.layout.rows(SMALL))
    together = made.coefficients.solve(SMALL, rows, u)
    shuffled = made.coefficients.solve(SMALL, rows, u.flip(-1).contiguous())
    assert torch.equal(together, shuffled.flip(-1))


@pytest.mark.parametrize(("block", "complex_heads"), KINDS)
def test_couplings_start_at_one_over_the_root_of_the_number_of_siblings(
    block: int, complex_heads: bool
) -> None:
    made = Myo(4, Tree.quadtree(8), 3, block=block, complex_heads=complex_heads)
    table = made.coefficients.tables["coupling"].detach()
    M = torch.view_as_complex(table) if complex_heads else table
    norm = torch.linalg.matrix_norm(M / (1 + M.mH @ M).diagonal(0, -2, -1)[..., :1, None] ** 0.5, 2)
    inner = norm[4:]  # row 0 is the root's
    assert ((inner > 0.5 * 0.9) & (inner < 0.5)).all()


def test_ssm_start_gathers_the_state_of_an_ssm_over_the_leaves_below() -> None:
    torch.manual_seed(3)
    tree = Tree.perfect(2, 5)
    made = Myo(1, tree, 4, init="ssm", dtype=torch.float64)
    leaves = torch.randn(32, dtype=torch.float64)
    u = torch.zeros(1, tree.num_nodes, 4, 1, 1, dtype=torch.complex128)
    u[0, :32] = leaves.view(-1, 1, 1, 1)
    rows = torch.from_numpy(made.layout.rows(tree))
    root = made.coefficients.solve(tree, rows, u)[0, -1, :, 0, 0]
    table = torch.view_as_complex(made.coefficients.tables["coupling"].detach())
    step = table[-2]  # the deepest level, first of two siblings: one time step to the second
    decay = (step / (1 + step.abs() ** 2).sqrt()).flatten()
    state = torch.zeros(4, dtype=torch.complex128)
    for value in leaves:
        state = decay * state + value
    assert relative_error(root, state) < 1e-4  # couplings of one are held just below it


@pytest.mark.parametrize(("one_way", "slowest"), [(False, 0.03), (True, 0.0005)])
def test_scales_keep_the_size_of_what_enters_a_chain(one_way: bool, slowest: float) -> None:
    tree, heads = Tree.chain(40_000), 32
    torch.manual_seed(0)
    layout = Layout.of(None, "tied", 1, 1)
    begin = start("scales", layout, None, heads, one_way=one_way)
    size = begin.coupling.abs().flatten()
    assert size.min() > math.exp(-3)
    assert size.max() < math.exp(-slowest)
    assert size.max() > math.exp(-4 * slowest)
    assert begin.input_scale is not None
    noise = torch.randn(tree.num_nodes, heads, dtype=torch.complex128) * begin.input_scale
    a = begin.coupling[:, :, 0, 0].expand(tree.num_nodes, heads)
    one = torch.ones(tree.num_nodes, heads, dtype=torch.float64)
    if one_way:
        solution = tree_solve_diag(tree, one.to(a.dtype), 0 * a, -a, noise)
    else:
        solution = tree_solve_factored(tree, a, one, noise)
    spread = solution.abs().square().mean(0).sqrt()
    assert spread.min() > 0.5
    assert spread.max() < 2


@pytest.mark.parametrize("init", ["phase", "scales", "hippo", "ssm"])
def test_every_start_is_finite_and_trains_from_there(init: str) -> None:
    tree = Tree.quadtree(4)
    made = Myo(6, tree, 4, init=init, hippo_blocks=2)
    made(torch.randn(2, tree.num_nodes, 6)).square().mean().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in made.parameters())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast_solves_in_single_precision(dtype: torch.dtype) -> None:
    tree = Tree.quadtree(8)
    made = Myo(16, tree, 4)
    x = torch.randn(2, tree.num_nodes, 16)
    exact = made(x)
    with torch.autocast("cpu", dtype=dtype):
        close = made(x)
    assert relative_error(close.float(), exact) < 0.02
    assert made.to(dtype)(x.to(dtype)).dtype == dtype


@pytest.mark.parametrize("parametrization", PARAMETRIZATIONS)
def test_state_dict_loads_in_another_dtype(parametrization: str) -> None:
    tree = Tree.quadtree(4)
    double = layer(tree, parametrization=parametrization)
    single = Myo(DIM, tree, 2, parametrization=parametrization)
    single.load_state_dict(double.state_dict())
    x = features(tree)
    assert relative_error(single(x.float()), double(x)) < 1e-4
    meta = Myo(DIM, tree, 2, parametrization=parametrization, device="meta")
    meta.load_state_dict(single.state_dict(), assign=True)
    assert torch.equal(meta(x.float()), single(x.float()))


def test_every_parameter_is_real() -> None:
    made = Myo(4, SMALL, 2, selective=True)
    assert not any(p.is_complex() for p in made.parameters())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sharing": "slots"}, "sharing is 'slots'"),
        ({"parametrization": "factored"}, "factor, upward, split, dominant, spectral, free"),
        ({"init": "hipo"}, "phase, scales, hippo, ssm"),
        ({"init": "hippo", "block": 2}, "block=1"),
        ({"init": "scales", "complex_heads": False}, "complex heads"),
        ({"init": "ssm", "sharing": "tied"}, "sharing='slot'"),
        ({"heads": 0}, "heads is 0"),
        ({"tree": None}, "levels and branching"),
        ({"tree": None, "levels": 2, "branching": 2, "sharing": "node"}, "give the tree"),
    ],
)
def test_mistakes_in_the_arguments_are_named(options: dict[str, object], words: str) -> None:
    arguments = {"tree": SMALL, "heads": 2, **options}
    with pytest.raises(ConfigError, match=words):
        Myo(DIM, **arguments)


def test_mistakes_in_the_call_are_named() -> None:
    made = Myo(DIM, SMALL, 2)
    with pytest.raises(ShapeError, match=r"expected \(batch, 7, 5\)"):
        made(torch.zeros(1, SMALL.num_leaves, DIM))
    with pytest.raises(ShapeError, match="True for each real leaf"):
        made(torch.zeros(1, 7, DIM), torch.ones(1, 7, dtype=torch.bool))
    with pytest.raises(ConfigError, match="no tree of its own"):
        Myo(DIM, None, 2, levels=2, branching=2)(torch.zeros(1, 7, DIM))
    with pytest.raises(ShapeError, match="sharing='node'"):
        Myo(DIM, SMALL, 2, sharing="node")(torch.zeros(1, 4, DIM), tree=Tree.star(3))


def test_two_trees_compile_into_one_graph() -> None:
    first, second = Myo(DIM, Tree.star(6), 2), Myo(DIM, Tree.chain(7), 2)
    model = torch.nn.Sequential(first, second)
    x = torch.randn(2, 7, DIM)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")(x)  # before any eager call
    assert relative_error(compiled, model(x)) < 1e-6
