import pytest

from myosotis.errors import ConfigError
from myosotis.train import ModelConfig, OptimiserConfig, TrainConfig
from myosotis.train.settings import from_settings, set_value, to_settings


def read(settings):
    return from_settings(TrainConfig, settings, "my.yaml")


def test_settings_survive_the_way_there_and_back():
    config = TrainConfig(
        task="zmnist",
        model=ModelConfig(mixer="s5", mixer_options={"blocks": 2}, heads=None, shifts=(1, 2)),
        optimiser=OptimiserConfig(dynamics_lr=None, clip=None),
        time_budget=90.0,
    )
    assert read(to_settings(config)) == config


def test_what_is_not_given_keeps_its_default():
    config = read({"model": {"dim": 8}})
    assert config == TrainConfig(model=ModelConfig(dim=8))


def test_values_take_their_declared_type():
    config = read({"optimiser": {"lr": 1, "clip": None}, "time_budget": "30m"})
    assert config.optimiser.lr == 1.0
    assert isinstance(config.optimiser.lr, float)
    assert config.optimiser.clip is None
    assert config.time_budget == 1800.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epoch": 3}, "there is no 'epoch'; did you mean 'epochs'?"),
        ({"model": {"mixr": "s5"}}, "there is no 'model.mixr'; did you mean 'model.mixer'?"),
        ({"qqq": 3}, "there is no 'qqq'; there are task, model, optimiser"),
        ({3: 3}, "there is no '3'"),
        ({"epochs": "3"}, "epochs is '3'; it must be a whole number"),
        ({"epochs": 3.5}, "epochs is 3.5; it must be a whole number"),
        ({"epochs": True}, "epochs is True; it must be a whole number"),
        ({"epochs": None}, "epochs is None; it must be a whole number"),
        ({"deterministic": 1}, "deterministic is 1; it must be true or false"),
        ({"early_stopping": "a"}, "early_stopping is 'a'; it must be a whole number or null"),
        ({"optimiser": {"lr": False}}, "optimiser.lr is False; it must be a number"),
        ({"model": {"norm": "group"}}, "model.norm is 'group'; it must be one of layer, batch"),
        ({"model": {"mixer_options": 3}}, "model.mixer_options is 3; it must be options by name"),
        ({"model": {"shifts": 3}}, "model.shifts is 3; it must be a list"),
        ({"model": {"shifts": [0, "x"]}}, "model.shifts.1 is 'x'; it must be a whole number"),
        ({"model": 3}, "'model' has settings by name, not 3"),
        ({"time_budget": "soon"}, "time_budget: 'soon' is no length of time"),
        ({"epochs": 0}, "epochs is 0; it must be at least 1"),
        ({"growing_epochs": -1}, "growing_epochs is -1; it must be at least 0"),
        ({"seed": -1}, "seed is -1"),
        ({"time_budget": -1}, "time_budget: -1 is no length of time"),
        ({"checkpoint_every": -1}, "checkpoint_every is -1"),
        ({"optimiser": {"lr": 0}}, "optimiser.lr is 0.0; it must be positive"),
        ({"optimiser": {"weight_decay": -1}}, "optimiser.weight_decay is -1.0"),
        ({"optimiser": {"warmup": 1}}, "optimiser.warmup is 1.0; it must be at least 0 and below"),
    ],
)
def test_a_mistake_names_file_and_setting(settings, message):
    with pytest.raises(ConfigError) as raised:
        read(settings)
    assert str(raised.value).startswith("my.yaml: ")
    assert message in str(raised.value)


def test_a_budget_given_in_python_is_checked_too():
    with pytest.raises(ConfigError, match="time_budget is 0"):
        TrainConfig(time_budget=0)


def test_set_value_makes_the_groups_it_needs():
    settings = {}
    set_value(settings, "model.mixer_options.blocks", 2)
    assert settings == {"model": {"mixer_options": {"blocks": 2}}}
    with pytest.raises(ConfigError, match="'task' is a plain value"):
        set_value({"task": "digits"}, "task.name", 1)
