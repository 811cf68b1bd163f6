"""Tests marked `dataset("name")` need that published data set under MYOSOTIS_DATA."""

import os
from pathlib import Path

import pytest

from myosotis.data.published import SOURCES

ROOT = os.environ.get("MYOSOTIS_DATA")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "dataset(name): needs that data set under MYOSOTIS_DATA")


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("dataset"):
        source = SOURCES[marker.args[0]]
        if not ROOT:
            pytest.skip("MYOSOTIS_DATA names no data folder")
        if any(source.locate(file, Path(ROOT)) is None for file in source.files):
            pytest.skip(f"no {source.folder} under MYOSOTIS_DATA")


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder of the published data sets, for tests marked `dataset`."""
    assert ROOT
    return Path(ROOT)
