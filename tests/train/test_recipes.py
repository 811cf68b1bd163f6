import pytest

from myosotis.data import available
from myosotis.errors import ConfigError
from myosotis.nn import mixers
from myosotis.train import TrainConfig
from myosotis.train.recipes import (
    available_recipes,
    dump_config,
    load_config,
    resolve_config,
    with_mixer,
)


@pytest.mark.parametrize("name", available_recipes())
def test_every_recipe_is_sound(name):
    config = resolve_config(recipe=name)
    assert config.task == name.split("/")[1]
    assert config.task in available()
    assert config.model.mixer in mixers.available()


def test_both_sizes_exist_for_each_of_the_published_results():
    for task in ("zcifar", "listops", "pathfinder", "pathx"):
        assert {f"cpu/{task}", f"paper/{task}"} <= set(available_recipes())


def test_a_dumped_configuration_is_read_back(tmp_path):
    config = resolve_config("zcifar", assignments=["optimiser.lr=1e-3", "model.heads=null"])
    (tmp_path / "config.yaml").write_text(dump_config(config), encoding="utf-8")
    assert load_config(tmp_path / "config.yaml") == config


@pytest.mark.parametrize(
    ("text", "value"), [("1e-3", 1e-3), ("1.5e2", 150.0), ("2", 2.0), (".5", 0.5), ("-0", 0.0)]
)
def test_numbers_are_read_as_people_write_them(text, value):
    assert resolve_config(assignments=[f"checkpoint_every={text}"]).checkpoint_every == value


def test_what_comes_later_wins(tmp_path):
    recipe = tmp_path / "my.yaml"
    recipe.write_text("task: zmnist\nepochs: 5\nseed: 1\nbatch_size: 16\n")
    config = resolve_config(
        recipe=str(recipe), changes={"epochs": 6, "seed": 2}, assignments=["seed=3"]
    )
    assert (config.task, config.epochs, config.seed, config.batch_size) == ("zmnist", 6, 3, 16)
    assert resolve_config("digits", recipe=str(recipe)).task == "digits"


def test_a_task_without_a_recipe_has_the_defaults():
    assert resolve_config("no-such-task") == TrainConfig(task="no-such-task")


def test_another_mixer_does_not_inherit_what_was_meant_for_the_first():
    of_myo = {"heads": 32, "mixer_options": {"sharing": "tied"}, "climb_after": [2], "shifts": [1]}
    settings = {"model": {**of_myo, "dim": 8}}
    assert with_mixer(settings, "myo")["model"] == {**settings["model"], "mixer": "myo"}
    assert with_mixer(settings, "s5")["model"] == {"dim": 8, "mixer": "s5"}
    assert with_mixer({}, "s5") == {"model": {"mixer": "s5"}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot read"),
        ("epochs: [", "is no YAML"),
        ("- epochs", "a recipe has settings by name"),
        ("epoch: 3", "did you mean 'epochs'?"),
    ],
)
def test_a_mistake_in_a_file_names_the_file(tmp_path, text, message):
    file = tmp_path / "my.yaml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ConfigError, match=message) as raised:
        resolve_config(recipe=str(file), assignments=["seed=3"])
    assert str(file) in str(raised.value)


@pytest.mark.parametrize("assignment", ["epochs", "=3", "epochs=[", "epochs=many", "epoch=3"])
def test_a_mistake_in_an_assignment_names_it(assignment):
    with pytest.raises(ConfigError, match="--set"):
        resolve_config(assignments=[assignment])
