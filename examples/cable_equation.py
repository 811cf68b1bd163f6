"""The passive cable equation on a real neuron: how a voltage at the soma spreads to the tips.

The samples of an SWC file are the compartments; current flows along the segments between them and
leaks through the membrane. With v the voltage above rest, a step of implicit Euler solves

    (C/Δt + leak) v + (current to the neighbours) = C/Δt · v_before + injected current

which couples each compartment with its parent and its children only: one tree solve a step.
Units fit together without factors: mV, ms, nA, nF, µS (nF · mV / ms = µS · mV = nA) and µm.

Prints the size of the neuron, its input resistance, the voltage at the soma and at the tip that is
farthest along the branches, and how far the voltages of all steps are from those of SciPy's sparse
LU. Fails if that is more than 1e-9 of the largest voltage. Needs SciPy.

    MYOSOTIS_DATA=folder python examples/cable_equation.py

reads folder/neurons/jaxley_morph_allen_485574832.swc, a cell of the mouse's cortex reconstructed
at the Allen Institute. Without that file a small made-up neuron takes its place.
"""

import tempfile
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import coo_array, diags_array
from scipy.sparse.linalg import splu

from myosotis import Tree, TreeMatrix, tree_solve_diag
from myosotis.data.folder import data_folder

Array = NDArray[np.float64]

NEURON = "neurons/jaxley_morph_allen_485574832.swc"
CAPACITANCE = 1e-5  # of the membrane, nF/µm² (1 µF/cm²)
LEAK = 5e-7  # of the membrane, µS/µm² (1 / 20,000 Ω·cm²): a time constant of 20 ms
RESISTIVITY = 1.5  # of the cytoplasm, MΩ·µm (150 Ω·cm)
CURRENT = 0.05  # into the soma from time 0 on, nA
DT, STEPS = 0.25, 400  # ms; 100 ms in all
TOLERANCE = 1e-9


def write_small_neuron(path: Path) -> None:
    """A soma and a binary tree of 126 samples; by Rall's law r^(3/2) is shared by the children."""
    samples = ["1 1 0 0 0 8 -1"]
    for k in range(2, 128):
        depth = k.bit_length() - 1
        x, radius = 300 * ((k + 0.5) / 2**depth - 1.5), 2.5 * 2 ** (-depth * 2 / 3)
        samples.append(f"{k} 3 {x} {50 * depth} 0 {radius} {k // 2}")
    path.write_text("\n".join(samples), encoding="ascii")


class Neuron:
    """A morphology with a soma of one sample, cut into a compartment per sample.

    Attributes:
        tree: the compartments; the last one is the soma.
        area: of the membrane, (L,), µm².
        axial: conductance between each compartment and its parent, (L - 1,), µS.
        distance: to the soma along the branches, (L,), µm.
    """

    def __init__(self, path: Path) -> None:
        self.tree = Tree.from_swc(path)
        samples = np.loadtxt(path, usecols=(2, 3, 4, 5), comments="#")[self.tree.input_index]
        points, radius = samples[:, :3], samples[:, 3]
        up = self.tree.parent[:-1]
        length = np.linalg.norm(points[:-1] - points[up], axis=1)

        # A segment is a frustum. One that leaves the soma is a cylinder as thick as its far end.
        soma = self.tree.num_nodes - 1
        far, near = radius[:-1], np.where(up == soma, radius[:-1], radius[up])
        self.axial = np.pi * far * near / (RESISTIVITY * length)

        # Each end of a segment gets the membrane up to the middle; the soma is a sphere.
        half_slant, middle = np.hypot(length, far - near) / 2, (far + near) / 2
        self.area = np.append(np.pi * (far + middle) * half_slant, 0.0)
        np.add.at(self.area, up, np.pi * (near + middle) * half_slant)
        self.area[soma] = 4 * np.pi * radius[soma] ** 2

        # distance[v] − distance[parent of v] = length[v] is a tree system too.
        one = torch.ones((), dtype=torch.float64)
        lengths = torch.from_numpy(np.append(length, 0.0))[:, None]
        self.distance = tree_solve_diag(self.tree, one, -one, 0 * one, lengths)[:, 0].numpy()


def simulate(neuron: Neuron) -> Array:
    """Voltages (STEPS, L) by tree solves: the matrix is factored once, then solved each step."""
    storage = torch.from_numpy(neuron.area * CAPACITANCE / DT)[:, None]  # (L, 1), µS
    axial = torch.from_numpy(neuron.axial)[:, None]  # (L - 1, 1)
    parent = torch.from_numpy(neuron.tree.parent[:-1].copy())
    diagonal = storage + torch.from_numpy(neuron.area * LEAK)[:, None]
    diagonal[:-1] += axial
    diagonal.index_add_(0, parent, axial)
    factor = TreeMatrix.diag(neuron.tree, diagonal, -axial, -axial).factorize()

    injected = torch.zeros_like(storage)
    injected[-1] = CURRENT
    voltage, history = torch.zeros_like(storage), []
    for _ in range(STEPS):
        solution = factor.solve(storage * voltage + injected)
        assert isinstance(solution, torch.Tensor)
        voltage = solution
        history.append(voltage[:, 0])
    return torch.stack(history).numpy()


def simulate_with_scipy(neuron: Neuron) -> Array:
    """The same from the incidence matrix of the segments and a general sparse LU."""
    edges, nodes = len(neuron.axial), len(neuron.area)
    ends = np.append(np.arange(edges), neuron.tree.parent[:-1])
    drop = coo_array(
        (np.repeat([1.0, -1.0], edges), (np.tile(np.arange(edges), 2), ends)), shape=(edges, nodes)
    )  # voltages (nodes,) to differences along the segments (edges,)
    storage = neuron.area * CAPACITANCE / DT
    matrix = drop.T @ diags_array(neuron.axial) @ drop + diags_array(storage + neuron.area * LEAK)
    factor = splu(matrix.tocsc())
    injected = np.zeros(nodes)
    injected[-1] = CURRENT
    voltages = np.zeros((STEPS + 1, nodes))
    for step in range(STEPS):
        voltages[step + 1] = factor.solve(storage * voltages[step] + injected)
    return voltages[1:]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = data_folder() / NEURON
        if not path.is_file():
            print(f"{path} is not there: a small made-up neuron takes its place")
            path = Path(folder, "small.swc")
            write_small_neuron(path)
        neuron = Neuron(path)
    voltages = simulate(neuron)
    soma, tip = neuron.tree.num_nodes - 1, int(neuron.distance.argmax())
    at_soma, at_tip = voltages[-1, [soma, tip]]
    print(f"neuron      {soma + 1} compartments, {neuron.area.sum():,.0f} µm² of membrane")
    print(f"soma        {at_soma:.2f} mV after {STEPS * DT:.0f} ms of {CURRENT} nA")
    print(f"resistance  {at_soma / CURRENT:.0f} MΩ as seen from the soma")
    print(
        f"attenuation {at_soma / at_tip:.2f}: {at_tip:.2f} mV at the farthest tip, "
        f"{neuron.distance[tip]:.0f} µm away"
    )

    error = np.abs(voltages - simulate_with_scipy(neuron)).max() / voltages.max()
    print(f"SciPy       all {STEPS} steps agree to {error:.0e}")
    if not error <= TOLERANCE:
        raise SystemExit(f"the voltages differ from SciPy's by {error:.1e}")


if __name__ == "__main__":
    main()
