"""Every example runs, at a small size where it takes one, and notices when its answer is wrong."""

import importlib.util
import math
import os
import re
import runpy
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
NAMES = sorted(file.name for file in EXAMPLES.glob("*.py"))
DATA = Path(os.environ.get("MYOSOTIS_DATA") or "no data folder")
NEEDS = {"cable_equation.py": "neurons", "parametrizations.py": "mnist", "sentiment.py": "sst"}
SMALL = {
    "parametrizations.py": ["--train", "100", "--test", "50"],
    "sentiment.py": ["--small"],
    "vision_transformer.py": ["--small"],
}


def run(example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [example, *SMALL.get(example, [])])
    runpy.run_path(str(EXAMPLES / example), run_name="__main__")


def imported(example: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(example.removesuffix(".py"), EXAMPLES / example)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("example", NAMES)
def test_example(
    example: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = NEEDS.get(example)
    if folder is not None and not (DATA / folder).is_dir():
        pytest.skip(f"no {folder} under MYOSOTIS_DATA")
    run(example, monkeypatch)
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    ("example", "message", "goes_on"),
    [
        ("cable_equation.py", "a small made-up neuron takes its place", True),
        ("sentiment.py", "myo data fetch sst-binary", False),
    ],
)
def test_without_data(
    example: str,
    message: str,
    goes_on: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MYOSOTIS_DATA", str(tmp_path))
    run(example, monkeypatch)
    first, *others = capsys.readouterr().out.splitlines()
    assert message in first
    assert bool(others) == goes_on


@pytest.mark.parametrize(
    ("example", "function"),
    [
        ("cable_equation.py", "simulate_with_scipy"),
        ("kalman_smoother.py", "smooth_by_recursion"),
        ("tree_gaussian.py", "marginals"),
    ],
)
def test_a_wrong_answer_is_noticed(
    example: str, function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MYOSOTIS_DATA", str(tmp_path))
    module = imported(example)
    right = getattr(module, function)

    def slightly_wrong(argument: object) -> object:
        answer = right(argument)
        if isinstance(answer, tuple):
            return answer[0], (1 + 1e-6) * answer[1]
        return (1 + 1e-6) * answer

    monkeypatch.setattr(module, function, slightly_wrong)
    with pytest.raises(SystemExit, match="differ"):
        module.main()


def test_a_cable_behaves_as_its_equation_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A soma with one sealed cylinder in the steady state, for which there are closed formulas."""
    radius, length, count = 1e-4, 0.06, 1200  # cm, cm, segments
    soma_radius, current = 1e-3, 5e-11  # cm, A
    samples = [f"1 1 0 0 0 {1e4 * soma_radius} -1"]
    samples += [
        f"{k + 1} 3 {1e4 * length * k / count} 0 0 {1e4 * radius} {k}" for k in range(1, count + 1)
    ]
    path = tmp_path / "cable.swc"
    path.write_text("\n".join(samples))

    cable = imported("cable_equation.py")
    monkeypatch.setattr(cable, "DT", 1e12)  # one endless step of implicit Euler ends at rest
    monkeypatch.setattr(cable, "STEPS", 1)
    (voltages,) = cable.simulate(cable.Neuron(path))

    membrane, cytoplasm = 20_000.0, 150.0  # Ω·cm², Ω·cm
    space = math.sqrt(radius * membrane / (2 * cytoplasm))  # the length constant, cm
    into_cable = math.pi * radius**2 / (cytoplasm * space) * math.tanh(length / space)
    # The cylinder begins inside the soma, which has the sphere's membrane and no part of its.
    hidden = math.pi * radius * length / count
    into_soma = (4 * math.pi * soma_radius**2 - hidden) / membrane
    at_soma = 1e3 * current / (into_cable + into_soma)  # mV
    # Canonical numbers run from the tip to the soma; the error is of second order in the spacing.
    expected = at_soma * np.cosh(np.arange(count + 1) / count * length / space)
    expected /= math.cosh(length / space)
    np.testing.assert_allclose(voltages, expected, rtol=1e-6)


def test_the_readme_of_the_examples_names_each() -> None:
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\]\((\w+\.py)\)", text)) == NAMES
