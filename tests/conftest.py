"""Every test starts from the same seeds, and hypothesis draws the same examples each time."""

import os

import numpy as np
import pytest
import torch
from hypothesis import settings

from tests.cases import NEURONS

settings.register_profile("derandomized", derandomize=True, deadline=None, database=None)
settings.load_profile("derandomized")

if "PYTEST_XDIST_WORKER" in os.environ:  # one process per core: more threads only get in the way
    torch.set_num_threads(1)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "neurons: needs neurons/*.swc in the data folder")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if NEURONS:
        return
    absent = pytest.mark.skip(reason="no neurons/*.swc under MYOSOTIS_DATA or ../shared/data")
    for item in items:
        if item.get_closest_marker("neurons"):
            item.add_marker(absent)


@pytest.fixture(autouse=True)
def _seeds() -> None:
    torch.manual_seed(0)
    np.random.seed(0)
