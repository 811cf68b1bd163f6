import numpy as np
import pytest

from myosotis.data import load
from myosotis.data.imdb import pack_texts, read_reviews
from myosotis.errors import DataError


def test_texts_are_cut_or_filled_up():
    tokens, lengths = pack_texts([b"a", b"", b"abcdef", b"xyz"], 3)
    assert lengths.tolist() == [1, 0, 3, 3]
    assert [row.tobytes() for row in tokens] == [b"a\0\0", b"\0\0\0", b"abc", b"xyz"]


def test_reviews_are_read_in_the_order_of_their_numbers(tmp_path):
    for name, text in {"2_7.txt": "b", "10_8.txt": "c", "1_9.txt": "a", "README": "no"}.items():
        (tmp_path / name).write_text(text)
    assert read_reviews(tmp_path) == [b"a", b"b", b"c"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"3_1\.txt is empty"),
        (b"a\x00b", r"3_1\.txt is no text"),
        (bytes(2**16 + 1), r"3_1\.txt is too long"),
    ],
)
def test_what_is_no_review_is_named(tmp_path, content, message):
    (tmp_path / "3_1.txt").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_reviews(tmp_path)


def test_a_folder_that_is_none(tmp_path):
    (tmp_path / "neg").write_text("a file")
    with pytest.raises(DataError, match="neg cannot be read"):
        read_reviews(tmp_path / "neg")


def test_two_reviews_of_one_number(tmp_path):
    for name in ("3_1.txt", "3_2.txt"):
        (tmp_path / name).write_text("a")
    with pytest.raises(DataError, match="two reviews of one number"):
        read_reviews(tmp_path)


def test_a_missing_review_is_noticed(tmp_path):
    for part in ("train/neg", "train/pos", "test/neg", "test/pos"):
        folder = tmp_path / "aclImdb" / part
        folder.mkdir(parents=True)
        (folder / "0_1.txt").write_text("short")
    with pytest.raises(DataError, match=r"neg is not what was published: it holds 5 bytes"):
        load("imdb", tmp_path)


@pytest.mark.dataset("imdb")
def test_the_published_reviews(data_root):
    task = load("imdb", data_root)
    assert [len(task.split(s)) for s in ("train", "validation", "test")] == [22_500, 2_500, 25_000]
    assert task.tree.num_leaves == 4096
    assert np.bincount(task.test.labels).tolist() == [12_500, 12_500]
    both = np.concatenate([task.train.labels, task.validation.labels])
    assert np.bincount(both).tolist() == [12_500, 12_500]
    folder = data_root / "aclImdb" / "test"
    for label, part, first in ((0, "neg", 0), (1, "pos", 12_500)):
        batch = next(task.test.batches(12_500 + 3)) if label else next(task.test.batches(3))
        for number in range(3):
            (path,) = (folder / part).glob(f"{number}_*.txt")
            text = path.read_bytes()[:4096]
            row = first + number
            assert batch.labels[row] == label
            assert bytes(batch.inputs[row][batch.mask[row]].tolist()) == text
            assert not batch.inputs[row][~batch.mask[row]].any()
    assert task.test.lengths.max() == 4096
