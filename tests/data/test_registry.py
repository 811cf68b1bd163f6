from pathlib import Path

import numpy as np
import pytest

from myosotis.data import available, load, register
from myosotis.data.folder import VARIABLE, data_folder
from myosotis.data.registry import find
from myosotis.errors import ConfigError, DataError

IMAGES = ["smnist", "zmnist", "sfashion", "zfashion"]
IMAGES += ["scifar", "zcifar", "scifar-gray", "zcifar-gray"]
TEXTS = ["imdb", "sst", "sst-binary"]
GENERATED = ["listops", "listops-chain", "listops-tree", "pathfinder", "zpathfinder", "pathx"]


def test_every_task_of_the_design_is_listed():
    assert sorted(["digits", *IMAGES, *TEXTS, *GENERATED]) == list(available())
    for name, entry in available().items():
        assert entry.name == name
        assert entry.summary
        assert entry.origin in ("download", "generated", "embedded", "manual")
        assert (entry.source is not None) == (entry.origin == "download")


def test_the_list_cannot_be_changed_but_by_register():
    with pytest.raises(TypeError):
        available()["mine"] = None


def test_unknown_names_get_a_hint_and_the_list():
    with pytest.raises(ConfigError, match=r"'zminst'.*did you mean 'zmnist'\?.*sst-binary"):
        load("zminst")
    with pytest.raises(ConfigError, match=r"no task is called 'qqq': There are digits"):
        load("qqq")


def test_a_name_is_given_once():
    with pytest.raises(ConfigError, match="'digits' is there already"):
        register("digits", summary="", origin="embedded")(lambda root: None)


@pytest.mark.parametrize("name", ["digits", "zcifar", "imdb"])
def test_no_padding_where_there_is_none_to_leave_out(name, tmp_path):
    with pytest.raises(ConfigError, match="pad=False means nothing to"):
        load(name, tmp_path, pad=False)


@pytest.mark.parametrize("name", [*IMAGES, *TEXTS])
def test_missing_files_are_named_with_the_way_to_get_them(name, tmp_path, monkeypatch):
    source = find(name).source
    monkeypatch.setitem(vars(source), "elsewhere", ())  # where this system may have them
    expected = rf"{source.folder}.* is missing: .*'myo data fetch {source.name}'"
    with pytest.raises(DataError, match=expected):
        load(name, tmp_path)


def test_data_folder_by_argument_variable_and_cache(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "variable"))
    assert data_folder(tmp_path / "argument") == tmp_path / "argument"
    assert data_folder() == tmp_path / "variable"
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_folder().name == "myosotis"
    assert data_folder("~/data") == Path.home() / "data"


def test_without_platformdirs_a_folder_must_be_given(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr("myosotis.data.folder.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="no data folder is given: set MYOSOTIS_DATA"):
        data_folder()


def test_digits():
    task = load("digits")
    assert [len(task.split(s)) for s in ("train", "validation", "test")] == [1257, 180, 360]
    from sklearn.datasets import load_digits

    bundle = load_digits()
    known = {image.tobytes() for image in bundle.images.astype(np.uint8)}
    images = [task.images(s, range(len(task.split(s)))) for s in ("train", "validation", "test")]
    drawn = [image.tobytes() for part in images for image in part]
    assert len(drawn) == 1797
    assert set(drawn) == known
    assert task.tree.num_leaves == 64
    labels = np.concatenate([task.split(s).labels for s in ("train", "validation", "test")])
    assert np.bincount(labels).tolist() == np.bincount(bundle.target).tolist()


def test_splits_and_images_by_name():
    task = load("digits")
    with pytest.raises(ConfigError, match="no split is called 'dev'"):
        task.split("dev")
    with pytest.raises(ConfigError, match="no split is called 'dev'"):
        task.images("dev", [0])


def test_digits_need_scikit_learn(monkeypatch):
    monkeypatch.setattr("myosotis.data.digits.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"myosotis\[data\]"):
        load("digits")
