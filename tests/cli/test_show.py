import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from myosotis import cli
from myosotis.cli import show, show_influence
from myosotis.data import load
from myosotis.nn.influence import influence
from myosotis.plot import theme
from myosotis.train import ModelConfig, TrainConfig, create_run, run, saved_model

pytest.importorskip("matplotlib")

NEURON = "1 1 0 0 0 5 -1\n2 3 100 0 0 1 1\n3 3 200 50 0 1 2\n4 3 200 -50 0 1 2\n"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a short run of digits."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    config = TrainConfig(epochs=1, batch_size=256, model=ModelConfig(dim=8, depth=2, heads=3))
    parent = tmp_path_factory.mktemp("runs")
    folder = create_run(config, parent, "a")
    run(folder, show=False)
    yield folder
    torch.set_num_threads(threads)


@pytest.fixture
def myo(monkeypatch, tmp_path):
    """Runs `myo show` in this process, in an empty folder, and returns its exit status."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "cell.swc").write_text(NEURON)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["myo", "show", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_info:
            cli.main()
        return exit_info.value.code or 0

    return call


@pytest.fixture
def figures(monkeypatch):
    """The figures that commands make, which are not written."""
    found = []
    for command in (show, show_influence):
        monkeypatch.setattr(command, "write_picture", lambda figure, out: found.append(figure))
    return found


@pytest.mark.parametrize(
    ("arguments", "dark"),
    [
        (["tree", "quad:4"], False),
        (["tree", "chain:9", "--ranks", "2"], False),
        (["matrix", "perfect:2x2"], True),
        (["patterns"], False),
    ],
)
def test_pictures_are_written_here_or_where_they_should_be(myo, capsys, arguments, dark):
    options = ["--dark", "--out", "mine.svg"] if dark else []
    file = Path("mine.svg" if dark else f"{arguments[0]}.png")
    assert myo(*arguments, *options) == 0
    assert capsys.readouterr().out == f"wrote {file}\n"
    content = file.read_bytes()
    if dark:
        assert b"<svg" in content
        assert theme.THEMES["dark"].background.encode() in content
    else:
        assert content.startswith(b"\x89PNG")


def test_a_run_and_several(myo, capsys, trained, tmp_path):
    assert myo("run", trained) == 0
    assert Path("run.png").read_bytes().startswith(b"\x89PNG")
    assert myo("compare", trained.parent, "--dark") == 0
    assert Path("compare.png").read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out == "wrote run.png\nwrote compare.png\n"


def test_mixers_are_compared_best_first(myo, figures, trained, tmp_path):
    for name, mixer, accuracy in (("b", "s5", 0.25), ("c", "s5", 0.75), ("d", "lstm", 0.125)):
        folder = tmp_path / "several" / name
        shutil.copytree(trained, folder)
        text = (folder / "result.json").read_text()
        text = text.replace('"mixer": "myo",\n  "seed"', f'"mixer": "{mixer}",\n  "seed"')
        start, _, rest = text.partition('"test_accuracy": ')
        (folder / "result.json").write_text(
            f'{start}"test_accuracy": {accuracy}{rest[rest.index(",") :]}'
        )
    assert myo("compare", tmp_path / "several") == 0
    curves, tests = figures[0].axes
    assert [label.get_text() for label in tests.get_yticklabels()] == ["s5", "lstm"]
    assert len(curves.lines) == 3
    assert figures[0].get_suptitle() == "digits: accuracy against time"


def test_influence_of_the_pixels_of_a_run(myo, figures, trained):
    assert myo("influence", trained, "--at", "2,3", "--example", 4, "--block", 2) == 0
    picture, heat = (axes.images[0].get_array() for axes in figures[0].axes[:2])
    task, (model, _) = load("digits"), saved_model(trained)
    assert np.array_equal(picture, task.images("test", [3])[0, ..., 0])
    inputs = next(task.test.batches(4)).inputs[3:]
    order = task.layout.order
    leaf = int(task.tree.leaves[np.flatnonzero(order == 2 * 8 + 3)[0]])
    rows = influence(model, inputs, leaf)[1, 0].numpy()[:, task.tree.leaves]
    mean = (rows / rows.sum(-1, keepdims=True)).mean(0)
    for place, pixel in enumerate(order):
        assert abs(heat[pixel // 8, pixel % 8] - mean[place] / mean.max()) < 1e-5
    assert figures[0].axes[1].get_title() == "block 2, all heads"
    assert figures[0].get_suptitle().endswith("influence on pixel 2,3")


def test_a_map_for_each_block_or_head(myo, figures, trained):
    assert myo("influence", trained, "--each", "block") == 0
    assert myo("influence", trained, "--each", "head", "--block", 1) == 0
    assert myo("influence", trained, "--each", "block", "--block", 2, "--head", 3) == 0
    titles = [[a.get_title() for a in f.axes if a.get_title()] for f in figures]
    assert titles[0] == ["image", "block 1", "block 2"]
    assert titles[1] == ["image", "head 1", "head 2", "head 3"]
    assert titles[2] == ["image", "block 2"]


def test_influence_in_a_saved_model_on_tokens(myo, figures, trained, monkeypatch):
    """A text, as far as the command can tell: the pixels of digits in place of tokens."""
    model, _ = saved_model(trained)
    model.save_pretrained("saved")
    digits = load("digits")
    plain = type(digits)(**{**vars(digits), "layout": None})
    monkeypatch.setattr(show_influence, "load", lambda name, root: plain)
    words = [f"w{n}" for n in range(64)]
    monkeypatch.setattr(show_influence, "token_words", lambda task, tokens, root: words)
    assert myo("influence", "saved", "--task", "digits", "--at", 5) == 0
    assert [text.get_text() for text in figures[0].axes[0].texts] == words
    framed = [patch.get_linewidth() > 0 for patch in figures[0].axes[0].patches]
    assert framed.index(True) == 4
    assert myo("influence", "saved", "--task", "digits", "--each", "head") == 2


@pytest.mark.parametrize(("at", "place"), [("root", (0, 0)), ("1", (0, 0)), ("3", (200, 50))])
def test_influence_in_a_neuron(myo, figures, at, place):
    assert myo("influence", "cell.swc", "--at", at) == 0
    axes = figures[0].axes[0]
    assert len(axes.collections[0].get_segments()) == 3
    (mark,) = [line for line in axes.lines if line.get_marker() == "o"]
    ends = np.array(axes.collections[0].get_segments())  # of the samples' places, turned
    others = {tuple(point) for point in ends.reshape(-1, 2).round(6)}
    centre = np.array([125, 0])
    assert tuple(np.ravel(mark.get_data()).round(6)) in others
    assert np.isclose(np.hypot(*mark.get_data())[0], np.hypot(*(np.array(place) - centre)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tree", "ring:3"], "is no tree: write one like"),
        (["tree", "no.swc"], "cannot read no.swc"),
        (["tree", "star:2", "--ranks", "9"], "too few for 9 ranks"),
        (["tree", "chain:3", "--out", "a.gif"], "ends in .png or .svg"),
        (["tree", "chain:3", "--out", "no/a.png"], "there is no folder"),
        (["matrix", "quad:64"], "5,461 rows cannot be seen"),
        (["run", "nowhere"], "cannot read nowhere"),
        (["compare", "nowhere"], "no finished runs in nowhere"),
        (["influence", "nowhere"], "neither a run of 'myo train' nor a saved model"),
        (["influence", "no.swc"], "cannot read no.swc"),
        (["influence", "cell.swc", "--at", "9"], "one from 1 to 4"),
        (["influence", "cell.swc", "--head", "1"], "neither blocks nor heads"),
        (["influence", "RUN", "--at", "8,8"], "0,0 to 7,7"),
        (["influence", "RUN", "--example", "361"], "test has 360 examples"),
        (["influence", "RUN", "--block", "3"], "there is no block 3: the model has 2"),
        (["influence", "RUN", "--head", "4"], "there is no head 4: the model has 3"),
        (["influence", "BARE"], "has no checkpoints/best"),
        (["run", "BARE"], "finished no epoch"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_line_status_2_and_no_file(
    myo, capsys, trained, tmp_path, arguments, message
):
    bare = tmp_path / "bare"
    bare.mkdir()
    shutil.copy(trained / "config.yaml", bare)
    (bare / "metrics.csv").write_text((trained / "metrics.csv").read_text().splitlines()[0] + "\n")
    folders = {"RUN": trained, "BARE": bare}
    assert myo(*(folders.get(argument, argument) for argument in arguments)) == 2
    printed, errors = capsys.readouterr()
    assert message in errors
    assert errors.count("\n") == 1
    assert printed == ""
    assert {path.name for path in tmp_path.iterdir()} == {"cell.swc", "bare"}


def test_runs_of_several_tasks_are_not_compared(myo, capsys, trained, tmp_path):
    for name in ("digits", "zmnist"):
        shutil.copytree(trained, tmp_path / "several" / name)
    file = tmp_path / "several" / "zmnist" / "result.json"
    file.write_text(
        file.read_text().replace('"task": "digits",\n  "mixer"', '"task": "zmnist",\n  "mixer"')
    )
    assert myo("compare", tmp_path / "several") == 2
    assert "several tasks (digits, zmnist)" in capsys.readouterr().err


def test_other_mixers_have_no_influence(myo, capsys, tmp_path):
    config = TrainConfig(epochs=1, batch_size=512, model=ModelConfig(dim=4, depth=1, mixer="lstm"))
    folder = create_run(config, tmp_path / "runs", "b")
    run(folder, show=False)
    assert myo("influence", folder) == 2
    assert "the mixer 'lstm' solves no system" in capsys.readouterr().err


def test_pictures_need_matplotlib(myo, capsys, monkeypatch):
    monkeypatch.setattr(theme, "find_spec", lambda name: None)
    assert myo("patterns") == 2
    assert "myosotis[plot]" in capsys.readouterr().err
