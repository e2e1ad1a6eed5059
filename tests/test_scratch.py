"""Solving from disk: the same bits as in memory, at any limit of memory, after any number of kills."""

import json
import os
import random
import signal
import subprocess
import sys
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from disk import Collector, StoppedError, disk_plan, solve_on_disk, values_from_disk, values_of

from madn import CorruptBlockError, ResourceError, Rules
from madn.cli import main
from madn.errors import OutputError, PlanError
from madn.solver import make_plan, scratch_directory, solve
from madn.solver.figures import read_figures, write_figures
from madn.solver.footprint import can_stream, component_positions
from madn.solver.numbers import FIXED32, FLOAT64, Representation
from madn.solver.plan import BASE_MEMORY
from madn.solver.scratch import Scratch
from madn.solver.sides import Side
from madn.solver.streamed import Resident, Streamed
from madn.solver.strips import LEFT, RIGHT, StripFile, Tiling
from madn.solving import prepare
from madn.store import verify_database
from madn.store.frames import FrameFiles
from madn.store.writer import DatabaseWriter

GAMES = [
    Rules(1, 8),
    Rules(2, 8),
    Rules(2, 14),
    Rules.house(2, 14),
    Rules(3, 8),
    Rules.house(3, 8),
    pytest.param(Rules(4, 8), marks=pytest.mark.slow),
]


# the same bits


@pytest.mark.parametrize("rules", GAMES, ids=str)
@pytest.mark.parametrize("representation", [FLOAT64, FIXED32], ids=str)
def test_from_disk_as_in_memory(rules: Rules, representation: Representation, tmp_path: Path) -> None:
    tolerance = 1e-15 if representation is FLOAT64 and rules.pieces < 4 else FIXED32.finest
    changes: dict[str, Any] = {"representation": representation, "tolerance": tolerance}
    inside = solve(replace(make_plan(rules, threads=1), **changes))
    collector = Collector(rules, representation)
    outside = solve_on_disk(replace(disk_plan(rules, tmp_path), threads=2, **changes), None, collector)
    assert inside.updates == outside.updates
    assert inside.sweeps_per_component == outside.sweeps_per_component
    assert inside.extremes() == outside.extremes()
    assert inside.win == outside.win
    assert (values_of(inside) == collector.values).all()


