"""Models without the solver, in torch and in onnxruntime."""

from pathlib import Path

import numpy as np
import pytest
import torch

from myosotis import Tree
from myosotis.errors import ConfigError
from myosotis.nn import Classifier, ClassifierConfig
from myosotis.nn.portable import export_onnx, portable
from tests.cases import TREES, relative_error


def classifier(tree: Tree | None, **options: object) -> Classifier:
    torch.manual_seed(0)
    config = ClassifierConfig(
        3, tree, channels=2, dim=8, depth=2, heads=3, pool_levels=2, mixer_options=options
    )
    return Classifier(config).eval()


@pytest.mark.parametrize("name", [n for n, t in TREES.items() if t.num_leaves > 1])
@pytest.mark.parametrize(
    "parametrization", ["factor", "upward", "split", "dominant", "spectral", "free"]
)
@pytest.mark.parametrize("kind", [(1, True), (2, True), (2, False)])
def test_gives_the_same_logits(name: str, parametrization: str, kind: tuple[int, bool]) -> None:
    tree, (block, complex_heads) = TREES[name], kind
    model = classifier(
        tree, parametrization=parametrization, block=block, complex_heads=complex_heads, rhs=2
    )
    x = torch.randn(3, tree.num_leaves, 2)
    assert relative_error(portable(model)(x), model(x)) < 1e-5


def test_takes_masks() -> None:
    tree = TREES["quad-5x3"]
    model = classifier(tree)
    x, mask = torch.randn(2, 15, 2), torch.arange(15) < torch.tensor([[15], [9]])
    assert relative_error(portable(model)(x, mask), model(x, mask)) < 1e-5
    with pytest.raises(ConfigError, match="factor"):
        portable(classifier(tree, parametrization="free"))(x, mask)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (lambda: classifier(TREES["star"], selective=True), "selective"),
        (
            lambda: Classifier(ClassifierConfig(2, channels=1, dim=4, levels=2, branching=2)),
            "fixed tree",
        ),
        (
            lambda: Classifier(ClassifierConfig(2, TREES["star"], channels=1, dim=4, mixer="s5")),
            "only myo",
        ),
    ],
)
def test_says_what_cannot_be_portable(model: object, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        portable(model())


# torch's exporter calls a deprecated function of torch itself.
@pytest.mark.filterwarnings("ignore:.*isinstance.treespec, LeafSpec.*:FutureWarning")
def test_onnxruntime_gives_the_same_logits(tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    model = classifier(TREES["quad-5x3"])
    file = tmp_path / "model.onnx"
    export_onnx(model, file)
    session = onnxruntime.InferenceSession(file)
    for batch in (1, 5):
        x = torch.randn(batch, 15, 2)
        (logits,) = session.run(None, {"inputs": x.numpy()})
        assert relative_error(torch.from_numpy(np.asarray(logits)), model(x)) < 1e-5
