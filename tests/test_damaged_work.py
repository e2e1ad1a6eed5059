"""What a killed solve or compress leaves behind, damaged in every way: the same result in the end, or a clear refusal.

`MADN_DAMAGES=2000 tools/test test_damaged_work.py` tries that many damages of each kind of work.
"""

import os
import random
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_store import Noise

from madn import CorruptBlockError, ResourceError, Rules
from madn.errors import OutputError, PlanError
from madn.solver.footprint import can_stream
from madn.solving import prepare
from madn.store import compress_database, write_database
from madn.store.writer import DatabaseWriter

CASES = int(os.environ.get("MADN_DAMAGES", "40"))
RULES = Rules(3, 8)
REFUSALS = (CorruptBlockError, OutputError, PlanError, ResourceError)
MOMENTS = (0.1, 0.3, 0.45, 0.6, 0.75, 0.85, 0.95, 1.0)  # of a solve, when it is killed
DATABASES = ("out", "policy", "new")
Outcome = dict[str, Any]


def contents(directory: Path) -> Outcome:
    """The files of a database, and its catalogue but for times."""
    rows = sqlite3.connect(directory / "catalogue.sqlite")
    tables = ("blocks", "files", "encodings", "boards", "profiles")
    found: Outcome = {table: rows.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall() for table in tables}
    provenance = rows.execute("SELECT * FROM provenance ORDER BY 1").fetchall()
    found["provenance"] = [row for row in provenance if row[0] != "seconds"]
    return found | {path.name: path.read_bytes() for path in sorted(directory.glob("values-*"))}


class Work:
    """A piece of work in a directory, with what its kill at some moments left there."""

    def __init__(self, directory: Path, run: Callable[[Path, bool, Any], Outcome]) -> None:
        self.directory, self.place, self.run = directory, directory / "work", run
        self.place.mkdir()
        self.snapshots: list[Path] = []
        moments = list(MOMENTS)
        publish = DatabaseWriter.publish

        def progress(fraction: float, text: str) -> None:
            if moments and fraction >= moments[0]:
                moments.pop(0)
                self.kill()

        def killed(writer: DatabaseWriter, *args: Any) -> None:
            self.kill()  # before each database is put in its place, too
            publish(writer, *args)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(DatabaseWriter, "publish", killed)
            self.expected = run(self.place, False, progress)

    def kill(self) -> None:
        """Keep the directory as it is now."""
        self.snapshots.append(self.directory / f"snapshot{len(self.snapshots)}")
        shutil.copytree(self.place, self.snapshots[-1])

    def files(self, snapshot: Path) -> list[Path]:
        """The files that the work reads again: not those of a database that is in its place."""
        return sorted(path for path in snapshot.rglob("*") if path.is_file() and path.parent.name not in DATABASES)

    def restore(self, snapshot: Path) -> None:
        shutil.rmtree(self.place)
        shutil.copytree(snapshot, self.place)


