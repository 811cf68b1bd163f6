"""What came out of a run: `result.json`."""

import json
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any

from myosotis.errors import DataError
from myosotis.train.layout import RESULT

__all__ = ["Result", "versions"]


@dataclass(frozen=True)
class Result:
    """The figures of a finished run.

    Attributes:
        task: what was learned.
        mixer: by which kind of layer.
        seed: of the run.
        test_accuracy: of the best checkpoint, 0 to 1; the test set is looked at this one time.
        test_loss: likewise, the cross entropy.
        validation_accuracy: of the best checkpoint, by which it was chosen.
        best_epoch: after which epoch that was.
        wall_seconds: time of training and validation, interruptions left out.
        samples_per_second: examples trained on per second, validation left out.
        parameters: numbers that were learned.
        epochs: passes over the training set, the last perhaps not complete.
        steps: batches trained on.
        versions: of Python and of the libraries.
        config: all settings.
    """

    task: str
    mixer: str
    seed: int
    test_accuracy: float
    test_loss: float
    validation_accuracy: float
    best_epoch: int
    wall_seconds: float
    samples_per_second: float
    parameters: int
    epochs: int
    steps: int
    versions: dict[str, str]
    config: dict[str, Any]

    def to_json(self) -> str:
        """Return it as text for `result.json`."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def read(cls, folder: Path) -> "Result":
        """Read the result of a run.

        Raises:
            DataError: there is none, or it is damaged.

        Example:
            >>> Result.read(Path("no-such-run"))
            Traceback (most recent call last):
            myosotis.errors.DataError: cannot read no-such-run/result.json: ...
        """
        file = folder / RESULT
        try:
            return cls(**json.loads(file.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise DataError(f"cannot read {file}: {error}") from error


def versions() -> dict[str, str]:
    """Return the versions of what decides the figures.

    Example:
        >>> sorted(versions())
        ['myosotis', 'numba', 'numpy', 'python', 'pytorch-lightning', 'torch']
    """
    libraries = ("myosotis", "torch", "numpy", "numba", "pytorch-lightning")
    return {"python": python_version()} | {name: version(name) for name in libraries}
