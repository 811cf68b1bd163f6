"""The model behind the page: its inputs, and what is said of its decisions."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from myosotis import Tree
from myosotis.data import load
from myosotis.demo import reader as reader_module
from myosotis.demo.drawing import mnist_image
from myosotis.demo.reader import DigitReader, committed_checkpoint
from myosotis.errors import ConfigError
from myosotis.nn import Classifier, ClassifierConfig
from myosotis.nn.shift import move
from tests.cases import DATA
from tests.demo.models import drawn_seven, small_model

CHECKPOINT = Path(__file__).resolve().parents[2] / "checkpoints" / "zmnist"


@pytest.fixture(scope="module")
def reader() -> DigitReader:
    return DigitReader(small_model())


@pytest.fixture
def image() -> NDArray[np.uint8]:
    return mnist_image(drawn_seven())


def logits(reader: DigitReader, image: NDArray[np.uint8]) -> torch.Tensor:
    """Of the image scaled, bordered and put in Morton order here, by hand."""
    bordered = np.pad(image.astype(np.float64), 2)
    rows, columns = np.indices(bordered.shape)
    codes = sum(
        ((columns >> bit & 1) << 2 * bit) + ((rows >> bit & 1) << 2 * bit + 1) for bit in range(5)
    )
    sequence = np.empty(1024)
    sequence[codes.ravel()] = (bordered.ravel() - 33.3242487) / 78.57232564
    with torch.no_grad():
        return reader.model(torch.from_numpy(sequence).float()[None, :, None])[0]


@pytest.mark.skipif(not (DATA / "mnist").is_dir(), reason="no MNIST under MYOSOTIS_DATA")
def test_inputs_are_those_of_the_task() -> None:
    task = load("zmnist", DATA)
    image = task.images("test", [4])[0, ..., 0]
    expected = next(task.test.batches(5)).inputs[4:]
    assert torch.allclose(reader_module._inputs(image), expected, atol=1e-6)


def test_probabilities(reader: DigitReader, image: NDArray[np.uint8]) -> None:
    expected = logits(reader, image).softmax(-1).numpy()
    assert np.allclose(reader.probabilities(image), expected, atol=1e-5)


def test_contributions_add_up_to_the_score_over_a_blank_page(
    reader: DigitReader, image: NDArray[np.uint8]
) -> None:
    gain = logits(reader, image) - logits(reader, np.zeros_like(image))
    for digit in (0, 7):
        added = reader.contributions(image, digit)
        assert (added[image == 0] == 0).all()
        assert abs(added.sum() - float(gain[digit])) < 0.05 * gain.abs().max()


def test_contributions_are_where_the_ink_is(reader: DigitReader, image: NDArray[np.uint8]) -> None:
    """A little ink taken away at a pixel changes the score as its gradient says."""
    faint = (image // 64).astype(np.uint8)  # so little that the model is all but linear
    added = reader.contributions(faint, 3)
    row, column = np.unravel_index(np.abs(added).argmax(), added.shape)
    without = faint.copy()
    without[row, column] = 0
    change = float((logits(reader, faint) - logits(reader, without))[3])
    assert change == pytest.approx(added[row, column], rel=0.1)


def test_weights_at_the_root_are_a_row_of_the_inverse(
    reader: DigitReader, image: NDArray[np.uint8]
) -> None:
    """By pushing a unit through the solver of each layer at one pixel, instead of one adjoint."""
    tree = reader.model.config.tree
    weights = reader.weights_at_root(image)
    row, column = 5, 9
    code = sum(
        (((column + 2) >> bit & 1) << 2 * bit) + (((row + 2) >> bit & 1) << 2 * bit + 1)
        for bit in range(5)
    )
    found = []
    for layer in reader.layers:
        heads = layer.channels[0]
        u = torch.zeros(1, tree.num_nodes, heads, 2)
        u[0, tree.leaves[code], :, 0] = 1
        with torch.no_grad():
            x = layer.solve(u.flatten(2), torch.zeros(1, tree.num_nodes, layer.dim), tree)
        found.append(x.unflatten(-1, (heads, 2))[0, -1].norm(dim=-1).mean())
    assert weights[row, column] == pytest.approx(float(torch.stack(found).mean()), rel=1e-4)


def test_sweeps_are_of_the_chosen_block_and_head(
    reader: DigitReader, image: NDArray[np.uint8]
) -> None:
    """The second block gets what the first gives on, and each head has numbers of its own."""
    model, tree = reader.model, reader.model.config.tree
    with torch.no_grad():
        x = model.encoder(reader_module._inputs(image), tree, None, None)
        x = model.blocks[0](x, lambda mixer, y: mixer(y, None, tree), None, tree)
        x = model.blocks[1].norm(x.flatten(0, 1)).view(x.shape)
        layer = reader.layers[1]
        solved = layer.solve(layer.project_in(x), x, tree)
    expected = torch.view_as_complex(solved[0].unflatten(-1, (-1, 2))).numpy()
    for head in (0, 2):
        found = reader.sweeps(image, block=1, head=head).solutions
        assert np.allclose(found, expected[:, head], rtol=1e-3, atol=1e-4)
    assert not layer._forward_pre_hooks


def test_blocks_above_the_pixels_are_left_out_and_moved_ones_moved_back(
    image: NDArray[np.uint8],
) -> None:
    torch.manual_seed(0)
    tree = Tree.quadtree(32)
    config = ClassifierConfig(
        10, tree, channels=1, dim=8, depth=3, heads=4, climb_after=(2,), shifts=(5,)
    )
    reader = DigitReader(Classifier(config).eval())
    assert [layer.tree.num_nodes for layer in reader.layers] == [1365, 1365]
    with torch.no_grad():
        x = reader.model.encoder(reader_module._inputs(image), tree, None, None)
        x = move(reader.model.blocks[0].norm(x), tree, 0, 5)
        layer = reader.layers[0]
        solved = move(layer.solve(layer.project_in(x), x, tree), tree, 5, 0)
    expected = torch.view_as_complex(solved[0].unflatten(-1, (-1, 2))).numpy()
    found = reader.sweeps(image, block=0, head=1).solutions
    assert np.allclose(found, expected[:, 1], rtol=1e-3, atol=1e-4)
    assert reader.weights_at_root(image).shape == (28, 28)


def test_a_block_that_is_applied_twice_has_two_sweeps(image: NDArray[np.uint8]) -> None:
    torch.manual_seed(0)
    settings = {"channels": 1, "dim": 8, "depth": 2, "heads": 4}
    tied = Classifier(ClassifierConfig(10, Tree.quadtree(32), tie_blocks=True, **settings)).eval()
    other = Classifier(ClassifierConfig(10, Tree.quadtree(32), **settings)).eval()
    other.load_state_dict(tied.state_dict())
    for block in (0, 1):
        found, expected = (DigitReader(m).sweeps(image, block, head=0) for m in (tied, other))
        assert np.allclose(found.solutions, expected.solutions, rtol=1e-4, atol=1e-5)


def test_saved_models_and_runs(tmp_path: Path, image: NDArray[np.uint8]) -> None:
    model = small_model()
    model.save_pretrained(tmp_path / "model")
    model.save_pretrained(tmp_path / "run" / "checkpoints" / "best")
    (tmp_path / "run" / "config.yaml").write_text("task: zmnist\n")
    expected = DigitReader(model).probabilities(image)
    for folder in ("model", "run"):
        found = DigitReader.load(tmp_path / folder).probabilities(image)
        assert np.allclose(found, expected, atol=1e-6)
    (tmp_path / "run" / "config.yaml").write_text("task: digits\n")
    with pytest.raises(ConfigError, match="run of digits"):
        DigitReader.load(tmp_path / "run")
    with pytest.raises(ConfigError, match="neither a run"):
        DigitReader.load(tmp_path)


@pytest.mark.parametrize(
    "other",
    [{"mixer": "s5"}, {"mixer_options": {"block": 2}}, {"tree": Tree.quadtree(8)}, {"channels": 3}],
)
def test_other_models_are_refused(other: dict[str, object]) -> None:
    settings = {"tree": Tree.quadtree(32), "channels": 1, "dim": 8, "depth": 1, "heads": 4}
    with pytest.raises(ConfigError, match="myo train zmnist"):
        DigitReader(Classifier(ClassifierConfig(10, **{**settings, **other})))


def test_without_a_checkout_the_message_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed = tmp_path / "site-packages" / "myosotis" / "demo" / "reader.py"
    monkeypatch.setattr(reader_module, "__file__", str(installed))
    with pytest.raises(ConfigError, match="make your own with 'myo train zmnist'"):
        committed_checkpoint()


@pytest.mark.skipif(not CHECKPOINT.is_dir(), reason="no checkpoints/zmnist in this checkout")
def test_the_committed_model_reads_a_drawn_seven(image: NDArray[np.uint8]) -> None:
    reader = DigitReader.load(committed_checkpoint())
    assert json.loads((CHECKPOINT / "config.json").read_text())["mixer"] == "myo"
    assert reader.probabilities(image).argmax() == 7
