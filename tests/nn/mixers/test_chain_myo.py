"""A Myo on the chain beside the state-space model that it contains."""

import torch

from myosotis import Tree
from myosotis.nn.mixers import S5, ChainMyo
from tests.cases import dense_matrix, relative_error


def test_without_the_way_back_it_is_s5() -> None:
    torch.manual_seed(0)
    s5 = S5(6, heads=4, dtype=torch.float64)
    myo = ChainMyo(6, heads=4, parametrization="free", dtype=torch.float64)
    with torch.no_grad():
        decay, input_map = s5._discretised()
        tables = myo.myo.coefficients.tables
        tables["up"].copy_(torch.view_as_real(-decay).view_as(tables["up"]))
        tables["down"].zero_()
        pairs = torch.view_as_real(input_map).movedim(-1, 1)  # (heads, 2, dim)
        myo.myo.project_in.weight.copy_(pairs.flatten(0, 1))
        signed = s5.output_map[0] * torch.tensor([2.0, -2.0], dtype=torch.float64)
        myo.myo.project_out.weight.copy_(signed.flatten(1))
        myo.myo.skip.copy_(s5.skip)
        x = torch.randn(3, 50, 6, dtype=torch.float64)
        assert relative_error(myo(x), s5(x)) < 1e-12


def test_it_solves_a_tridiagonal_system() -> None:
    torch.manual_seed(0)
    mixer = ChainMyo(3, heads=2, dtype=torch.float64)
    layer, tree = mixer.myo, Tree.chain(9)
    rows = torch.from_numpy(layer.layout.rows(tree))
    blocks = layer.coefficients.blocks(tree, rows)
    T = dense_matrix(tree, *(t.movedim(1, 0).detach() for t in blocks))  # (heads, 9, 9)
    offsets = torch.arange(9).view(-1, 1) - torch.arange(9)
    assert (T[:, offsets.abs() > 1] == 0).all()
    x = torch.randn(1, 9, 3, dtype=torch.float64)
    u = torch.view_as_complex(layer.project_in(x).unflatten(-1, (-1, 2)))[0].mT  # (heads, 9)
    solution = torch.linalg.solve(T, u.unsqueeze(-1)).squeeze(-1).mT
    expected = layer.project_out(torch.view_as_real(solution).flatten(1)) + layer.skip * x[0]
    assert relative_error(mixer(x)[0], expected) < 1e-12


def test_one_layer_carries_every_token_to_every_other() -> None:
    mixer = ChainMyo(4, heads=4)
    x = torch.randn(1, 40, 4, requires_grad=True)
    for position in (0, 20, 39):
        (reach,) = torch.autograd.grad(mixer(x)[0, position].sum(), x)
        assert (reach[0].abs().sum(-1) > 0).all()


def test_padding_cuts_the_chain() -> None:
    mixer = ChainMyo(4, heads=4, dtype=torch.float64)
    x = torch.randn(2, 10, 4, dtype=torch.float64)
    mask = torch.tensor([[True] * 6 + [False] * 4, [True] * 3 + [False] + [True] * 6])
    got = mixer(x, mask)
    assert relative_error(got[:1, :6], mixer(x[:1, :6])) < 1e-12
    assert relative_error(got[1:, :3], mixer(x[1:, :3])) < 1e-12
    assert relative_error(got[1:, 4:], mixer(x[1:, 4:])) < 1e-12
    assert (got[~mask] == 0).all()
