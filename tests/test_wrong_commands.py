"""A command that does not fit the work that is there is refused, changes nothing, and says which command goes on."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from disk import StoppedError
from test_store import TINY, Noise

from madn import Rules, machine
from madn.cli import main
from madn.errors import OutputError
from madn.solving import prepare, solve
from madn.store import verify_database, workplace, write_database
from madn.store.blocks import FIXED32
from madn.store.encoders import ValueEncoder
from madn.store.writer import Databases, DatabaseWriter, open_writer

GAME = "--pieces 2 --squares 10"


def tree(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in sorted(directory.rglob("*"))}


def blocks(directory: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(directory.glob("values-*"))]


def stop(fraction: float, text: str) -> None:
    if fraction > 0.7:
        raise StoppedError


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a solve that was stopped."""
    monkeypatch.chdir(tmp_path)
    write_database("other", Noise(TINY), {})
    places: dict[str, Any] = {name: name for name in ("out", "policy", "scratch")}
    with pytest.raises(StoppedError):
        solve(Rules(2, 10), **places, progress=stop)
    assert (tmp_path / ".out.madn-part" / "values-0000.madn").stat().st_size
    return tmp_path


RIGHT = f"solve {GAME} --out out --policy policy --scratch scratch"


@pytest.mark.parametrize(
    "wrong",
    [
        RIGHT,
        f"{RIGHT} --resume --bits 16",
        f"{RIGHT} --resume --tolerance 1e-9",
        f"{RIGHT} --resume --for 3,10/0",
        f"solve {GAME} --policy policy --scratch scratch --resume",
        f"solve {GAME} --out out --scratch scratch --resume",
        f"solve {GAME} --out out --scratch scratch --census --resume",
        f"solve {GAME} --out elsewhere --policy policy --scratch scratch --resume",
        "solve --pieces 2 --squares 12 --out out --policy policy --scratch scratch --resume",
        f"solve {GAME} --out out",
        "solve --pieces 1 --squares 8 --out out",
        "solve --pieces 1 --squares 8 --out policy",
        f"solve {GAME} --bits 16 --out out --scratch fresh",
        "solve --pieces 2 --squares 12 --out fresh --policy policy --scratch fresh-scratch",
        "compress other out",
        "compress other policy --store policy",
        "cantstop --sides 2 --shortest 2 --to-win 2 --out out",
    ],
)
def test_a_wrong_command_changes_nothing(wrong: str, begun: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = tree(begun)
    assert main(wrong.split()) == 2
    out, err = capsys.readouterr()
    message = err.splitlines()[-1]
    assert out == ""
    assert tree(begun) == before
    assert "to start over, remove that directory" in message
    command = re.search("`(.*?)` resumes it", message)
    assert command, message
    words = shlex.split(command[1])
    assert words[0] == "madn"
    assert main(words[1:]) == 0
    solve(Rules(2, 10), "plain", policy="plain-policy", scratch="plain-scratch")
    assert blocks(begun / "out") == blocks(begun / "plain")
    assert blocks(begun / "policy") == blocks(begun / "plain-policy")


@pytest.mark.parametrize("kept", [["out", "policy"], ["out"], []])
def test_without_the_directories_that_are_named_the_work_starts_anew(kept: list[str], begun: Path) -> None:
    """Whichever of them is removed, and whether or not the work in the others is gone on with."""
    for name in {"out", "policy"} - set(kept):
        for path in (begun / f".{name}.madn-part").iterdir():
            path.unlink()
    if kept == []:
        assert main(f"solve {GAME} --out out".split()) == 0
    assert main(f"{RIGHT} --resume".split()) == 0
    assert verify_database(begun / "out", deep=True).ok
    assert verify_database(begun / "policy").ok


@pytest.mark.parametrize("there", ["nothing", "empty", "complete"])
def test_there_must_be_something_to_resume(
    there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    if there == "empty":
        (tmp_path / "scratch").mkdir()
    if there == "complete":
        assert main(RIGHT.split()) == 0
        capsys.readouterr()
    before = tree(tmp_path)
    assert main(f"{RIGHT} --resume".split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "scratch: there is nothing to resume; to begin, run the same command without --resume" in err
    assert tree(tmp_path) == before


def test_work_without_a_journal_is_worth_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain solve that was killed is begun again, and so is one that had not stored anything."""
    monkeypatch.chdir(tmp_path)
    part = tmp_path / ".out.madn-part"
    part.mkdir()
    (part / "values-0000.madn").write_bytes(b"half of a frame")
    for _ in range(2):
        assert main(f"solve {GAME} --out out".split()) == 0
    part.mkdir()
    (part / "journal").write_bytes(b'{"task": {')
    assert main(f"solve {GAME} --out out".split()) == 0
    assert not part.exists()


def test_a_plan_alone_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoppedError):
        solve(Rules(2, 10), "out", scratch="scratch", progress=lambda fraction, text: stop(1, ""))
    for path in (tmp_path / "scratch").iterdir():
        if path.name != "plan.json":
            path.unlink()
    (tmp_path / "scratch" / "plan.json-part").write_text("{")
    solve(Rules(2, 8), "out", scratch="scratch")
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.parametrize("old", [True, False])
def test_killed_when_the_databases_take_their_places(
    old: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However far publishing has come: the journal says that a database is not in its place yet."""
    monkeypatch.chdir(tmp_path)
    steps = 0
    last = None
    for point in range(1, 100):
        if old:
            write_database("out", Noise(TINY), {})
        steps = 0

        def flushed(path: Path, point: int = point, flush: Any = machine.flush) -> None:
            nonlocal steps
            steps += 1
            if steps == point:
                raise KeyboardInterrupt
            flush(path)

        with monkeypatch.context() as patched:
            patched.setattr(workplace, "flush", flushed)
            try:
                solve(Rules(2, 8), "out", policy="policy", scratch="scratch")
            except KeyboardInterrupt:
                last = point
        if last == point:
            solve(Rules(2, 8), "out", policy="policy", scratch="scratch", resume=True)
        assert verify_database(tmp_path / "out", deep=True).positions == Rules(2, 8).positions
        assert verify_database(tmp_path / "policy").positions == Rules(2, 8).positions
        assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "policy", "scratch"]
        if last != point:
            break
    assert last is not None
    assert last > 8


# directories


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ({"out": "x", "policy": "x"}, "x: the same directory for --out and --policy; each needs one of its own"),
        ({"out": "x", "policy": "./x/../x"}, "x: the same directory for --out and --policy"),
        ({"out": "x", "scratch": "x"}, "x: the same directory for --out and --scratch"),
        (
            {"out": "x", "scratch": "x/s"},
            "x/s: --scratch is inside x, the directory for --out; choose directories apart",
        ),
        ({"out": "s/x", "scratch": "s"}, "s/x: --out is inside s, the directory for --scratch"),
        ({"out": "x", "policy": "s/y/p", "scratch": "s"}, "s/y/p: --policy is inside s, the directory for --scratch"),
    ],
)
def test_directories_that_are_in_each_other_s_way(
    places: dict[str, str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputError, match=f"^{re.escape(message)}"):
        prepare(Rules(2, 8), **{"scratch": "scratch", **places})  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("full", ["out", "policy", "scratch"])
def test_the_directory_on_the_full_disk_is_named(
    full: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And standard output is empty."""
    monkeypatch.chdir(tmp_path)

    def no_room(*_: object) -> None:
        raise OSError(28, "No space left on device")

    if full == "scratch":
        monkeypatch.setattr("os.pwritev", no_room)
    else:
        take = "take" if full == "out" else "take_choices"

        def fill(self: Databases, *args: Any) -> None:
            writer: DatabaseWriter = getattr(self, "values" if full == "out" else "policy")
            monkeypatch.setattr(writer._files, "append", no_room)
            writer.take(*args)

        monkeypatch.setattr(Databases, take, fill)
    assert main(RIGHT.split()) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert re.match(rf"madn: {full}\S*: cannot be written.*: No space left on device", err.splitlines()[-1])
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert main(f"{RIGHT} --resume".split()) == 0


def test_a_source_that_fails_is_not_blamed_on_the_target(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"^source$"), open_writer(tmp_path / "db", ValueEncoder(TINY, FIXED32)):
        raise OSError("source")
