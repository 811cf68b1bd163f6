import numpy as np
import pytest
import torch

from myosotis import Tree
from myosotis.errors import DataError, ShapeError, TreeError
from myosotis.plot import Morphology, show_influence_neuron

pytest.importorskip("matplotlib")


def cable(length, radius, samples):
    """A straight sealed cable; node 0 is its far end."""
    places = np.zeros((samples, 3))
    places[:, 0] = np.linspace(length, 0, samples)
    return Morphology(Tree.chain(samples), places, np.full(samples, radius))


def test_voltage_along_a_sealed_cable():
    """Rall: V(x) / V(0) = cosh((l − x)/λ) / cosh(l/λ), λ² = r R_m / (2 R_i), from a far source."""
    length, radius = 2000.0, 2.0
    neuron = cable(length, radius, 1001)
    space_constant = (radius * 1e-4 * 20_000 / (2 * 150)) ** 0.5 * 1e4  # µm
    voltage = neuron.passive_system().influence(node=0).squeeze().numpy()
    from_source = length - neuron.positions[:, 0]
    x = length - from_source
    exact = np.cosh(x / space_constant) / np.cosh(length / space_constant)
    # The sphere that the root is adds a little leak at its end.
    assert np.allclose(voltage / voltage[0], exact, rtol=0.01)
    resistance = 150 * space_constant * 1e-4 / (np.pi * (radius * 1e-4) ** 2) / 1e6  # MΩ
    expected = resistance / np.tanh(length / space_constant)
    assert abs(voltage[0] / expected - 1) < 0.01


def test_the_system_is_symmetric_and_leaks_everywhere():
    neuron = cable(100.0, 1.0, 9)
    dense = neuron.passive_system().to_dense(order="canonical")[0]
    assert torch.equal(dense, dense.T)
    leak = dense.sum(dim=1)
    area = 2 * np.pi * 1e-4 * 100e-4 + 4 * np.pi * 1e-8  # of the cable and of the root, cm²
    assert (leak > 0).all()
    assert abs(float(leak.sum()) / (area / 20_000 * 1e6) - 1) < 1e-9


def test_files_are_read_in_any_order_of_samples(tmp_path):
    path = tmp_path / "cell.swc"
    path.write_bytes(
        b"# caf\xe9\n 9 3 20 0 0 1 5\n1 1 0 0 0 5 -1\n\n5 3 10 1 2 1.5 1  # soma\n7 3 0 9 0 1 1\n"
    )
    neuron = Morphology.read(path)
    place_of = {
        tuple(place): radius for place, radius in zip(neuron.positions, neuron.radii, strict=True)
    }
    assert place_of == {(20, 0, 0): 1, (10, 1, 2): 1.5, (0, 9, 0): 1, (0, 0, 0): 5}
    root = neuron.tree.roots[0]
    assert tuple(neuron.positions[root]) == (0, 0, 0)
    deepest = 0
    assert tuple(neuron.positions[neuron.tree.parent[deepest]]) == (10, 1, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [("1 1 0 0 nan 5 -1\n", "not finite"), ("1 1 0 0\n", "7 columns"), ("", "empty")],
)
def test_damaged_files_are_named(tmp_path, text, message):
    path = tmp_path / "cell.swc"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        Morphology.read(path)


def test_missing_files_and_radii_are_named(tmp_path):
    with pytest.raises(DataError, match=r"cannot read .*cell.swc"):
        Morphology.read(tmp_path / "cell.swc")
    with pytest.raises(DataError, match=r"sample 0 .* no positive radius"):
        cable(1.0, 0.0, 3).passive_system()


def test_segments_have_the_colour_of_their_influence():
    neuron = cable(100.0, 1.0, 5)
    weights = np.array([1, 1e-1, 1e-2, 1e-5, 0])
    figure = show_influence_neuron(neuron, weights, node=0)
    segments = figure.axes[0].collections[0]
    assert np.allclose(segments.get_array(), [0.55, 0.055, 0.005005, 1e-3])
    lengths = np.ptp(np.array(segments.get_segments())[..., 0], axis=1)
    assert np.allclose(lengths, 25)
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts == ["20 µm"]


def test_what_does_not_fit_the_neuron_is_named():
    neuron = cable(100.0, 1.0, 5)
    with pytest.raises(ShapeError, match="5 samples"):
        show_influence_neuron(neuron, np.ones(4))
    with pytest.raises(TreeError, match="node 5 does not exist"):
        show_influence_neuron(neuron, np.ones(5), node=5)
