"""What users may rely on: the names, their documentation, and a quiet import."""

import inspect
import json
import subprocess
import sys
from importlib import resources
from types import ModuleType

import pytest

import myosotis
from myosotis.linalg import backends
from myosotis.nn import mixers
from myosotis.tree import schedule

NAMES = [
    "ConfigError",
    "DataError",
    "Factorization",
    "ShapeError",
    "SingularBlockError",
    "Tree",
    "TreeError",
    "TreeMatrix",
    "data",
    "hilbert_order",
    "morton_order",
    "nn",
    "snake_order",
    "ssm",
    "tree_solve",
    "tree_solve_diag",
    "tree_solve_factored",
]


def test_public_names_are_pinned() -> None:
    assert sorted(myosotis.__all__) == sorted(NAMES)
    assert all(hasattr(myosotis, name) for name in NAMES)


def public_objects() -> dict[str, object]:
    found = {name: getattr(myosotis, name) for name in NAMES}
    found |= {f"ssm.{name}": getattr(myosotis.ssm, name) for name in myosotis.ssm.__all__}
    found |= {f"nn.{name}": getattr(myosotis.nn, name) for name in myosotis.nn.__all__}
    found |= {f"data.{name}": getattr(myosotis.data, name) for name in myosotis.data.__all__}
    found |= {f"mixers.{name}": getattr(mixers, name) for name in mixers.__all__}
    found |= {"schedule.rounds": schedule.rounds, "backends.available": backends.available}
    return {name: value for name, value in found.items() if not isinstance(value, ModuleType)}


def is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Exception)


def is_ours(cls: type, member: str) -> bool:
    """Whether a member was defined here and not in torch, say."""
    owners = [base for base in cls.__mro__ if member in vars(base)]
    return not owners or owners[0].__module__.startswith("myosotis")


PUBLIC = public_objects()
FUNCTIONS_AND_CLASSES = {name: value for name, value in PUBLIC.items() if not is_error(value)}
MEMBERS = {
    f"{owner}.{name}": (value, member)
    for owner, value in FUNCTIONS_AND_CLASSES.items()
    if isinstance(value, type)
    for name, member in inspect.getmembers(value)
    if not name.startswith("_") and is_ours(value, name)
}


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_documented(name: str) -> None:
    assert inspect.getdoc(PUBLIC[name])


@pytest.mark.parametrize("name", FUNCTIONS_AND_CLASSES)
def test_every_public_name_has_an_example(name: str) -> None:
    assert ">>>" in (inspect.getdoc(FUNCTIONS_AND_CLASSES[name]) or "")


@pytest.mark.parametrize("name", MEMBERS)
def test_every_member_is_documented_with_an_example_there_or_in_its_class(name: str) -> None:
    owner, member = MEMBERS[name]
    own, of_class = inspect.getdoc(member) or "", inspect.getdoc(owner) or ""
    assert own or name.rpartition(".")[2] in of_class
    assert ">>>" in own + of_class


@pytest.mark.parametrize("error", ["TreeError", "ShapeError", "DataError", "ConfigError"])
def test_errors_are_value_errors(error: str) -> None:
    assert issubclass(getattr(myosotis, error), ValueError)


def test_package_is_typed() -> None:
    assert resources.files(myosotis).joinpath("py.typed").is_file()


def test_every_public_function_is_annotated() -> None:
    functions = {
        name: value for name, value in FUNCTIONS_AND_CLASSES.items() if inspect.isfunction(value)
    }
    for name, function in functions.items():
        signature = inspect.signature(function)
        assert signature.return_annotation is not inspect.Signature.empty, name
        for parameter in signature.parameters.values():
            assert parameter.annotation is not inspect.Parameter.empty, f"{name}({parameter.name})"


def test_version_is_a_string() -> None:
    assert isinstance(myosotis.__version__, str)
    assert myosotis.__version__[0].isdigit()


IMPORT = """
import json, sys, threading
import numpy, torch
state = lambda: [
    torch.get_num_threads(), str(torch.get_default_dtype()), torch.is_grad_enabled(),
    torch.are_deterministic_algorithms_enabled(), threading.active_count(),
    numpy.geterr(), torch.get_rng_state().tolist(),
]
before = state()
import myosotis
print(json.dumps({"same_state": before == state(), "modules": sorted(sys.modules)}))
"""


@pytest.fixture(scope="module")
def fresh_import() -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", IMPORT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    result: dict[str, object] = json.loads(done.stdout)  # also: nothing else was printed
    return result


def test_import_changes_no_settings(fresh_import: dict[str, object]) -> None:
    assert fresh_import["same_state"]


UNNEEDED = ["huggingface_hub", "matplotlib", "typer", "rich", "scipy", "sklearn", "jax", "numba"]


@pytest.mark.parametrize("module", UNNEEDED)
def test_import_loads_nothing_optional(fresh_import: dict[str, object], module: str) -> None:
    assert module not in fresh_import["modules"]