@pytest.mark.parametrize("rules", [Rules(3, 8), Rules.house(3, 8)], ids=str)
def test_a_large_component_in_memory_reads_its_exits_from_files(
    rules: Rules, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several pieces the component with one piece finished: its sides' exits are as large as itself."""
    read: list[tuple[int, int]] = []
    passes = Resident.passes

    def noted(component: Resident, *args: Any, **settings: Any) -> Any:
        read.append((component.rows.finish, component.columns.finish))
        return passes(component, *args, **settings)

    monkeypatch.setattr(Resident, "passes", noted)
    changes: dict[str, Any] = {"representation": FIXED32, "tolerance": FIXED32.finest}
    inside = solve(replace(make_plan(rules, threads=1), **changes))
    plan = replace(make_plan(rules, scratch=str(tmp_path / "scratch"), threads=2), **changes)
    assert not plan.streamed
    collector = Collector(rules, FIXED32)
    outside = solve_on_disk(plan, None, collector)
    assert set(read) == {(0, 1), (0, 2), (0, 4)}
    assert inside.sweeps_per_component == outside.sweeps_per_component
    assert (values_of(inside) == collector.values).all()


@pytest.mark.slow
@pytest.mark.parametrize("rules", [Rules(3, 20), Rules.house(3, 20)], ids=str)
def test_a_limit_of_memory_that_is_too_small_for_the_component_streams_it(rules: Rules, tmp_path: Path) -> None:
    inside = solve(make_plan(rules, tolerance=1e-6))
    limit = make_plan(rules, tolerance=1e-6, scratch=str(tmp_path), memory=BASE_MEMORY + 1).memory_bytes
    plan = make_plan(rules, tolerance=1e-6, scratch=str(tmp_path), memory=limit)
    assert (0, 0) in plan.streamed
    assert plan.memory_bytes <= limit < inside.plan.memory_bytes
    assert (values_from_disk(plan) == values_of(inside)).all()


def test_the_standard_game_fits_into_11_gib_and_55_gb_of_disk(tmp_path: Path) -> None:
    """The peak is at least 3 % below the limit, and what is planned a little below that."""
    for rules in (Rules(4), Rules.house(4)):
        plan = make_plan(rules, scratch=str(tmp_path), memory=11 << 30, threads=2)
        assert plan.memory_bytes <= 0.95 * (11 << 30)
        assert plan.streamed == {(0, 0), (0, 1), (0, 2), (0, 4), (0, 8)}
        assert plan.bits == 16
        assert plan.peak_bytes <= 55e9
        assert make_plan(rules, scratch=str(tmp_path), memory=14 << 30, threads=2).streamed == {(0, 0)}


# going on after a stop


@pytest.mark.parametrize("when", range(5))
def test_after_a_stop_at_any_strip_the_work_goes_on(when: int, tmp_path: Path) -> None:
    rules = Rules(2, 14)
    wanted = values_of(solve(make_plan(rules)))
    plan = disk_plan(rules, tmp_path / "scratch", resume=True)
    collector = Collector(rules)
    stops = random.Random(when)
    stopped = 0
    while True:
        left = stops.randrange(1, 500)

        def tell(fraction: float, text: str) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise StoppedError

        try:
            solve_on_disk(plan, tell, collector)
        except StoppedError:
            stopped += 1
            continue
        break
    assert stopped
    assert (collector.values == wanted).all()


def test_progress_after_a_stop_begins_where_the_work_does(tmp_path: Path) -> None:
    """The time that is left is estimated from what is told: nothing of an earlier run must be in it."""
    rules = Rules(2, 14)
    plan = disk_plan(rules, tmp_path / "scratch", resume=True)
    sizes = [component_positions(rules, *pair) for pair in plan.pairs]
    before_the_last = 1 - sizes[-1] / sum(sizes)
    told: list[list[float]] = []
    for limit in (0.6, 2.0):
        told.append([])

        def tell(fraction: float, text: str, limit: float = limit) -> None:
            told[-1].append(fraction)
            if fraction > limit:
                raise StoppedError

        with suppress(StoppedError):
            solve_on_disk(plan, tell)
    assert told[0][0] < before_the_last <= told[1][0] < 0.6
    assert told[1] == sorted(told[1])
    assert told[1][-1] == pytest.approx(1.0)


WORKER = """
import sys
from madn import Rules
from madn.cli import main
import madn.solver
print("ready", flush=True)
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kill -9 is for Unix")
def test_kill_9_at_random_moments(tmp_path: Path) -> None:
    whole = "MADN_KILL_THE_WHOLE_GAME" in os.environ  # three pieces on 40 squares: ten minutes
    rules, tolerance = (Rules(3), 1e-6) if whole else (Rules(3, 14), 1e-12)
    plain, disturbed, scratch = tmp_path / "plain", tmp_path / "disturbed", tmp_path / "scratch"
    game = ["solve", "--pieces", "3", "--squares", f"{rules.squares}", "--tolerance", f"{tolerance}", "--json"]
    limit = make_plan(rules, tolerance=tolerance, scratch=str(scratch), memory=BASE_MEMORY + 1).memory_bytes
    assert main([*game, "--out", str(plain), "--scratch", str(tmp_path / "other")]) == 0
    args = [*game, "--out", str(disturbed), "--scratch", str(scratch), "--memory", f"{limit}"]

    def command() -> list[str]:
        resume = ["--resume"] if (scratch / "plan.json").exists() else []
        return [sys.executable, "-c", WORKER, *args, *resume]

    moments = random.Random(7)
    kills, longest, most = 0, *((15.0, 40.0) if whole else (1.0, 3.0))
    while kills < 20:
        worker = subprocess.Popen(command(), stdout=subprocess.PIPE, text=True)
        assert worker.stdout
        assert worker.stdout.readline() == "ready\n"
        try:
            worker.wait(moments.uniform(0.0, longest))
        except subprocess.TimeoutExpired:
            worker.send_signal(signal.SIGKILL)
            kills += 1
            longest = min(most, longest * 1.1)
            if disturbed.exists():
                assert main(["win", str(disturbed), "0/0"]) == 0
        else:
            assert worker.returncode == 0
            _same_values(plain, disturbed)
            longest = max(0.2, longest / 2)
        worker.communicate()
    assert subprocess.run(command(), stdout=subprocess.DEVNULL, check=False).returncode == 0
    _same_values(plain, disturbed)
    assert os.listdir(scratch) == []


@pytest.mark.parametrize("step", ["values", "policy", "clear"])
def test_a_stop_after_the_last_component_loses_nothing(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Stopped before either database is in its place, between the two, and before the scratch directory is empty."""
    out, policy, scratch = (tmp_path / name for name in ("db", "policy", "scratch"))
    args = ["solve", "--pieces", "2", "--squares", "10", "--out", str(out), "--policy", str(policy)]
    args += ["--scratch", str(scratch), "--json"]
    publish = DatabaseWriter.publish

    def half_cleared(self: Scratch) -> None:
        (self.directory / "000.done").unlink()
        raise KeyboardInterrupt

    def stopped(database: DatabaseWriter, *told: Any) -> None:
        if database.target.name == {"values": "db", "policy": "policy"}.get(step):
            raise KeyboardInterrupt
        publish(database, *told)

    with monkeypatch.context() as patched:
        patched.setattr(DatabaseWriter, "publish", stopped)
        if step == "clear":
            patched.setattr(Scratch, "clear", half_cleared)
        assert main(args) == 130
    assert out.exists() == (step != "values")
    capsys.readouterr()
    assert main([*args, "--resume"]) == 0
    assert json.loads(capsys.readouterr().out)["start"] == solve(make_plan(Rules(2, 10))).start
    assert verify_database(out, deep=True).ok
    assert verify_database(policy).ok
    assert os.listdir(scratch) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["db", "policy", "scratch"]


def _same_values(one: Path, other: Path) -> None:
    files = sorted(path.name for path in one.glob("values-*"))
    assert files == sorted(path.name for path in other.glob("values-*"))
    for name in files:
        assert (one / name).read_bytes() == (other / name).read_bytes()


# what a scratch directory refuses


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """A scratch directory that a solve was stopped in, before the last component was examined."""
    passes = Streamed.passes

    def stopped(self: Streamed, examine: bool, *args: Any) -> Any:
        if examine and self.mirrored:
            raise StoppedError
        return passes(self, examine, *args)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Streamed, "passes", stopped)
        with pytest.raises(StoppedError):
            solve_on_disk(disk_plan(Rules(2, 10), tmp_path / "scratch"))
    return tmp_path / "scratch"


