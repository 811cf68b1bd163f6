import io
import re

import pytest
from rich.console import Console

from myosotis.train import ModelConfig, TrainConfig, create_run, run, runs
from myosotis.train.progress import ProgressDisplay

CONFIG = TrainConfig(epochs=2, batch_size=256, model=ModelConfig(dim=8, depth=1))


def shown(monkeypatch, tmp_path, config, *, terminal):
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=100)
    monkeypatch.setattr(
        runs, "ProgressDisplay", lambda *arguments: ProgressDisplay(*arguments, console=console)
    )
    monkeypatch.setattr("myosotis.train.progress._REFRESH", 0.0)
    run(create_run(config, tmp_path))
    return text.getvalue()


LINE = r"epoch   \d  loss \d\.\d{3}  validation +\d+\.\d\d%  [\d,]+ samples/s  \d+\.\ds left"


def test_without_a_terminal_there_is_a_plain_line_for_each_epoch(monkeypatch, tmp_path):
    lines = shown(monkeypatch, tmp_path, CONFIG, terminal=False).splitlines()
    assert len(lines) == 2
    assert all(re.fullmatch(LINE, line) for line in lines)
    assert lines[-1].endswith(" 0.0s left")


@pytest.mark.parametrize("budget", [None, 100.0])
def test_in_a_terminal_a_bar_moves(monkeypatch, tmp_path, budget):
    config = TrainConfig(**{**vars(CONFIG), "time_budget": budget})
    text = shown(monkeypatch, tmp_path, config, terminal=True)
    percentages = [int(number) for number in re.findall(r"(\d+) %", text)]
    assert percentages == sorted(percentages)
    assert {10, 50, 90} <= set(percentages)
    assert text.count("validation") == 2


def test_the_bar_is_gone_after_a_failure(monkeypatch, tmp_path):
    stopped = []
    monkeypatch.setattr("rich.progress.Progress.stop", lambda self: stopped.append(True))
    monkeypatch.setattr("myosotis.train.saver.Saver.on_train_batch_end", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run(create_run(CONFIG, tmp_path))
    assert stopped
