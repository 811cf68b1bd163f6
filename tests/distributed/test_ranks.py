"""Several processes against one: solutions, gradients, layers, training, bytes and mistakes.

Starting processes is what takes time here, so each test starts them once for many checks.
"""

from pathlib import Path
from typing import Any

import pytest

from myosotis import Tree
from myosotis.nn import Classifier, ClassifierConfig
from tests.distributed import work
from tests.distributed.world import run_ranks

TOLERANCE = 1e-10

Result = dict[str, Any]  # of one rank


def test_two_ranks_do_what_one_process_does(tmp_path: Path) -> None:
    config = ClassifierConfig(num_classes=3, tree=Tree.quadtree(8), channels=1, dim=5, depth=2)
    Classifier(config).save_pretrained(tmp_path / "before")
    results = run_ranks(work.on_two_ranks, 2, tmp_path)
    for result in results:
        check_solutions(result)
        check_layers(result)
        assert set(result["second derivatives"]) == set("abcu")
        check_errors(result["second derivatives"])
        check_errors(result["coefficients"])
        check_loss_curve(result)
        check_fsdp(result)
        check_bytes(result)
    check_singular(*results)
    check_mistakes(*results)


def test_four_ranks_do_what_one_process_does(tmp_path: Path) -> None:
    for result in run_ranks(work.on_four_ranks, 4, tmp_path):
        check_solutions(result)
        check_layers(result)
        check_errors(result["data parallel"])


def check_errors(errors: dict[str, float]) -> None:
    assert errors
    for name, error in errors.items():
        assert error < TOLERANCE, name


def check_solutions(result: Result) -> None:
    for name in work.CASES:
        for dtype in work.DOUBLE_DTYPES:
            errors = result["solutions"][f"{name}, {dtype}"]
            assert set(errors) == set("xabcu")
            check_errors({f"{part} on {name}, {dtype}": e for part, e in errors.items()})


def check_layers(result: Result) -> None:
    for layer in work.LAYERS:
        check_errors({f"{layer}: {part}": e for part, e in result["layers"][layer].items()})


def check_loss_curve(result: Result) -> None:
    alone, shared = result["losses"]
    assert shared == pytest.approx(alone, rel=TOLERANCE)
    assert len(set(alone)) == work.STEPS


def check_fsdp(result: Result) -> None:
    """FSDP reads and writes the checkpoints of one process."""
    found = result["fsdp"]
    assert found["sharded"]
    assert found["logits"] < TOLERANCE
    assert found["saved"] < 1e-6 < found["moved"]  # stored in single precision


def check_bytes(result: Result) -> None:
    """They do not depend on the number of leaves."""
    few, many = result["bytes"]
    assert few == many
    forward, backward, planned = many
    assert forward == backward == [planned]  # one collective each way
    assert 0 < planned < 200


def check_singular(first: Result, second: Result) -> None:
    """A pivot that is zero on one rank ends both with a reason."""
    (own, top), (own_of_second, top_of_second) = first["singular"], second["singular"]
    assert own[0] == "DistributedError"
    assert own[1].startswith("rank 1 met a singular pivot and stopped")
    assert own_of_second[0] == "SingularBlockError"
    assert own_of_second[1].startswith("on rank 1 the elimination of node 4 of the tree failed")
    for kind, message in (top, top_of_second):
        assert kind == "SingularBlockError"
        assert "the elimination of node 3 of the tree failed" in message


MISTAKES = {
    "u": ("ShapeError", "expected (…, 7, H): rank 0 has 6 nodes of its own and the 1 of the top"),
    "a": ("ShapeError", "a has shape (5, 1): 5 nodes on the last axis but one; expected the 7"),
    "channels": ("ShapeError", "do not broadcast"),
    "dtype": ("ShapeError", "u has dtype torch.float64"),
    "tree": ("TreeError", "a tree of 2 nodes falls into 1 pieces at most, too few for 2 ranks"),
    "mesh": ("ConfigError", "the mesh has 2 dimensions ('data', 'sequence')"),
    "no mesh": ("ConfigError", "mesh is a int; expected a DeviceMesh"),
    "scatter": ("ShapeError", "expected (…, 13, H)"),
    "gather": ("ShapeError", "expected (…, 7, H)"),
    "block": ("ConfigError", "ranks of a mesh share systems of block 1 only"),
    "x": ("ShapeError", "expected (batch, 7, 2): features of the nodes of this rank"),
    "mask": ("ConfigError", "give no mask"),
}


def check_mistakes(first: Result, second: Result) -> None:
    for mistake, (kind, message) in MISTAKES.items():
        found = first["mistakes"][mistake]
        assert found[0] == second["mistakes"][mistake][0] == kind
        assert message in found[1]