@pytest.fixture(autouse=True, scope="module")
def no_waiting_for_the_disk() -> Iterator[None]:
    """Everything here survives: no power fails."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(scope="module")
def solve(tmp_path_factory: pytest.TempPathFactory) -> Work:
    def run(place: Path, resume: bool, progress: Any) -> Outcome:
        places: dict[str, Any] = {name: place / name for name in ("out", "policy", "scratch")}
        job = prepare(RULES, **places, bits=16, tolerance=1e-4, resume=resume, threads=1)
        streamed = frozenset(pair for pair in job.plan.pairs if can_stream(RULES, *pair))
        assert {f == g for f, g in streamed} == {True, False}
        assert streamed < set(job.plan.pairs)
        result = replace(job, plan=replace(job.plan, streamed=streamed)).run(progress)
        assert os.listdir(places["scratch"]) == []
        assert sorted(os.listdir(place)) == ["out", "policy", "scratch"]
        found = {name: contents(places[name]) for name in ("out", "policy")}
        return found | {"result": result.to_json() | {"seconds": 0}}

    return Work(tmp_path_factory.mktemp("solve"), run)


@pytest.fixture(scope="module", params=[{"bits": 12}, {"store": "policy"}], ids=str)
def compress(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Work:
    source = tmp_path_factory.mktemp("source") / "db"
    write_database(source, Noise(Rules(2, 10)), {}, block_positions=500)

    def run(place: Path, resume: bool, progress: Any) -> Outcome:
        result = compress_database(source, place / "new", **request.param, progress=progress, threads=1)
        assert os.listdir(place) == ["new"]
        return {"result": result, "new": contents(place / "new")}

    return Work(tmp_path_factory.mktemp("compress"), run)


def kind(path: Path) -> str:
    return re.sub("[0-9]+", "N", f"{path.parent.name}/{path.name}")


def swapped(data: bytes, rng: random.Random) -> bytes:
    """Two words exchanged that are not the same."""
    size = rng.choice([1, 4, 8])
    words = [data[at : at + size] for at in range(0, len(data), size)]
    for _ in range(50):
        i, j = rng.randrange(len(words)), rng.randrange(len(words))
        if len(words[i]) == len(words[j]) and words[i] != words[j]:
            words[i], words[j] = words[j], words[i]
            break
    return b"".join(words)


def with_lines_changed(data: bytes, rng: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    at = rng.randrange(len(lines))
    what = rng.choice(["removed", "repeated", "exchanged"])
    if what == "removed":
        del lines[at]
    elif what == "repeated":
        lines.insert(rng.randrange(len(lines)), lines[at])
    else:
        other = rng.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    return b"".join(lines)


def flipped(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def changed(data: bytes, rng: random.Random) -> bytes:
    """One digit another one, where there are digits: what is still JSON is the hardest to notice."""
    digits = [at for at, byte in enumerate(data) if chr(byte).isdigit()]
    at = rng.choice(digits) if digits else rng.randrange(len(data))
    return data[:at] + rng.choice(b"0123456789".replace(data[at : at + 1], b"")).to_bytes(1, "big") + data[at + 1 :]


DAMAGES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "flipped": flipped,
    "changed": changed,
    "swapped": swapped,
    "lines": with_lines_changed,
    "shifted": lambda data, rng: data[(by := rng.randrange(1, 9)) :] + data[:by],
    "cut": lambda data, rng: data[: rng.randrange(len(data))],
    "emptied": lambda data, rng: b"",
    "extended": lambda data, rng: data + rng.randbytes(rng.randrange(1, 100)),
    "zeros": lambda data, rng: bytes(len(data)),
}


def damage(work: Work, snapshot: Path, rng: random.Random, number: int) -> str:
    """Damage a file of the work as it is in its place; say what was done."""
    kinds: dict[str, list[Path]] = {}
    for path in work.files(snapshot):
        kinds.setdefault(kind(path), []).append(path)
    names = sorted(kinds)
    path = rng.choice(kinds[names[number % len(names)]])
    there = work.place / path.relative_to(snapshot)
    how = rng.choice([*DAMAGES, "copied", "older or newer"])
    data = path.read_bytes()
    if how == "older or newer":
        others = [other / path.relative_to(snapshot) for other in work.snapshots]
        there.write_bytes(rng.choice([other for other in others if other.exists()]).read_bytes())
    elif how == "copied":
        there.write_bytes(rng.choice(work.files(snapshot)).read_bytes())
    else:
        there.write_bytes(DAMAGES[how](data, rng) if data else b"\n")
    return f"{path}: {how}"


def outcome(work: Work, said: str) -> Outcome:
    """Go on with the work; where that is refused, do what the refusal says."""
    for _ in range(4):
        try:
            return work.run(work.place, True, None)
        except REFUSALS as error:
            message = str(error)
        assert "\n" not in message, said
        assert re.match(rf"{work.place}\S*: \w", message), f"{said}: {message}"
        remove = re.search(r"remove (\S+\.\*), and --resume will solve this component again", message)
        if remove:
            there = list(work.place.glob(str(Path(remove[1]).relative_to(work.place))))
            assert there, f"{said}: {message}"
            for path in there:
                path.unlink()
            continue
        begin = re.search(r"to start over, remove (\S+)", message)
        if begin and begin[1] != "that":
            shutil.rmtree(begin[1])
            continue
        assert re.search("plan.json|another directory|remove that directory|nothing to resume", message), message
        return {"refused": message}
    pytest.fail(f"{said}: {message}: what it says does not help")


def attempt(work: Work, number: int) -> str:
    rng = random.Random(number)
    snapshot = work.snapshots[number % len(work.snapshots)]
    work.restore(snapshot)
    said = damage(work, snapshot, rng, number // len(work.snapshots))
    found = outcome(work, said)
    assert "refused" in found or found == work.expected, said
    return "refused" if "refused" in found else "done"


def test_undamaged_work_goes_on(solve: Work) -> None:
    for snapshot in solve.snapshots:
        solve.restore(snapshot)
        assert solve.run(solve.place, True, None) == solve.expected


def test_the_files_of_a_solve(solve: Work) -> None:
    """All kinds that there are, so that none is left out of what follows."""
    kinds = {kind(path) for snapshot in solve.snapshots for path in solve.files(snapshot)}
    parts = {f".{name}.madn-part/{file}" for name in ("out", "policy") for file in ("journal", "values-N.madn")}
    suffixes = ("values", "choices", "work", "capturesN", "state", "done", "stored")
    assert kinds == parts | {f"scratch/N.{suffix}" for suffix in suffixes} | {"scratch/plan.json"}


def test_a_damaged_solve(solve: Work) -> None:
    outcomes = [attempt(solve, number) for number in range(CASES)]
    assert outcomes.count("done") > CASES / 2


def test_a_damaged_compress(compress: Work) -> None:
    outcomes = [attempt(compress, number) for number in range(CASES)]
    assert outcomes.count("done") > CASES / 2
