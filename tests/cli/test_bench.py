import json
import subprocess
import sys

import pytest

from myosotis import cli
from myosotis.bench import layer, solve, train
from myosotis.plot import theme

QUICK = ("--quick", "--repeats", "2")


@pytest.fixture
def myo(monkeypatch):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["myo", "bench", *arguments])
        monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as exit_info:
            cli.main()
        return exit_info.value.code or 0

    return run


@pytest.mark.parametrize(
    ("command", "cases"),
    [("solve", solve.CASES), ("layer", layer.CASES), ("train", train.CASES)],
)
def test_list_names_every_case(myo, capsys, command, cases):
    assert myo(command, "--list") == 0
    printed = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for case in cases:
        assert case.name.split(",")[0] in printed


@pytest.mark.parametrize(("command", "only"), [("solve", "random tree"), ("layer", ", forward")])
def test_table_json_and_markdown(myo, capsys, tmp_path, command, only):
    json_file, markdown_file = tmp_path / "figures.json", tmp_path / "table.md"
    files = ("--json", str(json_file), "--markdown", str(markdown_file))
    assert myo(command, "--only", only, *QUICK, *files) == 0
    printed = capsys.readouterr().out
    document = json.loads(json_file.read_text(encoding="utf-8"))
    assert document["benchmark"] == command
    assert document["quick"] is True
    assert document["settings"]["repeats"] == 2
    for key in ("commit", "date", "peers", "machine"):
        assert key in document
    assert len(document["cases"]) == 2
    markdown = markdown_file.read_text(encoding="utf-8")
    for case in document["cases"]:
        assert case["name"] in printed
        for contender in case["contenders"]:
            assert contender["contender"] in printed
            assert contender["contender"] in markdown
            assert contender["status"] == "measured" or contender["status"] in printed
    assert "of 2 targets met" in printed


def test_train(myo, capsys):
    assert myo("train", "--only", "of a classifier", *QUICK) == 0
    assert "samples/s" in capsys.readouterr().out


def test_strict_fails_when_a_target_is_missed(myo):
    impossible = ("solve", "--only", "256 systems", *QUICK)  # tiny: all overhead
    assert myo(*impossible) == 0
    assert myo(*impossible, "--strict") == 1


def test_plot(myo, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    json_file = tmp_path / "figures.json"
    plot = ("--plot", str(tmp_path / "new" / "folder"), "--json", str(json_file))
    assert myo("solve", "--only", "scaling-tri", *QUICK, *plot) == 0
    for suffix in ("png", "svg"):
        assert (tmp_path / "new" / "folder" / f"scaling-tridiagonal.{suffix}").is_file()
    assert "scaling-tridiagonal.png" in capsys.readouterr().out
    sizes = json.loads(json_file.read_text(encoding="utf-8"))["scaling"]
    assert [case["shape"]["nodes"] for case in sizes] == [16, 32, 64]


@pytest.mark.parametrize(
    "arguments",
    [
        ["solve", "--only", "no such case"],
        ["solve", "--only", "scaling"],  # without --plot there is nothing to run
        ["solve", "--repeats", "0"],
        ["train", "--json", "no/such/folder/file.json"],
        ["train", "--plot", "folder"],
    ],
)
def test_a_mistake_is_one_line_and_status_2(myo, capsys, arguments):
    assert myo(*arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_pictures_need_matplotlib(myo, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(theme, "find_spec", lambda name: None)
    assert myo("solve", "--plot", str(tmp_path)) == 2
    assert "myosotis[plot]" in capsys.readouterr().err


def test_the_command_line_loads_no_peer():
    program = (
        "import sys; from myosotis import cli; cli._build_app(); "
        "print([m for m in ('jax', 'scipy', 'matplotlib', 's5', 'mambapy') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