def test_work_that_was_begun_is_not_overwritten(begun: Path) -> None:
    before = sorted(begun.iterdir())
    with pytest.raises(OutputError, match="holds unfinished work"):
        solve_on_disk(disk_plan(Rules(2, 10), begun))
    assert sorted(begun.iterdir()) == before


def test_work_of_other_rules_is_refused(begun: Path) -> None:
    with pytest.raises(OutputError, match="another solve, with squares 10 instead of 12"):
        solve_on_disk(disk_plan(Rules(2, 12), begun, resume=True))
    with pytest.raises(OutputError, match="another solve, with tolerance 1e-15 instead of 1e-09"):
        solve_on_disk(disk_plan(Rules(2, 10), begun, resume=True, tolerance=1e-9))


def test_work_of_another_version_is_refused(begun: Path) -> None:
    write_figures(begun / "plan.json", "", {**(read_figures(begun / "plan.json", "") or {}), "format": 99})
    with pytest.raises(OutputError, match="another version"):
        solve_on_disk(disk_plan(Rules(2, 10), begun, resume=True))


def test_a_directory_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(OutputError, match=r"holds 'letter.txt'"):
        solve_on_disk(disk_plan(Rules(2, 8), tmp_path))
    with pytest.raises(OutputError, match="not a directory for scratch files"):
        solve_on_disk(disk_plan(Rules(2, 8), tmp_path / "letter.txt"))


