"""Pathfinder images: what is in them, and that nothing simple gives the label away."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy import ndimage
from scipy.sparse.csgraph import connected_components

from myosotis.data import load, pathfinder
from myosotis.data.layout import ImageLayout
from myosotis.data.pathfinder import Images, generate, pathfinder_task
from myosotis.data.pathfinder_scene_kernels import place_scene
from myosotis.data.pathfinder_settings import PATHFINDER, PATHX, Settings
from myosotis.data.random_kernels import open_stream
from myosotis.tree import Tree

SETTINGS = pytest.mark.parametrize("settings", [PATHFINDER, PATHX], ids=["pathfinder", "pathx"])


def scene(number: int, settings: Settings) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Dashes (number, start or end, yx), markers (2, yx) and label."""
    most = 2 * settings.contour_dashes + settings.distractors * settings.distractor_dashes
    dashes, markers = np.full((most, 4), np.nan), np.empty((2, 2))
    count, label = place_scene(open_stream(3, number), settings, dashes, markers)
    return dashes[:count].reshape(-1, 2, 2), markers, label


def distances(dashes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distance of every two dashes, by brute force over many points of each."""
    share = np.linspace(0, 1, 41)[:, None]
    points = dashes[:, :1] * (1 - share) + dashes[:, 1:] * share  # (dashes, points, 2)
    ends = points[:, None, :, None] - points[None, :, None]
    return np.sqrt(np.square(ends).sum(-1).min(axis=(2, 3)))


@SETTINGS
@pytest.mark.parametrize("number", range(8))
def test_scenes_are_what_they_should_be(settings: Settings, number: int) -> None:
    dashes, markers, label = scene(number, settings)
    between = distances(dashes)
    for margin in range(settings.least_margin, settings.most_margin + 1):
        linked = between <= 2 * margin + 1e-9
        _, contour = connected_components(linked, directed=False)
        is_clear = between >= 2 * margin + settings.thickness - 1e-9
        if (linked | is_clear).all() and linked.sum() > 2 * len(dashes):
            break
    else:
        pytest.fail("dashes are neither neighbours on a contour nor clear of each other")
    sizes = sorted(np.bincount(contour).tolist(), reverse=True)
    assert sizes[:2] == [settings.contour_dashes] * 2
    assert set(sizes[2:]) <= {settings.distractor_dashes}
    lengths = np.linalg.norm(dashes[:, 1] - dashes[:, 0], axis=1)
    np.testing.assert_allclose(lengths, settings.dash_length)
    low = settings.padding + margin
    assert dashes.min() >= low
    assert dashes.max() <= settings.size - low
    marked = [np.abs(dashes - marker).sum(-1).min(axis=1).argmin() for marker in markers]
    ends = [linked[dash].sum() == 2 for dash in marked]  # itself and one neighbour
    assert ends == [True, True]
    assert (contour[marked[0]] == contour[marked[1]]) == label
    assert sizes[0] == (contour == contour[marked[0]]).sum()


@SETTINGS
def test_contours_bend_within_the_limit_and_use_it(settings: Settings) -> None:
    bends = []
    for number in range(10):
        dashes, _, _ = scene(number, settings)
        steps = (dashes[:, 1] - dashes[:, 0]) @ np.array([1j, 1])
        long = steps[: 2 * settings.contour_dashes].reshape(-1, 2)
        bends += np.angle(long[1:] / long[:-1]).reshape(-1).tolist()
    limit = np.pi / 2 / settings.continuity
    assert 0.5 * limit < np.abs(bends).max() <= limit + 1e-9
    assert abs(np.mean(bends)) < 0.15 * limit


@SETTINGS
def test_markers_are_the_two_brightest_things(settings: Settings) -> None:
    images = generate(0, 100, seed=1, settings=settings)
    brightest_dash = 255 * settings.contrast * min(settings.thickness, 1)
    for image, markers in zip(images.pixels, images.markers, strict=True):
        labels, count = ndimage.label(image > max(brightest_dash, 200) + 10)
        assert count == 2
        for place in markers.astype(int):
            assert labels[tuple(place)] > 0
            assert image[tuple(place)] >= 250
    assert np.median(images.pixels) == 0


@pytest.fixture(scope="module")
def many() -> Images:
    return generate(0, 4000, seed=2)


def test_classes_are_balanced(many: Images) -> None:
    assert abs(many.labels.mean() - 0.5) < 4 * 0.5 / len(many.labels) ** 0.5


def statistics(images: Images) -> dict[str, NDArray[np.float64]]:
    pixels = images.pixels.reshape(len(images.pixels), -1)
    first, second = images.markers[:, 0], images.markers[:, 1]
    centre = images.pixels.shape[1] / 2
    return {
        "mean": pixels.mean(axis=1),
        "lit pixels": (pixels > 0).sum(axis=1),
        "spread": pixels.std(axis=1),
        "marker distance": np.linalg.norm(first - second, axis=1),
        "first marker from centre": np.linalg.norm(first - centre, axis=1),
        "second marker from centre": np.linalg.norm(second - centre, axis=1),
        "middle from centre": np.linalg.norm((first + second) / 2 - centre, axis=1),
    }


@pytest.mark.parametrize("name", list(statistics(Images(*np.zeros((3, 1, 2, 2))))))
def test_no_simple_statistic_separates_the_classes(many: Images, name: str) -> None:
    values = statistics(many)[name]
    half = len(values) // 2
    edges = np.quantile(values[:half], np.linspace(0, 1, 17)[1:-1])
    bins = np.digitize(values, edges)
    share = [many.labels[:half][bins[:half] == b].mean() for b in range(16)]
    guess = np.array(share)[bins[half:]] > 0.5
    assert np.mean(guess == many.labels[half:]) < 0.55


def test_logistic_regression_on_pixels_does_not_separate_the_classes(many: Images) -> None:
    pixels = torch.from_numpy(many.pixels.reshape(len(many.pixels), -1)).float() / 255
    labels = torch.from_numpy(many.labels).float()
    weight = torch.zeros(pixels.shape[1] + 1, requires_grad=True)
    half = len(labels) // 2

    def scores(rows: slice) -> torch.Tensor:
        return pixels[rows] @ weight[1:] + weight[0]

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        error = torch.nn.functional.binary_cross_entropy_with_logits(
            scores(slice(half)), labels[:half]
        )
        total = error + 0.01 * weight.square().sum()
        total.backward()
        return total

    optimiser = torch.optim.LBFGS([weight], max_iter=60)
    optimiser.step(loss)
    correct = (scores(slice(half, None)) > 0) == labels[half:].bool()
    assert correct.float().mean() < 0.55


def test_an_image_depends_on_seed_and_number_alone(many: Images) -> None:
    again = generate(100, 130, seed=2)
    np.testing.assert_array_equal(again.pixels, many.pixels[100:130])
    np.testing.assert_array_equal(again.labels, many.labels[100:130])
    assert (generate(100, 130, seed=3).pixels != again.pixels).any(axis=(1, 2)).all()


@pytest.mark.parametrize("layout", [ImageLayout.snake(32, 32), ImageLayout.morton(32, 32)])
def test_task(tmp_path: Path, layout: ImageLayout) -> None:
    task = pathfinder_task("pathfinder", tmp_path, PATHFINDER, layout, 100)
    assert [len(task.split(name)) for name in ("train", "validation", "test")] == [80, 10, 10]
    assert task.tree == Tree.quadtree(32)
    assert (task.channels, task.num_classes) == (1, 2)
    images = generate(0, 100)
    np.testing.assert_array_equal(task.images("test", range(10))[..., 0], images.pixels[90:])
    np.testing.assert_array_equal(task.train.labels, images.labels[:80])
    inputs = next(task.train.batches(80)).inputs
    assert abs(float(inputs.mean())) < 1e-4
    assert abs(float(inputs.std()) - 1) < 1e-3


@pytest.mark.parametrize(
    ("name", "leaves", "second_row"),
    [("pathfinder", 1024, 32 + 31), ("zpathfinder", 1024, 128), ("pathx", 16384, 128 + 127)],
)
def test_registered_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, leaves: int, second_row: int
) -> None:
    monkeypatch.setattr(pathfinder, "COUNT", 20)
    task = load(name, tmp_path)
    assert task.name == name
    assert task.tree is not None
    assert task.tree.num_leaves == leaves
    assert task.layout is not None
    size = int(leaves**0.5)
    assert task.layout.order[size] == second_row
    assert task.provenance.counts == {"train": 16, "validation": 2, "test": 2}
    assert all((tmp_path / file.path).exists() for file in task.provenance.files)


GENERATE = """
import sys
from pathlib import Path
from myosotis.data.layout import ImageLayout
from myosotis.data.pathfinder import pathfinder_task
from myosotis.data.pathfinder_settings import PATHFINDER

pathfinder_task("p", Path(sys.argv[1]), PATHFINDER, ImageLayout.snake(32, 32), 500, workers=1)
"""


def test_a_killed_run_ends_with_the_same_bytes(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", GENERATE, str(tmp_path / "killed")])
    labels = tmp_path / "killed" / "p" / "generated-v1-seed0-500.partial" / "labels.npy"
    deadline = time.monotonic() + 60
    while not (labels.exists() and labels.stat().st_size > 128) and time.monotonic() < deadline:
        time.sleep(0.005)
    process.kill()
    process.wait()
    assert labels.exists(), "the run ended before it could be killed"
    done = labels.stat().st_size - 128
    assert 0 < done < 500
    layout = ImageLayout.snake(32, 32)
    resumed = pathfinder_task("p", tmp_path / "killed", PATHFINDER, layout, 500)
    whole = pathfinder_task("p", tmp_path / "whole", PATHFINDER, layout, 500, workers=3)
    assert resumed.provenance.files == whole.provenance.files
