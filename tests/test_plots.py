"""Pictures: each can be drawn, is described, and is the same bytes every time."""

from pathlib import Path

import pytest

from madn.cli import main
from madn.plots import PICTURES

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_can_be_drawn_and_stays_the_same(name: str, tmp_path: Path) -> None:
    for suffix in ("svg", "png"):  # in one test: what a picture shows is computed once for a process
        first, second = tmp_path / f"first.{suffix}", tmp_path / f"second.{suffix}"
        assert main(["plot", name, "--out", str(first)]) == 0
        assert main(["plot", name, "--out", str(second)]) == 0
        assert first.read_bytes() == second.read_bytes()
        assert len(first.read_bytes()) > 1000


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_is_in_the_documents_with_a_caption(name: str) -> None:
    page = (ROOT / "docs" / "plots.md").read_text(encoding="utf-8")
    assert f"| `{name}` | {PICTURES[name][1]} |" in page
    picture = page.split(f"](plots/{name}.svg)", 1)[1].lstrip()
    assert picture.startswith("*"), f"no caption below {name}"
    assert (ROOT / "docs" / "plots" / f"{name}.svg").stat().st_size < 600_000


@pytest.mark.parametrize("out", ["picture.jpg", "nowhere/picture.svg"])
def test_a_file_that_cannot_be_written_is_refused(
    out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plot", "positions", "--out", out]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
