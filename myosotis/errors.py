"""Every exception that Myosotis raises for a user's mistake.

Each message says what was wrong, where, and what to do about it. All of them derive from the
standard exception a caller would expect (`ValueError`, `torch.linalg.LinAlgError` for a singular
matrix, `RuntimeError` for processes that do not answer), so code that knows nothing of Myosotis
can still catch them.
"""

import torch

__all__ = [
    "ConfigError",
    "DataError",
    "DistributedError",
    "ShapeError",
    "SingularBlockError",
    "TreeError",
    "TreeFileError",
]


class TreeError(ValueError):
    """A tree that is not one: a cycle, a parent out of range, unbalanced brackets and the like."""


class ShapeError(ValueError):
    """Tensors that do not fit the tree or each other in shape, dtype or device."""


class DataError(ValueError):
    """A data file that is missing, truncated or altered, or a value that must not be there."""


class TreeFileError(DataError, TreeError):
    """A file that should hold a tree and does not."""


class ConfigError(ValueError):
    """A setting that does not exist or has the wrong type or value."""


class DistributedError(RuntimeError):
    """A rank that has ended, failed or not answered in time, so that the others cannot go on."""


class SingularBlockError(torch.linalg.LinAlgError):  # type: ignore[name-defined,misc]
    """The elimination met a pivot block with no inverse.

    Attributes:
        node: canonical number of the node whose pivot is singular.
        level: its level, counted from 1 at the deepest, as in `Tree.levels`.
        batch: index of the offending system in the leading axes, `()` if there are none.
    """

    def __init__(self, message: str, node: int, level: int, batch: tuple[int, ...]) -> None:
        super().__init__(message)
        self.node = node
        self.level = level
        self.batch = batch
