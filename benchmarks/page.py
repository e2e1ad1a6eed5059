"""Measures the first view of the page in chromium: bytes, requests, and the time until it is visible.

Loads the page as a new visitor does, with nothing cached, in turn from `madn serve` and from the files of
`madn export-web` on Python's http.server, both on loopback. Times count from the start of the navigation: to the first
content, to the board with its pieces, and to the moves with their numbers, when the view is complete. Other load on the
machine makes them longer, so the processor times of the page's process (from its start) and of the server are given
too. Needs madn[browser] and chromium. Prints one JSON object.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from hardware import hardware
from playwright.sync_api import sync_playwright
from serve import processor

from madn.web.export import export_page

HERE = Path(__file__).parent  # not the root: madn must come from where it is installed
# Notes the time of the next frame after the board and the moves have appeared: by then they are on the screen.
WATCH = """(() => {
  window.seen = {};
  const note = () => {
    for (const [name, selector] of [["board", "#board .pawn"], ["moves", "#rolls .roll"]]) {
      if (seen[name] || !document.querySelector(selector)) continue;
      seen[name] = -1;
      requestAnimationFrame(() => setTimeout(() => { seen[name] = performance.now(); }));
    }
  };
  new MutationObserver(note).observe(document, { childList: true, subtree: true });
})();"""
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


@contextmanager
def process(*command: str) -> Iterator["subprocess.Popen[str]"]:
    """A server that runs for as long as it is needed."""
    words = [sys.executable, *command]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=HERE) as server:
        try:
            yield server
        finally:
            server.terminate()
            server.wait(30)


def said(server: "subprocess.Popen[str]", end: str) -> str:
    """What a server prints up to this end."""
    assert server.stdout is not None
    text = ""
    while not text.endswith(end):
        line = server.stdout.readline()
        if not line:
            raise SystemExit("the server did not start")
        text += line
    return text


def load(chromium: Any, address: str) -> dict[str, float]:
    """Visit the page for the first time."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB")
    context.add_init_script(WATCH)
    page = context.new_page()
    protocol = context.new_cdp_session(page)
    received: list[int] = []
    protocol.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
    protocol.send("Network.enable")
    protocol.send("Performance.enable")
    page.goto(address)
    page.wait_for_function("() => seen.moves > 0 && seen.board > 0")
    metrics = {one["name"]: one["value"] for one in protocol.send("Performance.getMetrics")["metrics"]}
    found = {
        "requests": len(received),
        "bytes": sum(received),
        "first_content_ms": page.evaluate(PAINT),
        "board_ms": page.evaluate("seen.board"),
        "moves_ms": page.evaluate("seen.moves"),
        "page_cpu_ms": 1000 * metrics["ProcessTime"],
    }
    context.close()
    return found


def figures(loads: list[dict[str, float]]) -> dict[str, object]:
    """The median of each figure, and for the time to the complete view also the smallest and the largest."""
    found: dict[str, object] = {name: round(median(load[name] for load in loads)) for name in loads[0]}
    whole = [round(load["moves_ms"]) for load in loads]
    return found | {"moves_least_ms": min(whole), "moves_most_ms": max(whole)}


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--loads", type=int, default=15, help="loads to take the median of (default 15)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        export_page(f"{folder}/site")
        sending = ("-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", f"{folder}/site")
        with process("-m", "madn", "serve", "--port", "0", "--json") as server, process(*sending) as files:
            addresses = {
                "serve": json.loads(said(server, "\n}\n"))["address"],
                "export": said(files, ") ...\n").partition("(")[2].partition(")")[0],
            }
            chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            version = chromium.version
            for address in addresses.values():
                load(chromium, address)  # warms up the browser and the server
            before = [processor(one.pid) for one in (server, files)]
            rounds = [{name: load(chromium, one) for name, one in addresses.items()} for _ in range(given.loads)]
            used = [processor(one.pid) - begin for one, begin in zip((server, files), before, strict=True)]
            chromium.close()
    report = {
        "benchmark": "page",
        "hardware": hardware(),
        "chromium": version,
        "load_average": [round(value, 1) for value in os.getloadavg()],
        "loads": given.loads,
        **{
            name: {**figures([one[name] for one in rounds]), "server_cpu_ms": round(1000 * cpu / given.loads, 1)}
            for name, cpu in zip(addresses, used, strict=True)
        },
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
