import json
import subprocess
import sys
from importlib.metadata import version

import pytest
import torch
import typer

from myosotis import cli
from myosotis.cli import info
from myosotis.errors import ConfigError, SingularBlockError


def run_myo(monkeypatch, *arguments):
    """Runs `myo` in this process and returns its exit status."""
    monkeypatch.setattr(sys, "argv", ["myo", *arguments])
    with pytest.raises(SystemExit) as exit_info:
        cli.main()
    return exit_info.value.code or 0


def test_json_reports_the_installed_versions(monkeypatch, capsys):
    assert run_myo(monkeypatch, "info", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["versions"]["torch"] == version("torch")
    assert report["versions"]["python"].startswith(f"{sys.version_info.major}.")
    assert set(report["versions"]) == {"python", "myosotis", "torch", "numpy", "numba"}
    assert report["threads"]["torch"] == torch.get_num_threads()
    assert report["devices"][0] == "cpu"
    assert report["cpu"]
    assert report["solvers"]


def test_table_names_every_solver_and_extra(monkeypatch, capsys):
    assert run_myo(monkeypatch, "info") == 0
    printed = capsys.readouterr().out
    for name in ("torch", "threads", "devices", *info.describe().solvers, *info.describe().extras):
        assert name in printed


def test_version(monkeypatch, capsys):
    assert run_myo(monkeypatch, "--version") == 0
    assert capsys.readouterr().out.strip() == f"myo {info.version_of('myosotis')}"


def test_no_subcommand_prints_help(monkeypatch, capsys):
    assert run_myo(monkeypatch) == 0
    printed = capsys.readouterr().out
    assert "Usage: myo" in printed
    assert "info" in printed


@pytest.mark.parametrize("arguments", [["no-such-command"], ["info", "--no-such-option"]])
def test_a_wrong_argument_is_one_line_and_status_2(monkeypatch, capsys, arguments):
    assert run_myo(monkeypatch, *arguments) == 2
    printed = capsys.readouterr().err
    assert arguments[-1] in printed
    assert printed.count("\n") == 1


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, typer.Abort])
def test_an_interrupt_exits_quietly(monkeypatch, capsys, interrupt):
    def stop():
        raise interrupt

    monkeypatch.setattr(info, "describe", stop)
    assert run_myo(monkeypatch, "info") == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "error",
    [
        ConfigError("unknown key 'heds':\n  did you mean 'heads'?"),
        SingularBlockError("pivot of node 3 is singular", node=3, level=2, batch=()),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_mistake_is_one_line_and_status_2(monkeypatch, capsys, error):
    def fail():
        raise error

    monkeypatch.setattr(info, "describe", fail)
    assert run_myo(monkeypatch, "info") == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"myo: {' '.join(str(error).split())}\n"


def test_a_defect_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr(info, "describe", lambda: 1 / 0)
    monkeypatch.setattr(sys, "argv", ["myo", "info"])
    with pytest.raises(ZeroDivisionError):
        cli.main()


@pytest.mark.parametrize("absent", ["typer", "rich"])
def test_without_the_extra_says_what_to_install(monkeypatch, capsys, absent):
    monkeypatch.setattr(cli, "find_spec", lambda name: None if name == absent else object())
    assert run_myo(monkeypatch, "info") == 2
    captured = capsys.readouterr()
    assert captured.err == "myo needs the command-line extra: pip install 'myosotis[cli]'\n"


def test_module_runs_as_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "myosotis.cli", "--version"],
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.stdout.startswith("myo ")


def test_extras_name_the_missing_modules(monkeypatch):
    monkeypatch.setattr(info, "find_spec", lambda name: None if name == "jax" else object())
    extras = info.describe().extras
    assert extras["bench"] == info.Extra(installed=False, missing=("jax",))
    assert extras["plot"] == info.Extra(installed=True, missing=())
    assert "missing jax" in list(info._table(info.describe()).columns[1].cells)


def test_accelerators_are_listed(monkeypatch):
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))
    monkeypatch.setattr(torch.accelerator, "device_count", lambda: 2)
    assert info.describe().devices == ["cpu", "cuda:0", "cuda:1"]


def test_cpu_name(tmp_path):
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nmodel name\t: Example 3000 @ 2 GHz\n")
    assert info._cpu_name(cpuinfo) == "Example 3000 @ 2 GHz"
    assert info._cpu_name(tmp_path / "absent")
