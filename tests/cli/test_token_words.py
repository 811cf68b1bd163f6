from dataclasses import replace

import pytest

from myosotis.cli.token_words import token_words
from myosotis.data import load
from myosotis.data.listops import tokenize
from myosotis.data.published import SST
from myosotis.data.source import Source


def named(name, vocabulary=0):
    return replace(load("digits"), name=name, vocabulary=vocabulary)


def test_bytes_are_letters():
    tokens = list("Gr\u00fcn!".encode())
    assert token_words(named("imdb"), tokens, None) == ["G", "r", "\ufffd", "\ufffd", "n", "!"]


@pytest.mark.parametrize("name", ["listops", "listops-chain", "listops-tree"])
def test_expressions_are_read_back(name):
    text = "[MAX 2 9 [MIN 4 7 ] 0 ]"
    assert token_words(named(name), tokenize(text).tolist(), None) == text.split()


@pytest.mark.parametrize("name", ["sst", "sst-binary"])
def test_words_of_the_treebank(name, monkeypatch, tmp_path):
    bank = b"(3 (2 It) (4 (2 's) (4 good)))\n(1 No)\n"
    path = tmp_path / "sst" / SST.files[0].path
    path.parent.mkdir(parents=True)
    path.touch()
    monkeypatch.setattr(Source, "read", lambda source, file, root: bank)
    task = named(name, vocabulary=2 + 4)  # 's, It, No, good, after "none" and "unknown"
    words = token_words(task, [3, 2, 5, 1], tmp_path)
    assert words == ["It", "'s", "good", "‹unknown›"]


def test_other_tokens_are_numbers():
    assert token_words(named("mine"), [3, 14], None) == ["3", "14"]
