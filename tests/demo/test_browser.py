"""The page in a browser: Chromium draws, reads what is shown, and is watched for requests."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from myosotis.demo.serve import HOST
from tests.demo.models import small_model

pytest.importorskip("gradio")
playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the path")

PATIENCE = 120  # seconds, on a machine that is busy with other things


@dataclass
class Visit:
    """A page that is open in the browser, and every address it asked for."""

    page: "playwright.Page"
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where `myo demo` serves a small model, in a process of its own."""
    folder = tmp_path_factory.mktemp("demo")
    small_model().save_pretrained(folder / "model")
    with socket.create_server((HOST, 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "myosotis.cli", "demo", str(folder / "model")]
    with (folder / "log.txt").open("w") as log:
        server = subprocess.Popen(
            [*command, "--port", str(port)],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        try:
            _wait_until_it_answers(port, server, folder / "log.txt")
            yield f"http://{HOST}:{port}"
        finally:
            server.terminate()
            server.wait(timeout=PATIENCE)


def _wait_until_it_answers(port: int, server: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and server.poll() is None:
        with socket.socket() as client:
            if client.connect_ex((HOST, port)) == 0:
                return
        time.sleep(0.2)
    pytest.fail(f"the page was not served:\n{log.read_text()}")


@pytest.fixture(scope="module")
def visit(address: str) -> Iterator[Visit]:
    with playwright.sync_playwright() as driver:
        # Containers, and root, have no sandbox; the page is our own.
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        page.set_default_timeout(PATIENCE * 1000)
        found = Visit(page)
        page.on("request", lambda request: found.requests.append(request.url))
        page.goto(address)
        yield found
        browser.close()


def draw_seven(page: "playwright.Page") -> None:
    page.wait_for_selector("#sketch button[aria-label=Brush]")
    page.wait_for_function("!document.querySelector('#sketch').innerText.includes('draw tool')")
    box = page.locator("#sketch canvas").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x - 60, y - 100)
    page.mouse.down()
    page.mouse.move(x + 60, y - 100, steps=6)
    page.mouse.move(x - 10, y + 100, steps=6)
    page.mouse.up()


def test_a_drawn_digit_is_read_explained_and_stepped_through(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    assert "draw a digit" in page.inner_text("#note")
    draw_seven(page)
    page.wait_for_selector("#decision img[alt*='for and against']")
    assert "I think" in page.inner_text("#note")
    assert page.inner_text("#probabilities").count("%") >= 10
    page.wait_for_selector("#levels img[alt^='Step 12 of 12']")
    page.fill("#step input[type=number]", "3")
    page.keyboard.press("Enter")
    page.wait_for_selector("#levels img[alt^='Step 3 of 12: messages go up']")
    page.screenshot(path=tmp_path / "digit.png", full_page=True)
    assert (tmp_path / "digit.png").stat().st_size > 50_000  # more than an empty page


def test_a_tree_is_solved_and_a_mistake_is_told(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    page.get_by_role("tab", name="A tree").click()
    page.wait_for_selector("#matrix-picture img")
    page.fill("#tree textarea", "((a b) c")
    page.click("#solve")
    page.wait_for_selector("#tree-note [role=alert]")
    assert page.inner_text("#tree-note").strip() == "bracket at position 0 needs a ')'"
    assert page.locator("#matrix-picture img").count() == 0
    assert "Traceback" not in page.content()
    page.fill("#tree textarea", "-1, 0, 0, 1, 1")
    page.click("#solve")
    page.wait_for_selector("#tree-note [role=status]")
    page.wait_for_selector("#matrix-picture img")
    page.screenshot(path=tmp_path / "tree.png", full_page=True)
    assert (tmp_path / "tree.png").stat().st_size > 50_000


def test_no_request_leaves_this_machine(visit: Visit) -> None:
    """After all of the above: whatever was asked for came from the server, or from the page."""
    hosts = {urlsplit(url).hostname for url in visit.requests if url.startswith("http")}
    assert hosts == {HOST}
    assert {urlsplit(url).scheme for url in visit.requests} <= {"http", "data", "blob"}
