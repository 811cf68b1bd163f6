import json
import sys

import pytest

from myosotis import cli
from myosotis.bench.data import RateCase
from myosotis.cli import bench_data
from myosotis.data import available
from myosotis.data.published import SST


@pytest.fixture
def myo(monkeypatch):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["myo", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as exit_info:
            cli.main()
        return exit_info.value.code or 0

    return run


def test_list_names_every_task(myo, capsys, tmp_path):
    assert myo("data", "list", "--data-dir", tmp_path) == 0
    printed = capsys.readouterr().out
    assert tmp_path.name in printed.replace("\n", "")
    for name, entry in available().items():
        assert name in printed
        assert entry.summary in printed


def test_list_as_json(myo, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("MYOSOTIS_DATA", str(tmp_path))
    assert myo("data", "list", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["folder"] == str(tmp_path)
    states = {task["name"]: task["state"] for task in document["tasks"]}
    assert states.keys() == available().keys()
    assert states["digits"] == "embedded"
    assert states["sst"] == "downloadable"
    assert states["pathx"] == "generated on first use"


def test_check_shows_counts_checksums_and_a_picture(myo, capsys, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "digits.png"
    assert myo("data", "check", "digits", "--picture", picture) == 0
    printed = capsys.readouterr().out
    assert "1,257 examples" in printed
    assert str(picture) in printed.replace("\n", "")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_check_as_json(myo, capsys):
    assert myo("data", "check", "digits", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["examples"] == {"train": 1257, "validation": 180, "test": 360}
    assert sum(document["balance"]["test"]) == 360
    assert document["provenance"]["counts"] == {"all": 1797}
    assert document["picture"] is None


def test_fetch_of_what_needs_no_download(myo, capsys):
    assert myo("data", "fetch", "digits") == 0
    assert capsys.readouterr().out == "digits: ready\n"


@pytest.mark.parametrize("name", ["sst", "sst-binary"])
def test_fetch_of_what_is_there(myo, capsys, tmp_path, name):
    for file in SST.files:
        path = tmp_path / "sst" / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert myo("data", "fetch", name, "--data-dir", tmp_path) == 0
    assert capsys.readouterr().out == "sst: complete\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fetch", "no-such"], "no task is called 'no-such'"),
        (["check", "digitz"], "did you mean 'digits'?"),
        (["check", "sst"], "train.txt is missing: get it with 'myo data fetch sst'"),
        (["check", "digits", "--picture", "no/such/folder/file.png"], "there is no folder"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(myo, capsys, monkeypatch, tmp_path, arguments, message):
    monkeypatch.setenv("MYOSOTIS_DATA", str(tmp_path))
    assert myo("data", *arguments) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.count("\n") == 1


def test_an_altered_file_is_one_line_and_kept(myo, capsys, tmp_path):
    for file in SST.files:
        path = tmp_path / "sst" / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("(2 mine)\n")
    assert myo("data", "check", "sst", "--data-dir", tmp_path) == 2
    printed = capsys.readouterr().err
    assert "it holds 9 bytes" in printed
    assert SST.files[0].sha256 in printed
    assert path.read_text() == "(2 mine)\n"


def test_text_has_no_picture(myo, capsys, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    from myosotis.data import registry

    task = registry.load("digits")
    plain = type(task)(**{**vars(task), "layout": None})
    monkeypatch.setattr("myosotis.cli.data.load", lambda name, root: plain)
    assert myo("data", "check", "digits", "--picture", tmp_path / "file.png") == 2
    assert "are no images" in capsys.readouterr().err


def test_bench_lists_its_targets(myo, capsys):
    assert myo("bench", "data", "--list") == 0
    assert "20,000 images/s" in capsys.readouterr().out


def test_bench_accounts_for_missing_data(myo, capsys, tmp_path):
    file = tmp_path / "figures.json"
    options = ("--quick", "--repeats", "1", "--only", "zmnist", "--json", file)
    assert myo("bench", "data", *options, "--data-dir", tmp_path) == 0
    assert "is missing" in " ".join(capsys.readouterr().out.split())
    (case,) = json.loads(file.read_text("utf-8"))["cases"]
    assert case["met"] is None
    assert case["target"] == 20_000


@pytest.mark.parametrize(("target", "status"), [(1e-9, 0), (1e15, 1)])
def test_bench_strict_fails_when_a_target_is_missed(myo, capsys, monkeypatch, target, status):
    case = RateCase("toy", "thing", 1, target, 100, lambda root, units: lambda: None)
    monkeypatch.setattr(bench_data, "CASES", [case])
    assert myo("bench", "data", "--repeats", "1") == 0
    assert myo("bench", "data", "--repeats", "1", "--strict") == status
    assert "things/s" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["--only", "no such case"], ["--json", "no/such/folder/file.json"]]
)
def test_a_mistake_of_bench_is_one_line_and_status_2(myo, capsys, arguments):
    assert myo("bench", "data", *arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1
