"""Where a figure comes from: the commit, the date, and the versions of the peers."""

import subprocess
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["Json", "commit", "provenance"]

Json = dict[str, object]

_PEERS = ("jax", "jaxley", "mambapy", "neuron", "s5-pytorch", "scikit-sparse", "scipy")
_PACKAGE = Path(__file__).resolve().parent.parent


def provenance() -> Json:
    """Commit, date and versions, ready for JSON.

    Example:
        >>> sorted(provenance())
        ['commit', 'date', 'peers']
    """
    return {
        "commit": commit(_PACKAGE),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "peers": {name: _version(name) for name in _PEERS},
    }


def commit(folder: Path) -> str | None:
    """The commit that holds `folder`, with a + if files differ from it; None outside of git.

    An installed copy may lie inside somebody else's repository, so the folder must be tracked.
    """
    if not _git(folder, "ls-files", "."):
        return None
    changed = "+" if _git(folder, "status", "--porcelain", ".") else ""
    return f"{_git(folder, 'rev-parse', 'HEAD')}{changed}"


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False
        )
    except OSError:  # no git
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "not installed"
