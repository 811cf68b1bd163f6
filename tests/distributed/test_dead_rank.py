"""A rank that is gone, or stuck, ends the others with a reason, and soon."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest
import torch
from torch import multiprocessing
from torch.distributed.device_mesh import init_device_mesh

from myosotis import Tree, tree_solve_diag
from myosotis.distributed import local_nodes
from myosotis.errors import DistributedError
from tests.distributed.world import START, join

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
TIME_OUT = 4.0  # of the process group, in seconds


def solve_until_alone(rank: int, folder: Path, fate: str) -> None:
    """Solves once on both ranks; then the second meets its fate, and the first notes the error."""
    torch.set_num_threads(1)
    join(rank, 2, folder, seconds=TIME_OUT)
    mesh, tree = init_device_mesh("cpu", (2,)), Tree.chain(9)
    one, u = torch.ones(()), torch.ones(len(local_nodes(tree, mesh)), 1)
    tree_solve_diag(tree, 3 * one, one, one, u, mesh=mesh)
    if rank == 1:
        os.kill(os.getpid(), getattr(signal, fate))
    begin = time.monotonic()
    try:
        tree_solve_diag(tree, 3 * one, one, one, u, mesh=mesh)
    except DistributedError as error:
        seconds = time.monotonic() - begin
        (folder / "error").write_text(f"{seconds}\n{error}", encoding="utf-8")


@pytest.mark.parametrize("fate", ["SIGKILL", "SIGSTOP"])
def test_the_others_end_within_the_time_out(fate: str, tmp_path: Path) -> None:
    context = multiprocessing.get_context(START)
    ranks = [
        context.Process(target=solve_until_alone, args=(rank, tmp_path, fate)) for rank in range(2)
    ]
    for process in ranks:
        process.start()
    ranks[0].join(timeout=120)
    assert ranks[0].exitcode is not None, "rank 0 hangs"
    for process in ranks:
        process.kill()
        process.join(timeout=30)
    seconds, message = (tmp_path / "error").read_text(encoding="utf-8").split("\n", 1)
    assert float(seconds) < TIME_OUT + 2
    assert message.startswith("rank 0 of 2: the all-gather failed after ")
    assert "Look for its error, then start all ranks anew" in message