@pytest.mark.parametrize("suffix", ["values", "captures?", "state", "done"])
@pytest.mark.parametrize("damage", ["cut", "changed", "lost", "swapped"])
def test_files_that_were_cut_off_or_changed_are_noticed(begun: Path, suffix: str, damage: str) -> None:
    (number,) = (path.stem for path in begun.glob("*.state"))
    (path,) = begun.glob(f"{number}.{suffix}") if suffix != "done" else [min(begun.glob("*.done"))]
    whole = path.read_bytes()
    if damage == "lost":
        if suffix in ("state", "done"):
            return  # that only means less was done
        path.unlink()
    else:
        half = len(whole) // 2
        swapped = whole[half:] + whole[:half]
        path.write_bytes({"cut": whole[:half], "changed": b"\x01" * len(whole), "swapped": swapped}[damage])
    with pytest.raises(CorruptBlockError, match=path.parent.name):
        solve_on_disk(disk_plan(Rules(2, 10), begun, resume=True))


@pytest.mark.skipif(os.name != "posix", reason="directories are not locked on Windows")
def test_two_solvers_do_not_share_a_directory(tmp_path: Path) -> None:
    with scratch_directory(disk_plan(Rules(2, 8), tmp_path)) as scratch:
        plan = disk_plan(Rules(2, 8), tmp_path, resume=True)
        solution = solve(plan, scratch=scratch)
        with pytest.raises(ResourceError, match="another solve is using"):
            solve_on_disk(plan)
    assert solve_on_disk(plan).win == solution.win


def test_a_disk_that_fills_up_leaves_work_that_can_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = Rules(2, 12)
    write, room = StripFile.write, 60

    def full(self: StripFile, *args: Any, **kwargs: Any) -> None:
        nonlocal room
        room -= 1
        if room == 0:
            raise OSError(28, "No space left on device")
        write(self, *args, **kwargs)

    monkeypatch.setattr(StripFile, "write", full)
    collector = Collector(rules)
    with pytest.raises(OSError, match="No space left"):
        solve_on_disk(disk_plan(rules, tmp_path), None, collector)
    solve_on_disk(disk_plan(rules, tmp_path, resume=True), None, collector)
    assert (collector.values == values_of(solve(make_plan(rules)))).all()


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"resume": True}, "the scratch directory of the earlier run is needed"),
        ({"method": "thesis", "scratch": "x"}, "takes neither"),
        ({"method": "thesis", "board": "0/0"}, "takes neither"),
        ({"board": "8,9/0"}, "the game is over"),
        ({"census": True}, "need a scratch directory"),
        ({"bits": 25}, "bits must be 8 to 24, not 25"),
    ],
)
def test_plans_that_make_no_sense(options: dict[str, Any], part: str) -> None:
    with pytest.raises(PlanError, match=part):
        make_plan(Rules(2, 8), **options)


# checksums


