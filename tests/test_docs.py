"""README and docs hold what they promise: code runs, commands exist, links lead somewhere."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import typer.main

from myosotis.cli import _build_app

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("**/*.md"))]
IMAGES = sorted((ROOT / "docs" / "img").iterdir())
LARGEST_IMAGE = 150_000  # bytes

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE_COMMAND = re.compile(r"`(myo [^`]+)`")
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
PLACEHOLDER = re.compile(r"\b[A-Z]{2,}\b|…")  # `myo eval RUN` names a thing, not a file

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def blocks(page: Path, language: str) -> Iterator[tuple[int, str]]:
    """The fenced blocks in a language, each with the number of lines before its first."""
    text = page.read_text(encoding="utf-8")
    for block in FENCE.finditer(text):
        if block.group(1) == language:
            yield text.count("\n", 0, block.start(2)), block.group(2)


def code_of(page: Path) -> str:
    """The blocks of a page, each on the lines that it has there, so that errors point to them."""
    lines = [""] * page.read_text(encoding="utf-8").count("\n")
    for first, block in blocks(page, "python"):
        code = block.splitlines()
        lines[first : first + len(code)] = code
    return "\n".join(lines)


@every_page
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(code_of(page), page, "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("name", ["README.md", "docs/quickstart.md", "docs/howto/solver.md"])
def test_pages_that_teach_have_python_blocks(name: str) -> None:
    assert len(list(blocks(ROOT / name, "python"))) >= 2


def shell_commands(page: Path) -> Iterator[list[str]]:
    """The words of each command of the page's shell blocks."""
    for _, block in blocks(page, "bash"):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            while "&&" in words:
                end = words.index("&&")
                yield words[:end]
                words = words[end + 1 :]
            if words:
                yield words


def mentioned_commands(page: Path) -> Iterator[list[str]]:
    """The words of each `myo …` in the page's text that has no placeholder."""
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    for command in INLINE_COMMAND.findall(prose):
        if not PLACEHOLDER.search(command):
            yield shlex.split(command)


@cache
def program() -> Any:
    return typer.main.get_command(_build_app())


def check_myo(arguments: list[str], *, mentioned: bool = False) -> None:
    """Parse arguments as `myo` itself would, and run nothing; a mention may leave them all out."""
    command, name = program(), "myo"
    while arguments and hasattr(command, "commands"):
        if arguments[0] not in command.commands:
            raise ValueError(f"no such command as {arguments[0]}")
        name, *arguments = arguments
        command = command.commands[name]
    if arguments or not mentioned:
        command.make_context(name, list(arguments))


@every_page
def test_commands_exist(page: Path) -> None:
    for words in mentioned_commands(page):
        check_myo(words[1:], mentioned=True)
    for first, *others in shell_commands(page):
        if Path(first).name == "myo":
            check_myo(others)
        elif first == "python" and others[0].endswith(".py"):
            assert (ROOT / others[0]).is_file(), others[0]


@pytest.mark.parametrize("line", ["train --epoch 3", "trian digits", "show tree", "eval a b"])
def test_a_wrong_command_is_noticed(line: str) -> None:
    with pytest.raises(Exception, match=r"(?i)no such|missing|unexpected"):
        check_myo(line.split())


@every_page
def test_links_to_files_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: image.name)
def test_pictures_are_small_and_shown(image: Path) -> None:
    assert image.stat().st_size < LARGEST_IMAGE
    assert any(f"img/{image.name}" in page.read_text(encoding="utf-8") for page in PAGES)


class Fetched(HTMLParser):
    """The addresses that a browser fetches to show a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        address = given.get("href") if tag == "link" else given.get("src")
        if address and given.get("rel") != "canonical":
            self.addresses.append(address)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="the extra docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_has_every_page(site: Path) -> None:
    for page in PAGES[1:]:
        assert (site / page.relative_to(ROOT / "docs").with_suffix(".html")).is_file(), page


def test_the_site_fetches_nothing_from_elsewhere(site: Path) -> None:
    for page in site.glob("**/*.html"):
        reader = Fetched()
        reader.feed(page.read_text(encoding="utf-8"))
        assert reader.addresses
        outside = [a for a in reader.addresses if a.startswith(("http:", "https:", "//"))]
        assert not outside, f"{page.name}: {outside}"


@pytest.mark.parametrize(
    ("page", "anchor"),
    [
        ("api/tree.html", "myosotis.Tree.quadtree"),
        ("api/tree.html", "myosotis.Tree.post_order"),
        ("api/solver.html", "myosotis.tree_solve"),
        ("api/nn.html", "myosotis.nn.Myo"),
        ("api/nn.html", "myosotis.nn.mixers.S5"),
        ("api/train.html", "myosotis.data.load"),
        ("api/errors.html", "myosotis.errors.TreeError"),
    ],
)
def test_the_reference_has_what_it_should(site: Path, page: str, anchor: str) -> None:
    assert f'id="{anchor}"' in (site / page).read_text(encoding="utf-8")
