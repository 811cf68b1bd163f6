import subprocess

import pytest

from myosotis.bench import provenance


def git(folder, *arguments):
    identity = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def test_commit_of_a_tracked_folder(tmp_path):
    file = tmp_path / "file"
    file.write_text("one")
    git(tmp_path, "init")
    assert provenance.commit(tmp_path) is None  # nothing in it is tracked yet
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "first")
    clean = provenance.commit(tmp_path)
    assert len(clean) == 40
    file.write_text("two")
    assert provenance.commit(tmp_path) == clean + "+"


def test_no_commit_outside_of_git(tmp_path):
    assert provenance.commit(tmp_path) is None


def test_no_commit_without_git(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert provenance.commit(tmp_path) is None


@pytest.mark.parametrize("peer", ["jax", "scikit-sparse", "scipy"])
def test_every_peer_has_a_version_or_is_not_installed(peer):
    assert provenance.provenance()["peers"][peer]
