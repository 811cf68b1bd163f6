import numpy as np
import pytest

from myosotis.plot import show_samples

pytest.importorskip("matplotlib")


@pytest.mark.parametrize("channels", [1, 3])
def test_every_image_is_drawn_in_its_colour(channels):
    colours = np.array([[200, 40, 40], [40, 200, 40], [40, 40, 200], [90, 90, 90], [10, 20, 30]])
    shades = colours[:, :1] if channels == 1 else colours
    images = np.broadcast_to(shades[:, None, None], (5, 8, 8, channels)).astype(np.uint8)
    figure = show_samples("flat", images, list("abcde"))
    drawn = [axes for axes in figure.axes if axes.images]
    assert [axes.get_title() for axes in drawn] == list("abcde")
    if channels == 1:  # from black to the brightest there is
        shades = (shades * 255 / shades.max()).round().repeat(3, axis=1)
    for axes, shade in zip(drawn, shades, strict=True):
        (image,) = axes.images
        colour = image.to_rgba(image.get_array(), bytes=True)[..., :3]
        assert colour.shape == (8, 8, 3)
        assert np.abs(colour - shade).max() <= 1
