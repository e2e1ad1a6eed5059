"""What the tests in a real browser share: Debian's chromium, driven by playwright (`pip install 'madn[browser]'`).

Without them these tests are skipped; MADN_NEED_BROWSER=1 makes that a failure. Screenshots of every test go to the
directory MADN_SCREENSHOTS, if that is set. The fixtures are in conftest.py: one browser and one server for all tests.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from madn import Rules

CHROMIUM = shutil.which("chromium")
if os.environ.get("MADN_NEED_BROWSER", "0") in {"", "0"}:
    pytest.importorskip("playwright")
    if CHROMIUM is None:
        pytest.skip("there is no chromium", allow_module_level=True)
from playwright.sync_api import Locator, Page, sync_playwright  # noqa: E402

RULES = Rules(pieces=2)
WIDE, PHONE, LANDSCAPE = ({"width": w, "height": h} for w, h in ((1280, 800), (360, 640), (640, 360)))
MOBILE: dict[str, Any] = {"has_touch": True, "is_mobile": True, "device_scale_factor": 2}
Open = Callable[..., Page]
# The same rolls every time: a game that happens to be short or without a choice would fail a test once in a while.
DICE = """(() => {
  let state = 1;
  crypto.getRandomValues = (numbers) => {
    for (let n = 0; n < numbers.length; n++) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      numbers[n] = numbers.BYTES_PER_ELEMENT > 1 ? state : state >>> 20;
    }
    return numbers;
  };
})();"""


@contextmanager
def served(*args: str) -> Iterator[str]:
    """The address of a server that runs in a process of its own."""
    command = [sys.executable, "-m", "madn", "serve", *args, "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        text = ""
        while not text.endswith("\n}\n"):
            line = process.stdout.readline()
            assert line, "the server has ended"
            text += line
        yield json.loads(text)["address"]
        process.terminate()


@contextmanager
def started() -> Iterator[Any]:
    """The browser."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield chromium
        chromium.close()


def shown(page: Page, board: str) -> None:
    """Wait until the numbers of this board, written as madn does, are on the page."""
    page.wait_for_function("board => document.getElementById('rolls').dataset.board === board", arg=board)


def address_of(page: Page) -> dict[str, str]:
    """What the address says."""
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query, keep_blank_values=True).items()}


def place(page: Page, label: str) -> Locator:
    """A place of the board by the beginning of its name; squares are numbered from red's seat."""
    return page.locator(f'#board [role=button][aria-label^="{label}"]').first


def start_game(page: Page, opponent: str = "fpoc", first: str = "red") -> None:
    """Fill in the form for a new game."""
    if page.get_attribute("#play-tab", "aria-selected") != "true":
        page.click("#play-tab")
    page.check(f"#opponents input[value={opponent}]")
    page.select_option("#first", first)
    page.click("#begin")
    page.wait_for_selector("#running:not([hidden])")


STEPS = """async (steps) => {
  const get = (id) => document.getElementById(id);
  const end = performance.now() + 20000;
  for (let n = 0; n < steps && !document.querySelector(".farewell"); ) {
    const choice = [...get("choices").querySelectorAll(".moves button")].at(-1);
    if (!get("roll").disabled) { get("roll").click(); n++; }
    else if (choice) choice.click();
    if (performance.now() > end) throw new Error(`stuck: ${get("status").textContent} ${get("message").textContent}`);
    await new Promise((done) => setTimeout(done, 2));
  }
}"""


def play_on(page: Page, rolls: int = 10_000) -> None:
    """Press what there is to press, so many rolls or to the end: the die, then the last of the moves."""
    page.evaluate(STEPS, rolls)


def wait_for_choice(page: Page) -> None:
    """Roll until there is something to choose."""
    page.evaluate("""async () => {
      const get = (id) => document.getElementById(id);
      const end = performance.now() + 20000;
      while (!get("choices").querySelector(".moves button")) {
        if (!get("roll").disabled) get("roll").click();
        if (performance.now() > end) throw new Error(`stuck: ${get("status").textContent}`);
        await new Promise((done) => setTimeout(done, 2));
      }
    }""")


def percent(value: float) -> str:
    """A probability as the page writes it."""
    return f"{100 * value:.2f}%"
