"""`myo demo` up to the point where it serves; the page itself is tested in a browser."""

import socket
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from myosotis import cli
from myosotis.demo import reader, serve
from tests.demo.models import small_model


@pytest.fixture
def myo(monkeypatch, capsys):
    """Runs `myo demo` in this process and returns its exit status, output and complaint."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["myo", "demo", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_info:
            cli.main()
        return exit_info.value.code or 0, *capsys.readouterr()

    return call


@pytest.fixture
def served(monkeypatch):
    """What would be served and waited for, as pairs of a reader and a port."""
    found = []

    def start(*arguments):
        return SimpleNamespace(block_thread=lambda: found.append(arguments))

    monkeypatch.setattr(serve, "require_gradio", lambda: None)
    monkeypatch.setattr(serve, "start", start)
    return found


@pytest.fixture
def free_port():
    with socket.create_server((serve.HOST, 0)) as taken:
        return taken.getsockname()[1]


def test_a_saved_model_is_served_where_it_should_be(myo, served, free_port, tmp_path):
    small_model().save_pretrained(tmp_path / "model")
    status, out, _ = myo(tmp_path / "model", "--port", free_port)
    assert status == 0
    assert out == f"serving at http://127.0.0.1:{free_port} until Ctrl-C\n"
    ((digit_reader, port),) = served
    assert port == free_port
    assert digit_reader.model.config.heads == 4


def test_a_port_in_use(myo, served, tmp_path):
    with socket.create_server((serve.HOST, 0)) as taken:
        port = taken.getsockname()[1]
        status, _, complaint = myo(tmp_path, "--port", port)
    assert (status, served) == (2, [])
    assert f"cannot listen at port {port}" in complaint
    assert "--port" in complaint
    assert complaint.count("\n") == 1


def test_no_model(myo, served, free_port, tmp_path, monkeypatch):
    status, _, complaint = myo(tmp_path, "--port", free_port)
    assert (status, served) == (2, [])
    assert "neither a run of 'myo train' nor a saved model" in complaint
    monkeypatch.setattr(reader, "__file__", str(Path(tmp_path, "myosotis", "demo", "reader.py")))
    status, _, complaint = myo("--port", free_port)
    assert status == 2
    assert "myo train zmnist" in complaint


def test_gradio_is_not_installed(myo, monkeypatch):
    monkeypatch.setattr(serve, "find_spec", lambda name: None)
    status, _, complaint = myo()
    assert status == 2
    assert "pip install 'myosotis[demo]'" in complaint


def test_no_such_port(myo):
    assert myo("--port", 0)[0] == 2
    assert myo("--port", 65536)[0] == 2
