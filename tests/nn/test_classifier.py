"""The classifier: shapes, masks, forests, saving, compiling, exporting."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from myosotis import Tree
from myosotis.errors import ConfigError, DataError, ShapeError
from myosotis.nn import Classifier, ClassifierConfig, mixers
from tests.cases import relative_error

TREE = Tree.quadtree(4, 3)


def classifier(seed: int = 0, **options: object) -> Classifier:
    torch.manual_seed(seed)
    settings: dict[str, object] = {"channels": 2, "tree": TREE, "dim": 8, "depth": 2, "heads": 2}
    settings |= options
    if "vocabulary" in options:
        settings["channels"] = None
    return Classifier(ClassifierConfig(num_classes=3, **settings)).eval()


def values(batch: int = 4, tree: Tree = TREE) -> Tensor:
    return torch.randn(batch, tree.num_leaves, 2)


@pytest.mark.parametrize("mixer", mixers.available())
def test_every_mixer_classifies_and_learns(mixer: str) -> None:
    model = classifier(mixer=mixer).train()
    x, labels = values(), torch.tensor([0, 1, 2, 0])
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(40):
        loss = torch.nn.functional.cross_entropy(model(x), labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert model(x).shape == (4, 3)
    assert losses[-1] < 0.6 * losses[0]


@pytest.mark.parametrize(
    "options",
    [
        {"inner": "zero"},
        {"inner": "learned"},
        {"norm": "batch"},
        {"norm": "batch", "prenorm": False},
        {"gated": False, "level_embedding": False},
        {"dropout": 0.2, "drop_path": 0.5},
        {"pool_levels": 1},
        {"pool_levels": None},
        {"mixer_options": {"sharing": "tied", "selective": True}},
        {"mixer_options": {"block": 2, "rhs": 2, "parametrization": "spectral"}},
    ],
)
def test_every_option_reaches_all_parameters(options: dict[str, object]) -> None:
    model = classifier(**options).train()
    torch.nn.functional.cross_entropy(model(values()), torch.tensor([0, 1, 2, 0])).backward()
    without = [name for name, p in model.named_parameters() if p.grad is None]
    assert not without
    assert all(p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("inner", ["mean", "zero", "learned"])
@pytest.mark.parametrize("parametrization", ["factor", "upward", "split", "dominant", "free"])
@pytest.mark.parametrize("norm", ["layer", "batch"])
def test_padding_changes_nothing(inner: str, parametrization: str, norm: str) -> None:
    long, short = Tree.over(8, 2), Tree.over(8, 2)
    options = {"parametrization": parametrization}
    model = classifier(
        tree=long, vocabulary=11, inner=inner, norm=norm, mixer_options=options, pool_levels=None
    )
    tokens = torch.randint(1, 11, (2, 8))
    mask = torch.arange(8) < torch.tensor([[8], [5]])
    with torch.no_grad():
        padded = model(tokens, mask)
        other = tokens.where(mask, 3)
        assert torch.equal(model(other, mask), padded)
        assert relative_error(padded[:1], model(tokens[:1])) < 1e-5
        # The tree over eight leaves without the last three, and what has only those below it.
        kept = Tree([-1, 0, 0, 1, 1, 2, 3, 3, 4, 4, 5])
        assert short.num_leaves - 3 == kept.num_leaves
        assert relative_error(padded[1:], model(tokens[1:, :5], tree=kept)) < 1e-5


@pytest.mark.parametrize("mixer", ["myo", "tree-attention", "s5", "attention", "lstm"])
def test_a_forest_gives_the_logits_of_its_members(mixer: str) -> None:
    members = [Tree.star(3), Tree.over(5, 2), Tree.chain(3), Tree.chain(1)]
    settings = {"vocabulary": 9, "levels": 4, "branching": 3, "pool_levels": 2}
    model = classifier(mixer=mixer, tree=None, **settings)
    tokens = [torch.randint(1, 9, (1, member.num_leaves)) for member in members]
    together = model(torch.cat(tokens, dim=1), tree=Tree.forest(members))
    apart = torch.cat([model(t, tree=m) for t, m in zip(tokens, members, strict=True)])
    assert together.shape == (4, 3)
    assert relative_error(together, apart) < 1e-5


def test_inputs_may_sit_on_all_nodes() -> None:
    model = classifier(vocabulary=9, inputs_on="nodes")
    assert model(torch.randint(0, 9, (2, TREE.num_nodes))).shape == (2, 3)


@pytest.mark.parametrize("mixer", ["myo", "s5", "attention"])
def test_saved_and_loaded_again_it_is_the_same(mixer: str, tmp_path: Path) -> None:
    options = {"sharing": "tied"} if mixer == "myo" else {}
    model = classifier(mixer=mixer, mixer_options=options)
    model.save_pretrained(tmp_path)
    assert sorted(f.name for f in tmp_path.iterdir()) == [
        "README.md",
        "config.json",
        "model.safetensors",
    ]
    again = Classifier.from_pretrained(tmp_path)
    assert again.config == model.config
    x = values()
    assert torch.equal(again(x), model(x))
    assert all(not t.is_complex() for t in load_file(tmp_path / "model.safetensors").values())


def test_a_damaged_folder_is_refused(tmp_path: Path) -> None:
    classifier().save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"colour": "blue"}))
    with pytest.raises(ConfigError, match="there is no 'colour'"):
        Classifier.from_pretrained(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(DataError, match=r"model\.safetensors is missing"):
        Classifier.from_pretrained(tmp_path)


@pytest.mark.parametrize("mixer", ["myo", "chain-myo", "s5", "attention", "window"])
def test_compiles_without_graph_breaks(mixer: str) -> None:
    model = classifier(mixer=mixer, tree=Tree.quadtree(4, 3)).train()  # a tree never used before
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    x, labels = values(), torch.tensor([0, 1, 2, 0])
    gradients = []
    for each in (compiled, model):
        model.zero_grad()
        torch.nn.functional.cross_entropy(each(x), labels).backward()
        gradients.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
    assert relative_error(gradients[1], gradients[0]) < 1e-4


def test_exports_with_a_free_batch_size() -> None:
    model = classifier()
    shapes = {"inputs": {0: torch.export.Dim("batch")}}
    program = torch.export.export(model, (values(2),), dynamic_shapes=shapes)
    x = values(5)
    assert relative_error(program.module()(x), model(x)) < 1e-6


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"channels": None}, "either channels"),
        ({"dim": 0}, "dim is 0"),
        ({"dropout": 1.0}, "below 1"),
        ({"norm": "group"}, "layer, batch"),
        ({"mixer": "mio"}, "closest is 'myo'"),
        ({"mixer_options": {"sharin": "tied"}}, "closest is 'sharing'"),
        ({"tree": None}, "levels and branching"),
        ({"inputs_on": "nodes", "mixer": "s5"}, "works on sequences"),
    ],
)
def test_mistakes_in_the_configuration_are_named(options: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        classifier(**options)


def test_mistakes_in_the_inputs_are_named() -> None:
    with pytest.raises(ShapeError, match=r"expected \(batch, 12, 2\): values at the leaves"):
        classifier()(torch.zeros(1, 11, 2))
    forest = Tree.forest([Tree.star(2), Tree.star(3)])
    with pytest.raises(ShapeError, match="for each leaf of the forest"):
        classifier(mixer="s5")(torch.zeros(1, 4, 2), tree=forest)
    with pytest.raises(ConfigError, match="give one with each call"):
        classifier(tree=None, levels=2, branching=2)(torch.zeros(1, 3, 2))


@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")  # torch's own
def test_the_default_compiler_takes_a_training_step() -> None:
    model = classifier(depth=1, tree=Tree.quadtree(4, 3)).train()
    compiled = torch.compile(model, fullgraph=True)
    x, labels = values(), torch.tensor([0, 1, 2, 0])
    losses = []
    for each in (compiled, model):
        loss = torch.nn.functional.cross_entropy(each(x), labels)
        loss.backward()
        losses.append(loss.detach())
    assert relative_error(losses[0], losses[1]) < 1e-5
