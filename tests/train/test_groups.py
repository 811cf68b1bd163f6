import pytest

from myosotis import Tree
from myosotis.nn import Classifier, ClassifierConfig, mixers
from myosotis.train import OptimiserConfig
from myosotis.train.groups import parameter_groups

CONFIG = OptimiserConfig(lr=0.1, dynamics_lr=0.01, weight_decay=0.5)


def groups_by_name(mixer, config=CONFIG, **options):
    tree = Tree.quadtree(4)
    model = Classifier(
        ClassifierConfig(3, tree, vocabulary=5, dim=8, depth=2, mixer=mixer, mixer_options=options)
    )
    groups = {group["name"]: group for group in parameter_groups(model, config)}
    names = {id(p): name for name, p in model.named_parameters()}
    found = {name: {names[id(p)] for p in group["params"]} for name, group in groups.items()}
    return model, groups, found


@pytest.mark.parametrize("mixer", mixers.available())
def test_every_parameter_is_in_one_group(mixer):
    model, groups, _ = groups_by_name(mixer)
    grouped = [id(p) for group in groups.values() for p in group["params"]]
    assert sorted(grouped) == sorted(id(p) for p in model.parameters())


@pytest.mark.parametrize(
    ("mixer", "endings"),
    [
        ("myo", ("coefficients.tables.coupling", "coefficients.tables.weight")),
        ("s5", ("log_rate", "frequency", "log_step")),
        ("s4d", ("log_rate", "frequency", "log_step")),
    ],
)
def test_dynamics_learn_slowly_and_do_not_decay(mixer, endings):
    _, groups, found = groups_by_name(mixer)
    assert found["dynamics"] == {f"blocks.{b}.mixer.{end}" for b in range(2) for end in endings}
    assert groups["dynamics"]["lr"] == 0.01
    assert groups["dynamics"]["weight_decay"] == 0.0


def test_selective_coefficients_are_dynamics_as_a_whole():
    _, _, found = groups_by_name("myo", selective=True)
    assert "blocks.0.mixer.coefficients.select.weight" in found["dynamics"]


def test_only_matrices_decay():
    _, groups, found = groups_by_name("myo")
    assert groups["matrices"]["weight_decay"] == 0.5
    assert groups["others"]["weight_decay"] == 0.0
    assert groups["matrices"]["lr"] == groups["others"]["lr"] == 0.1
    assert "blocks.0.mixer.project_in.weight" in found["matrices"]
    expected = {"encoder.embed.weight", "encoder.level.weight", "head.bias", "norm.weight"}
    assert expected <= found["others"]


def test_without_their_own_rate_dynamics_learn_like_the_rest():
    _, groups, _ = groups_by_name("myo", OptimiserConfig(lr=0.1, dynamics_lr=None))
    assert groups["dynamics"]["lr"] == 0.1


def test_a_model_without_dynamics_has_no_such_group():
    assert "dynamics" not in groups_by_name("attention")[1]
