"""The 8×8 digits that come with scikit-learn: no download, and small enough to try things on."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np

from myosotis.data.image_task import LabelledImages, image_task
from myosotis.data.layout import ImageLayout
from myosotis.data.order import hold_out
from myosotis.data.registry import register
from myosotis.data.task import Provenance, Task
from myosotis.errors import ConfigError

__all__ = ["load_digits"]

_VALIDATION, _TEST = 180, 360


@register("digits", summary="handwritten digits, 8×8, Morton order", origin="embedded")
def load_digits(root: Path) -> Task:
    """Make the task `digits`: 1,257 / 180 / 360 images; nothing is read from `root`.

    Raises:
        ConfigError: if scikit-learn is not installed.

    Example:
        >>> load_digits(Path()).tree.num_leaves
        64
    """
    if find_spec("sklearn") is None:
        raise ConfigError("digits needs the extra data: pip install 'myosotis[data]'")
    from sklearn import datasets

    bundle = datasets.load_digits()
    images = bundle.images.astype(np.uint8)[..., None]
    labels = bundle.target.astype(np.int64)
    rest, test = hold_out(len(labels), _TEST)
    return image_task(
        "digits",
        LabelledImages(images[rest], labels[rest]),
        LabelledImages(images[test], labels[test]),
        ImageLayout.morton(8, 8),
        _VALIDATION,
        Provenance(
            "Ethem Alpaydin and Cenk Kaynak, UCI repository; shipped with scikit-learn",
            "CC BY 4.0",
            counts={"all": len(labels)},
        ),
    )
