from dataclasses import replace

import pytest

from myosotis.errors import DataError
from myosotis.train.history import (
    Epoch,
    best_epoch,
    format_history,
    mean_speed,
    read_history,
)


def row(epoch, accuracy):
    return Epoch(epoch, 10 * epoch, 1 / 3, 0.5, 2 / 3, accuracy, 1e-3, 0.1 + epoch, 1234.5)


def test_a_table_is_read_back_to_the_last_bit(tmp_path):
    rows = [row(1, 1 / 7), row(2, 1.0)]
    (tmp_path / "metrics.csv").write_text(format_history(rows))
    assert read_history(tmp_path / "metrics.csv") == rows


@pytest.mark.parametrize("text", [None, "epoch,step\n1,2\n", format_history([]) + "a,b\n"])
def test_a_damaged_table(tmp_path, text):
    if text is not None:
        (tmp_path / "metrics.csv").write_text(text)
    with pytest.raises(DataError, match=r"cannot read .*metrics\.csv"):
        read_history(tmp_path / "metrics.csv")


def test_the_first_of_the_best_counts():
    assert best_epoch([row(1, 0.2), row(2, 0.6), row(3, 0.6), row(4, 0.5)]).epoch == 2


def test_the_mean_speed_counts_an_incomplete_epoch_for_what_it_is():
    rows = [row(1, 0.1), replace(row(2, 0.1), step=11, samples_per_second=123.45)]
    batch, seconds = 64, 10 * 64 / 1234.5 + 64 / 123.45
    assert mean_speed(rows) == pytest.approx(11 * batch / seconds)
