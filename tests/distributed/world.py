"""Processes that talk to each other over gloo, for tests."""

import os
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import multiprocessing

# A fork server imports torch and all the rest once, for all processes of all tests.
START = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
TIME_LIMIT = 240  # seconds, of a loaded machine; a hang must not stop the test run for ever

Work = Callable[[int, Path], Any]

multiprocessing.set_forkserver_preload(["tests.distributed.work"])


def run_ranks(work: Work, ranks: int, folder: Path) -> list[Any]:
    """What `work(rank, folder)` returns on each of the ranks, which share a process group."""
    processes = multiprocessing.start_processes(
        enter, (work, ranks, folder), nprocs=ranks, join=False, start_method=START
    )
    deadline = time.monotonic() + TIME_LIMIT
    try:
        while not processes.join(timeout=5, grace_period=5):  # raises what a rank raised
            if time.monotonic() > deadline:
                raise TimeoutError(f"ranks still run after {TIME_LIMIT} s")
    finally:
        for process in processes.processes:
            process.kill()
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in range(ranks)]


def enter(rank: int, work: Work, ranks: int, folder: Path) -> None:
    torch.set_num_threads(1)
    join(rank, ranks, folder, seconds=120)
    torch.save(work(rank, folder), folder / f"{rank}.pt")
    dist.destroy_process_group()


def join(rank: int, ranks: int, folder: Path, *, seconds: float) -> None:
    """Enters the process group that meets in `folder`."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # whatever the host's name resolves to
    dist.init_process_group(
        "gloo",
        init_method=(folder / "meeting").as_uri(),
        rank=rank,
        world_size=ranks,
        timeout=timedelta(seconds=seconds),
    )
