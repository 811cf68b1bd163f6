"""`myo info`: what this installation consists of and what it can run on."""

import json
import os
import platform
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.table import Table

from myosotis.linalg import backends

__all__ = ["Environment", "Extra", "describe", "info", "version_of"]

_DISTRIBUTIONS = ("myosotis", "torch", "numpy", "numba")
_EXTRA_MODULES = {
    "data": ("filelock", "platformdirs", "pooch", "sklearn"),
    "onnx": ("onnx", "onnxruntime", "onnxscript"),
    "plot": ("matplotlib",),
    "demo": ("gradio",),
    "train": ("pytorch_lightning", "tensorboard", "yaml"),
    "bench": ("scipy", "jax", "s5", "mambapy"),
}


@dataclass(frozen=True)
class Extra:
    """State of one optional group of dependencies.

    Attributes:
        installed: whether all of its key modules can be imported.
        missing: those that cannot.
    """

    installed: bool
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Environment:
    """Everything that `myo info` reports.

    Attributes:
        versions: version of Python and of each core distribution.
        cpu: name of the processor.
        threads: threads that torch uses, and logical processors of the machine.
        devices: devices that torch can compute on.
        solvers: name of each solver backend and what it is.
        extras: name and state of each optional group of dependencies.
    """

    versions: dict[str, str]
    cpu: str
    threads: dict[str, int]
    devices: list[str]
    solvers: dict[str, str]
    extras: dict[str, Extra]


def info(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show versions, devices, solver backends and installed extras."""
    environment = describe()
    if as_json:
        typer.echo(json.dumps(asdict(environment), indent=2))
    else:
        Console().print(_table(environment))


def describe() -> Environment:
    """Inspects the running interpreter and machine.

    Example:
        >>> describe().devices[0]
        'cpu'
    """
    versions = {"python": platform.python_version()}
    versions.update({name: version_of(name) for name in _DISTRIBUTIONS})
    return Environment(
        versions=versions,
        cpu=_cpu_name(),
        threads={"torch": torch.get_num_threads(), "processors": os.cpu_count() or 1},
        devices=_devices(),
        solvers=_solver_backends(),
        extras={name: _extra(modules) for name, modules in _EXTRA_MODULES.items()},
    )


def version_of(distribution: str) -> str:
    """Returns a distribution's version, or `not installed`.

    Example:
        >>> version_of("no-such-distribution")
        'not installed'
    """
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "not installed"


def _solver_backends() -> dict[str, str]:
    active = backends.choose(None, torch.zeros(1, 1), diagonal=True)
    return {
        name: f"{text}; active for CPU tensors" if name == active else text
        for name, text in backends.available().items()
    }


def _devices() -> list[str]:
    accelerator = torch.accelerator.current_accelerator()
    if accelerator is None:
        return ["cpu"]
    count = torch.accelerator.device_count()
    return ["cpu", *(f"{accelerator.type}:{index}" for index in range(count))]


def _cpu_name(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def _extra(modules: tuple[str, ...]) -> Extra:
    missing = tuple(module for module in modules if find_spec(module) is None)
    return Extra(installed=not missing, missing=missing)


def _table(environment: Environment) -> Table:
    table = Table(title="myosotis", show_header=False, title_justify="left")
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, found in environment.versions.items():
        table.add_row(name, found)
    table.add_section()
    table.add_row("cpu", environment.cpu)
    threads = environment.threads
    table.add_row("threads", f"{threads['torch']} of {threads['processors']} processors")
    table.add_row("devices", ", ".join(environment.devices))
    table.add_section()
    for name, meaning in environment.solvers.items():
        table.add_row(f"solver {name}", meaning)
    table.add_section()
    for name, extra in environment.extras.items():
        state = "installed" if extra.installed else f"missing {', '.join(extra.missing)}"
        table.add_row(f"extra {name}", state)
    return table
