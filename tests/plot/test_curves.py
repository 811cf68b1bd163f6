import io

import numpy as np
import pytest

from myosotis.errors import ConfigError
from myosotis.plot import scaling
from myosotis.plot.curves import Contender, draw_comparison, draw_training
from myosotis.train.history import Epoch

image_of = pytest.importorskip("matplotlib.image")


def row(epoch, accuracy):
    return Epoch(epoch, epoch, 1.0, 0.5, 2.0, accuracy, 1e-3, float(epoch), 100.0)


def pixels(png, colour):
    """How many pixels of the picture have nearly this colour."""
    drawn = image_of.imread(io.BytesIO(png))[..., :3] * 255
    return int((np.abs(drawn - np.array(colour)).max(axis=-1) < 12).sum())


BLUE, RED = (0x2C, 0x6F, 0xBB), (0xC8, 0x55, 0x3D)


@pytest.mark.parametrize("epochs", [1, 5])
def test_a_run_has_a_line_for_each_split(epochs):
    png = draw_training("a run", [row(n, n / 10) for n in range(1, epochs + 1)])
    assert pixels(png, BLUE) > 50
    assert pixels(png, RED) > 50


def test_a_comparison_has_a_colour_for_each_mixer():
    one = {"myo": Contender([[row(1, 0.5), row(2, 0.6)]], [0.6])}
    two = {**one, "s5": Contender([[row(1, 0.4)], [row(1, 0.3), row(2, 0.4)]], [0.4, 0.5])}
    assert pixels(draw_comparison("one", one), RED) == 0
    assert pixels(draw_comparison("two", two), RED) > 50


def test_pictures_need_matplotlib(monkeypatch):
    monkeypatch.setattr(scaling, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="myosotis\\[plot\\]"):
        draw_training("a run", [row(1, 0.5)])
