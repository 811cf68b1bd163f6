"""A neuron's shape, and how voltage spreads in it."""

import os
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from myosotis.errors import DataError
from myosotis.linalg import TreeMatrix
from myosotis.tree import Tree

__all__ = ["Morphology"]

_COLUMNS = (2, 3, 4, 5)  # x, y, z and radius, of `id type x y z radius parent`
_SHORTEST = 1e-3  # µm; samples in one place are joined by next to no resistance

# Usual values of the passive membrane and of the fluid inside.
_MEMBRANE_RESISTANCE = 20_000.0  # Ω cm²
_AXIAL_RESISTANCE = 150.0  # Ω cm
_CM_PER_MICROMETRE = 1e-4


@dataclass(frozen=True, eq=False)
class Morphology:
    r"""Samples of a neuron, in the canonical numbering of their tree.

    Attributes:
        tree: which sample hangs on which.
        positions: float64 (L, 3), µm.
        radii: float64[L], µm.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "neuron.swc")
        ...     _ = path.write_text("1 1 0 0 0 5 -1\n2 3 100 0 0 1 1\n3 3 200 0 0 1 2\n")
        ...     neuron = Morphology.read(path)
        >>> neuron.positions[:, 0]
        array([200., 100.,   0.])
        >>> influence = neuron.passive_system().influence(node=2).squeeze()  # on the first sample
        >>> bool((influence.diff() > 0).all())  # the nearer the more
        True
    """

    tree: Tree
    positions: NDArray[np.float64]
    radii: NDArray[np.float64]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Morphology":
        """Read an SWC file.

        Raises:
            DataError: the file cannot be read, or a number in it is not finite.
        """
        try:
            tree = Tree.from_swc(path)
            # Comments may be in any encoding, and this one reads them all.
            table = np.loadtxt(path, usecols=_COLUMNS, ndmin=2, encoding="latin-1")
        except OSError as error:
            raise DataError(f"cannot read {path}: {error.strerror or error}") from None
        if not np.isfinite(table).all():
            sample = int(np.argmin(np.isfinite(table).all(axis=1)))
            raise DataError(f"{path}: sample {sample} has a number that is not finite: correct it")
        table = table[tree.input_index]
        return cls(tree, table[:, :3], table[:, 3])

    def passive_system(self) -> TreeMatrix:
        """Return the steady cable equation: T v = current, in µS, mV and nA.

        Each sample's membrane leaks in proportion to the area of the cable to its parent, half of
        which belongs to either end (a root on its own is a sphere), and current flows along the
        cable in proportion to its cross-section. An entry of the inverse is a transfer
        resistance in MΩ.

        Raises:
            DataError: a radius is not positive, as in files of tracings without radii.
        """
        if (self.radii <= 0).any():
            sample = int(self.tree.input_index[self.radii <= 0].min())
            raise DataError(
                f"sample {sample} (counted from 0) has no positive radius: the passive system "
                f"needs the thickness of the cable"
            )
        child = np.arange(self.tree.num_edges)
        parent = self.tree.parent[child]
        radius, place = self.radii * _CM_PER_MICROMETRE, self.positions * _CM_PER_MICROMETRE
        length = np.linalg.norm(place[child] - place[parent], axis=1)
        length = length.clip(_SHORTEST * _CM_PER_MICROMETRE)
        mean = (radius[child] + radius[parent]) / 2
        half_area = np.pi * mean * length
        area = np.zeros(self.tree.num_nodes)
        area[self.tree.roots] = 4 * np.pi * radius[self.tree.roots] ** 2
        np.add.at(area, child, half_area)
        np.add.at(area, parent, half_area)
        axial = np.zeros(self.tree.num_nodes)
        axial[child] = np.pi * mean**2 / (_AXIAL_RESISTANCE * length)
        total = area / _MEMBRANE_RESISTANCE + axial
        np.add.at(total, parent, axial[child])
        in_microsiemens = (torch.from_numpy(1e6 * t).unsqueeze(-1) for t in (total, -axial))
        a, b = in_microsiemens
        return TreeMatrix.diag(self.tree, a, b, b)