def test_every_change_of_a_tile_is_noticed(tmp_path: Path) -> None:
    """Bits flipped, words exchanged, values moved: however the tile is read."""
    rules, path, rng = Rules(2, 10), tmp_path / "000.values", random.Random(3)
    tiling = Tiling(Side(rules, 0), Side(rules, 1), np.int32, threads=1)
    numbers = np.random.default_rng(3)
    start, room = tiling.starts(tiling.strips)
    L, R = (numbers.integers(-(2**28), 2**28, room, np.int32) for _ in range(2))
    packed = np.empty(tiling.total, np.uint8)
    strips = [tiling.pack(strip, L, R, (start, start), packed).copy() for strip in range(tiling.strips)]
    with StripFile(path, tiling) as file:
        file.write_strips((L, R, start) for _ in strips)
        sums = file.sums_text()
    whole = path.read_bytes()
    assert whole == b"".join(values.tobytes() for values in strips)
    for number in range(300):
        strip, tile = rng.choice(np.argwhere(tiling.counts > 0).tolist())
        begin, end = (int(tiling.strip[strip] + tiling.tile[strip, c]) for c in (tile, tile + 1))
        words = np.frombuffer(whole, np.uint8).copy()
        middle = (begin + end) // 2
        right = number % 2 == 0
        begin, end = (begin, middle) if right else (middle, end)
        if number % 3 == 0:
            words[rng.randrange(begin, end)] ^= 1 << rng.randrange(8)
        elif number % 3 == 1:
            i, j = rng.sample(range(begin, end), 2)
            words[i], words[j] = words[j] ^ (words[i] == words[j]), words[i]  # pads have like bytes
        else:
            words[begin:end] = np.roll(words[begin:end], rng.choice([-1, 1]))
        path.write_bytes(words.tobytes())
        damage = f"000.values: damaged: checksum of tile {tile} of strip {strip} "
        with StripFile(path, tiling, sums) as file:
            for classes in (None, range(tile, tile + 1), range(tile, tiling.classes), range(tile + 1)):
                with pytest.raises(CorruptBlockError, match=damage):
                    file.read(strip, classes)
            for half, spoilt in ((RIGHT, right), (LEFT, not right)):
                for classes in (range(tile, tile + 1), range(tile, tiling.classes), range(tile + 1)):
                    with pytest.raises(CorruptBlockError, match=damage) if spoilt else nullcontext():
                        file.read(strip, classes, half)
            for other in {*range(tiling.strips)} - {strip}:
                assert (file.read(other) == strips[other]).all()


# what is relied on is on disk


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs the names of open files")
def test_what_is_relied_on_is_on_disk_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values before the figures that say they are there, checkpoints before states, blocks before values go."""
    places: dict[str, Any] = {name: tmp_path / name for name in ("out", "policy", "scratch")}
    job = prepare(Rules(3, 8), **places, tolerance=1e-4, threads=1)
    streamed = frozenset(pair for pair in job.plan.pairs if can_stream(job.plan.rules, *pair))
    waiting: set[str] = set()  # files that are not on disk as they are
    events: set[str] = set()
    pwritev, fsync, replaced = os.pwritev, os.fsync, os.replace
    append = FrameFiles.append

    def name(handle: int) -> str:
        return os.readlink(f"/proc/self/fd/{handle}")

    def written(handle: int, *args: Any) -> int:
        waiting.add(name(handle))
        return pwritev(handle, *args)

    def appended(files: FrameFiles, frame: bytes) -> Any:
        waiting.update(str(files.directory / file) for file in ("journal", f"values-{len(files.done):04}.madn"))
        return append(files, frame)

    def flushed(handle: int) -> None:
        waiting.discard(name(handle))
        fsync(handle)

    def replace_file(part: Path, path: Path) -> None:
        number, suffix = path.stem, path.suffix
        ours = {file for file in waiting if Path(file).stem == number}
        if suffix == ".state" and not json.loads(part.read_text())["kept"]:
            ours = {file for file in ours if Path(file).suffix.startswith(".captures")}
        if suffix == ".stored":
            ours |= {file for file in waiting if "madn-part" in file}
        assert not ours, f"{path} relies on {ours}"
        events.add(suffix)
        replaced(part, path)

    monkeypatch.setattr(os, "pwritev", written)
    monkeypatch.setattr(FrameFiles, "append", appended)
    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(os, "replace", replace_file)
    replace(job, plan=replace(job.plan, streamed=streamed)).run()
    assert events == {".json", ".done", ".stored", ".state"}
    assert not {file for file in waiting if Path(file).parent == tmp_path / "out"}
