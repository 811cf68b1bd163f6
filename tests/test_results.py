"""Kept results are those of the recipes, and kept models do what their results say."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from myosotis.errors import DataError
from myosotis.nn import Classifier
from myosotis.train import TrainConfig
from myosotis.train.recipes import load_config, resolve_config
from myosotis.train.settings import from_settings
from tests.cases import DATA

ROOT = Path(__file__).resolve().parents[1]
RESULTS = sorted((ROOT / "results").glob("*/result.json"))
SEEDS = sorted((ROOT / "results").glob("*/seed-*.json"))
MODELS = sorted((ROOT / "checkpoints").glob("*/config.json"))
SPREAD = 0.02  # by which the accuracies of two seeds may differ: docs/findings.md
EXAMPLES = 400  # of the test set that a kept model is tried on


def read(file: Path) -> dict[str, object]:
    return json.loads(file.read_text("utf-8"))  # type: ignore[no-any-return]


def names(files: list[Path]) -> list[str]:
    return [file.parent.name for file in files]


def test_there_are_results() -> None:
    assert "digits" in names(RESULTS)


@pytest.mark.parametrize("file", RESULTS, ids=names(RESULTS))
def test_a_result_is_that_of_the_recipe(file: Path) -> None:
    result = read(file)
    assert result["task"] == file.parent.name
    config = from_settings(TrainConfig, result["config"], str(file))  # may lack later settings
    assert config == resolve_config(file.parent.name)
    assert config == load_config(file.parent / "config.yaml")
    rows = (file.parent / "metrics.csv").read_text("utf-8").splitlines()
    assert len(rows) == 1 + int(str(result["epochs"]))
    assert (file.parent / "curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("file", SEEDS, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_result_with_another_seed_is_that_of_the_same_recipe(file: Path) -> None:
    result = read(file)
    config = from_settings(TrainConfig, result["config"], str(file))
    assert file.name == f"seed-{config.seed}.json"
    assert replace(config, seed=0) == resolve_config(file.parent.name)
    # Whoever reruns a recipe may expect what the others got.
    first = read(file.with_name("result.json"))
    assert abs(float(str(result["test_accuracy"])) - float(str(first["test_accuracy"]))) < SPREAD


def test_the_table_is_that_of_the_results() -> None:
    import runpy

    made = runpy.run_path(str(ROOT / "results" / "collect.py"))["table"]()
    assert (ROOT / "results" / "README.md").read_text("utf-8") == made


@pytest.mark.parametrize("file", MODELS, ids=names(MODELS))
def test_a_kept_model_is_small_and_as_accurate_as_its_result_says(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from myosotis.data import load

    monkeypatch.setenv("MYOSOTIS_DATA", str(DATA))
    assert sum(f.stat().st_size for f in file.parent.iterdir()) < 2_000_000
    task = file.parent.name
    try:
        batch = next(load(task).test.batches(EXAMPLES))
    except DataError as error:
        pytest.skip(f"no data for {task}: {error}")
    model = Classifier.from_pretrained(file.parent)
    with torch.no_grad():
        logits = model(batch.inputs, batch.mask, batch.tree)
    right = int((logits.argmax(-1) == batch.labels).sum())
    share = float(str(read(ROOT / "results" / task / "result.json")["test_accuracy"]))
    # Four standard deviations of a sample of this size, from the whole test set.
    spread = 4 * (share * (1 - share) / len(batch.labels)) ** 0.5 + 1 / len(batch.labels)
    assert abs(right / len(batch.labels) - share) < spread
