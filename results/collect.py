"""Keeps what a finished run shows: `python results/collect.py runs/TASK-MYO-NAME …`.

Copies result, settings, metrics and learning curve into results/TASK, the model, if it is small,
into checkpoints/TASK with a card, and writes the table of results/README.md anew. Of a run with
another seed than 0 only the result is kept, as results/TASK/seed-N.json.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent
CHECKPOINTS = RESULTS.parent / "checkpoints"
KEPT = ("result.json", "config.yaml", "metrics.csv", "curve.png")
LARGEST = 2_000_000  # bytes of a model that is kept

HEAD = """# Results

Each row is one run of `myo train TASK` with the recipe `myosotis/recipes/cpu/TASK.yaml`, seed 0:
test accuracy of the checkpoint with the best validation accuracy, evaluated once. The folder of
the row has its `result.json` (all settings and versions), metrics of each epoch and the learning
curve; small models are in `checkpoints/`. Times are those of 2 cores that did other work as well.
Other seeds are the test accuracies of the same recipe with seeds 1, 2, …, of which only the
`seed-N.json` is kept, taken on whatever machine was at hand.

| task | test accuracy | other seeds | validation | epochs | minutes | parameters |
|---|---|---|---|---|---|---|
"""

CARD = """---
library_name: myosotis
license: apache-2.0
tags: [myosotis, tree]
---

# {task}

A `myosotis.nn.Classifier` with the mixer `{mixer}`, {parameters:,} parameters, trained by
`myo train {task}` (seed {seed}, {epochs} epochs). Test accuracy {test_accuracy:.2%}, validation
accuracy {validation_accuracy:.2%}. All settings are in `results/{task}/result.json`.

```bash
myo eval checkpoints/{task} --task {task}
```

It is small and shows what the method does; it was trained on this task's data alone, and nothing is
known about how it does on anything else.
"""


def collect(run: Path) -> None:
    """Copy a run."""
    result = _read(run / "result.json")
    folder = RESULTS / result["task"]
    folder.mkdir(exist_ok=True)
    if result["seed"] != 0:
        shutil.copy(run / "result.json", folder / f"seed-{result['seed']}.json")
        return
    for name in KEPT:
        shutil.copy(run / name, folder / name)
    model = run / "checkpoints" / "best"
    if (model / "model.safetensors").stat().st_size <= LARGEST:
        target = CHECKPOINTS / result["task"]
        target.mkdir(parents=True, exist_ok=True)
        for name in ("config.json", "model.safetensors"):
            shutil.copy(model / name, target / name)
        (target / "README.md").write_text(CARD.format(**result), encoding="utf-8")


def table() -> str:
    """The page with all results that are kept."""
    files = sorted(RESULTS.glob("*/result.json"))
    return HEAD + "".join(map(_row, files))


def _read(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text("utf-8"))  # type: ignore[no-any-return]


def _row(file: Path) -> str:
    result, others = _read(file), map(_read, sorted(file.parent.glob("seed-*.json")))
    accuracies = ", ".join(f"{other['test_accuracy']:.2%}" for other in others)
    return (
        f"| [{result['task']}]({result['task']}) | {result['test_accuracy']:.2%} "
        f"| {accuracies} | {result['validation_accuracy']:.2%} | {result['epochs']} "
        f"| {result['wall_seconds'] / 60:.1f} | {result['parameters']:,} |\n"
    )


if __name__ == "__main__":
    for given in sys.argv[1:]:
        collect(Path(given))
    (RESULTS / "README.md").write_text(table(), encoding="utf-8")
