import numpy as np
import pytest

from myosotis.plot.samples import draw_samples

image_of = pytest.importorskip("matplotlib.image")


@pytest.mark.parametrize("channels", [1, 3])
def test_every_image_is_drawn_in_its_colour(tmp_path, channels):
    colours = np.array([[200, 40, 40], [40, 200, 40], [40, 40, 200], [90, 90, 90], [10, 20, 30]])
    shades = colours[:, :1] if channels == 1 else colours
    images = np.broadcast_to(shades[:, None, None], (5, 8, 8, channels)).astype(np.uint8)
    draw_samples("flat", images, list("abcde"), tmp_path / "flat.png")
    drawn = (image_of.imread(tmp_path / "flat.png")[..., :3] * 255).round().astype(int)
    if channels == 1:  # from black to the brightest there is
        shades = (shades * 255 / shades.max()).round().astype(int).repeat(3, axis=1)
    for shade in shades:
        assert (np.abs(drawn - shade).max(axis=-1) <= 1).sum() > 1000
