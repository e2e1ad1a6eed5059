"""Solving from disk: the same bits as in memory, at any limit of memory, after any number of kills."""

import json
import math
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import all_boards

from madn import Board, CorruptBlockError, MissingBlockError, ResourceError, Rules, open_database
from madn.cli import main
from madn.solver import PlanError, Solution, delivery, make_plan, solve, strips
from madn.solver.components import components, later_zones
from madn.solver.deliver import HandOver
from madn.solver.footprint import (
    boxed_size,
    can_stream,
    class_sizes,
    component_positions,
    exits,
    scratch_bytes,
    side_size,
)
from madn.solver.plan import BASE_MEMORY, Plan
from madn.solver.scratch import Scratch
from madn.solver.sides import TERMINAL, Side
from madn.solver.streamed import Streamed
from madn.solver.strips import StripFile, Tiling
from madn.solver.zones import Zones
from madn.store import compress_database, verify_database
from madn.store.growing import GrowingDatabase

GAMES = [Rules(1, 8), Rules(2, 8), Rules(2, 14), Rules(3, 8), pytest.param(Rules(4, 8), marks=pytest.mark.slow)]


class Collector:
    """A receiver that keeps all values, and some best moves, in memory; it outlives stops of a solve."""

    def __init__(
        self, rules: Rules, representation: str = "float64", wanted: Callable[[int], bool] = lambda first: False
    ) -> None:
        self.values = np.full(rules.positions, -9, np.float64 if representation == "float64" else np.int32)
        self.words = np.full(rules.positions, 0xFFFF, np.uint16)
        self.wanted = wanted
        self.asked: list[int] = []
        self.next: dict[tuple[str, int], int] = {}

    def wants_choices(self, first: int) -> bool:
        self.asked.append(first)
        return self.wanted(first)

    def has(self, first_of_run: int, size_of_run: int) -> bool:
        return bool((self.values[first_of_run : first_of_run + size_of_run] != -9).all())

    def _expect(self, kind: str, first_of_run: int, size_of_run: int, first: int, count: int) -> None:
        assert first in (self.next.get((kind, first_of_run), first_of_run), first_of_run), "runs ascend"
        assert first + count <= first_of_run + size_of_run
        self.next[kind, first_of_run] = first + count

    def take(self, first_of_run: int, size_of_run: int, first: int, values: np.ndarray) -> None:
        self._expect("values", first_of_run, size_of_run, first, len(values))
        self.values[first : first + len(values)] = values

    def take_choices(self, first_of_run: int, size_of_run: int, first: int, words: np.ndarray) -> None:
        assert (self.words[first : first + len(words)] == 0xFFFF).all(), "once"
        assert self.next.get(("words", first_of_run), first_of_run) <= first, "runs ascend"
        assert first + len(words) <= first_of_run + size_of_run
        self.next["words", first_of_run] = first + len(words)
        self.words[first : first + len(words)] = words

    def flush(self) -> None:
        pass


def values_of(solution: Solution) -> np.ndarray:
    out = np.empty(solution.rules.positions, np.float64 if solution.representation == "float64" else np.int32)
    solution.read(0, out)
    return out


def values_from_disk(plan: Plan) -> np.ndarray:
    collector = Collector(plan.rules, plan.representation)
    solution = solve(plan, None, collector)
    solution.clear_scratch()
    solution.close()
    return collector.values


def disk_plan(rules: Rules, scratch: Path, **changes) -> Plan:
    """A plan on disk with everything streamed that can be."""
    plan = make_plan(rules, scratch=str(scratch), **changes)
    return replace(plan, streamed=frozenset(pair for pair in plan.pairs if can_stream(rules, *pair)))


# the same bits


@pytest.mark.parametrize("rules", GAMES, ids=str)
@pytest.mark.parametrize("representation", ["float64", "fixed32"])
def test_from_disk_as_in_memory(rules, representation, tmp_path):
    tolerance = 1e-15 if representation == "float64" and rules.pieces < 4 else 1e-8
    changes = {"representation": representation, "tolerance": tolerance}
    inside = solve(replace(make_plan(rules, threads=1), **changes))
    collector = Collector(rules, representation)
    outside = solve(replace(disk_plan(rules, tmp_path), threads=2, **changes), None, collector)
    outside.close()
    assert inside.updates == outside.updates
    assert inside.sweeps_per_component == outside.sweeps_per_component
    assert inside.extremes == outside.extremes
    assert inside.win == outside.win
    assert (values_of(inside) == collector.values).all()


@pytest.mark.slow
def test_a_limit_of_memory_that_is_too_small_for_the_component_streams_it(tmp_path):
    rules = Rules(3, 20)
    inside = solve(make_plan(rules, tolerance=1e-6))
    limit = make_plan(rules, tolerance=1e-6, scratch=str(tmp_path), memory=BASE_MEMORY + 1).memory_bytes
    plan = make_plan(rules, tolerance=1e-6, scratch=str(tmp_path), memory=limit)
    assert (0, 0) in plan.streamed
    assert plan.memory_bytes <= limit < inside.plan.memory_bytes
    assert (values_from_disk(plan) == values_of(inside)).all()


def test_the_standard_game_fits_into_20_gib_from_disk(tmp_path):
    plan = make_plan(Rules(4), scratch=str(tmp_path), memory=20 << 30)
    assert plan.memory_bytes <= 20 << 30
    assert (0, 0) in plan.streamed
    assert all(f == 0 and g.bit_count() <= 1 for f, g in plan.streamed)


# going on after a stop


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("when", range(5))
def test_after_a_stop_at_any_strip_the_work_goes_on(when, tmp_path):
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
            solve(plan, tell, collector).close()
        except StoppedError:
            stopped += 1
            continue
        break
    assert stopped
    assert (collector.values == wanted).all()


def test_progress_after_a_stop_begins_where_the_work_does(tmp_path):
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
            solve(plan, tell).close()
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
def test_kill_9_at_random_moments(tmp_path):
    whole = "MADN_KILL_THE_WHOLE_GAME" in os.environ  # three pieces on 40 squares: ten minutes
    rules, tolerance = (Rules(3), 1e-6) if whole else (Rules(3, 14), 1e-12)
    plain, disturbed, scratch = tmp_path / "plain", tmp_path / "disturbed", tmp_path / "scratch"
    game = ["solve", "--pieces", "3", "--squares", f"{rules.squares}", "--tolerance", f"{tolerance}", "--json"]
    limit = make_plan(rules, tolerance=tolerance, scratch=str(scratch), memory=BASE_MEMORY + 1).memory_bytes
    assert main([*game, "--out", str(plain), "--scratch", str(tmp_path / "other")]) == 0
    args = [*game, "--out", str(disturbed), "--scratch", str(scratch), "--resume", "--memory", f"{limit}"]
    moments = random.Random(7)
    kills, longest, most = 0, *((15.0, 40.0) if whole else (1.0, 3.0))
    while kills < 20:
        worker = subprocess.Popen([sys.executable, "-c", WORKER, *args], stdout=subprocess.PIPE, text=True)
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
    assert subprocess.run([sys.executable, "-c", WORKER, *args], stdout=subprocess.DEVNULL, check=False).returncode == 0
    _same_values(plain, disturbed)
    assert os.listdir(scratch) == []


@pytest.mark.parametrize("step", ["values", "policy", "clear"])
def test_a_stop_after_the_last_component_loses_nothing(step, tmp_path, monkeypatch, capsys):
    """Stopped before either database is in its place, between the two, and before the scratch directory is empty."""
    out, policy, scratch = (tmp_path / name for name in ("db", "policy", "scratch"))
    args = ["solve", "--pieces", "2", "--squares", "10", "--out", str(out), "--policy", str(policy)]
    args += ["--scratch", str(scratch), "--resume", "--json"]
    publish = GrowingDatabase.publish

    def half_cleared(self: Scratch) -> None:
        (self.directory / "000.done").unlink()
        raise KeyboardInterrupt

    def stopped(database: GrowingDatabase, *told: object) -> None:
        if database.place.target.name == {"values": "db", "policy": "policy"}.get(step):
            raise KeyboardInterrupt
        publish(database, *told)

    with monkeypatch.context() as patched:
        patched.setattr(GrowingDatabase, "publish", stopped)
        if step == "clear":
            patched.setattr(Scratch, "clear", half_cleared)
        assert main(args) == 130
    assert out.exists() == (step != "values")
    capsys.readouterr()
    assert main(args) == 0
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


# what is handed over


def test_blocks_do_not_depend_on_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(delivery, "GROUP", 300)
    written = []
    for number, room in enumerate((2_000, 20_000, 1 << 20)):
        monkeypatch.setattr(HandOver, "_room", lambda self, own, other, census, room=room: room)
        out, policy, scratch = (str(tmp_path / f"{name}{number}") for name in ("db", "policy", "scratch"))
        game = ["solve", "--pieces", "2", "--squares", "10", "--threads", str(1 + number % 2)]
        assert main([*game, "--out", out, "--policy", policy, "--scratch", scratch]) == 0
        assert verify_database(out, deep=True).ok
        written.append([sorted(Path(path).glob("values-*"))[0].read_bytes() for path in (out, policy)])
    assert written[0] == written[1] == written[2]


@pytest.mark.parametrize("rules", [Rules(1, 8), Rules(2, 10), Rules(3, 8)], ids=str)
@pytest.mark.parametrize("whole", [False, True], ids=["in windows", "whole"])
def test_a_policy_from_the_solve_is_that_of_its_values(rules, whole, tmp_path, monkeypatch):
    monkeypatch.setattr(HandOver, "_fits", lambda self, own, other, room: whole)
    game = ["solve", "--pieces", str(rules.pieces), "--squares", str(rules.squares)]
    values, policy, other = (str(tmp_path / name) for name in ("values", "policy", "other"))
    assert main([*game, "--out", values, "--policy", policy, "--scratch", str(tmp_path / "scratch")]) == 0
    assert verify_database(policy).ok
    compress_database(values, other, "policy", level=1)
    assert _digests(Path(policy)) == _digests(Path(other))


def _digests(path: Path) -> list[tuple[int, int, str]]:
    rows = sqlite3.connect(path / "catalogue.sqlite")
    return rows.execute("SELECT profile, first_rank, digest FROM blocks ORDER BY block").fetchall()


def test_best_moves_of_some_groups_are_enough(tmp_path, monkeypatch):
    """The census counts all the same."""
    monkeypatch.setattr(delivery, "GROUP", 300)
    rules, found = Rules(2, 10), []
    for name, wanted in (("all", lambda first: True), ("some", lambda first: first // 700 % 3 == 0)):
        collector = Collector(rules, wanted=wanted)
        with closing(solve(disk_plan(rules, tmp_path / name, census=True), None, collector)) as solution:
            found.append((collector, solution.census))
    (every, census), (some, same_census) = found
    assert census == same_census
    assert every.asked == some.asked
    assert (every.words < 1 << 12).all()
    taken = some.words < 1 << 12
    assert np.array_equal(some.words[taken], every.words[taken])
    assert 0.2 < np.mean(taken) < 0.5
    assert [bool(taken[first]) for first in some.asked] == [some.wanted(first) for first in some.asked]


@pytest.mark.parametrize("rules", [Rules(2, 8), Rules(2, 10)], ids=str)
def test_the_census_counts_what_there_is(rules, tmp_path, capsys):
    out = tmp_path / "db"
    game = ["solve", "--pieces", str(rules.pieces), "--squares", str(rules.squares)]
    assert main([*game, "--out", str(out), "--scratch", str(tmp_path / "s"), "--census", "--json"]) == 0
    census = json.loads(capsys.readouterr().out)["census"]
    histogram, decisions, unique, costs = [0] * 100, 0, 0, [0.0]
    with open_database(out) as db:
        boards = [board for board in all_boards(rules) if board.winner is None]
        for board in boards:
            histogram[int(100 * db.win(board))] += 1
            for roll in range(1, 7):
                wins = sorted(move.win for move in db.moves(board, roll))
                if len(wins) > 1:
                    decisions += 1
                    unique += wins[-1] - wins[-2] > 1e-12
                    costs.append(wins[-1] - wins[-2])
        board = Board.parse(census["largest_cost_board"], rules)
        largest = [move.win for move in db.moves(board, census["largest_cost_roll"])]
    assert census["positions"] == len(boards) == sum(histogram)
    assert (census["histogram"], census["decisions"], census["unique"]) == (histogram, decisions, unique)
    assert census["cost"] == pytest.approx(sum(costs), rel=1e-9)
    assert census["largest_cost"] == pytest.approx(max(costs), abs=1e-12)
    assert max(largest) - sorted(largest)[-2] == pytest.approx(max(costs), abs=1e-12)


def test_values_stay_only_as_long_as_they_are_needed(tmp_path):
    rules = Rules(3, 12)
    plan = replace(disk_plan(rules, tmp_path), representation="fixed32", tolerance=1e-6)
    most = 0

    def tell(fraction: float, text: str) -> None:
        nonlocal most
        most = max(most, sum(path.stat().st_size for path in tmp_path.iterdir() if path.suffix in (".values", ".work")))

    solve(plan, tell).close()
    planned = scratch_bytes(rules, list(plan.pairs), plan.streamed, 4) - (1 << 26)
    tiles = 4 * sum(len(Side(rules, f).class_start) * len(Side(rules, g).class_start) for f, g in plan.pairs)
    assert planned * 0.8 < most <= planned + tiles
    assert not list(tmp_path.glob("*.values"))


def test_values_that_went_to_a_lost_database_are_missed(tmp_path):
    plan = disk_plan(Rules(2, 10), tmp_path / "scratch", resume=True)

    def tell(fraction: float, text: str) -> None:
        if fraction > 0.9:
            raise StoppedError

    with pytest.raises(StoppedError):
        solve(plan, tell, Collector(plan.rules))
    with pytest.raises(ResourceError, match="a database that is not there any more"):
        solve(plan, None, Collector(plan.rules))


# what a scratch directory refuses


@pytest.fixture
def begun(tmp_path) -> Path:
    """A scratch directory that a solve was stopped in, before the last component was examined."""
    passes = Streamed.passes

    def stopped(self: Streamed, threads: int, examine: bool, *args):
        if examine and self.mirrored:
            raise StoppedError
        return passes(self, threads, examine, *args)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Streamed, "passes", stopped)
        with pytest.raises(StoppedError):
            solve(disk_plan(Rules(2, 10), tmp_path / "scratch"))
    return tmp_path / "scratch"


def test_work_that_was_begun_is_not_overwritten(begun):
    before = sorted(begun.iterdir())
    with pytest.raises(ResourceError, match="--resume goes on"):
        solve(disk_plan(Rules(2, 10), begun))
    assert sorted(begun.iterdir()) == before


def test_work_of_other_rules_is_refused(begun):
    with pytest.raises(ResourceError, match=r"another solve .squares differs"):
        solve(disk_plan(Rules(2, 12), begun, resume=True))
    with pytest.raises(ResourceError, match=r"another solve .tolerance differs"):
        solve(disk_plan(Rules(2, 10), begun, resume=True, tolerance=1e-9))


def test_work_of_another_version_is_refused(begun):
    task = json.loads((begun / "plan.json").read_text())
    (begun / "plan.json").write_text(json.dumps({**task, "format": 99}))
    with pytest.raises(ResourceError, match="another version"):
        solve(disk_plan(Rules(2, 10), begun, resume=True))


def test_a_directory_of_something_else_is_refused(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(ResourceError, match=r"holds 'letter.txt'"):
        solve(disk_plan(Rules(2, 8), tmp_path, resume=True))
    with pytest.raises(ResourceError, match="not a scratch directory"):
        solve(disk_plan(Rules(2, 8), tmp_path / "letter.txt"))


@pytest.mark.parametrize("suffix", ["values", "captures?", "state", "done"])
@pytest.mark.parametrize("damage", ["cut", "changed", "lost", "swapped"])
def test_files_that_were_cut_off_or_changed_are_noticed(begun, suffix, damage):
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
        solve(disk_plan(Rules(2, 10), begun, resume=True))


@pytest.mark.parametrize("lost", [False, True])
def test_the_strips_are_enough_to_go_on(begun, lost):
    """Killed between the end of a sweep that may be the last and the writing of its checkpoint."""
    (path,) = begun.glob("*.state")
    path.write_text(json.dumps({**json.loads(path.read_text()), "after_capture": None}))
    (captures,) = begun.glob("*.captures?")
    captures.unlink()
    if lost:
        path.unlink()  # then the component is begun again
    outside = solve(disk_plan(Rules(2, 10), begun, resume=True))
    inside = solve(make_plan(Rules(2, 10)))
    assert (outside.win, outside.updates, outside.extremes) == (inside.win, inside.updates, inside.extremes)
    outside.close()


@pytest.mark.skipif(os.name != "posix", reason="directories are not locked on Windows")
def test_two_solvers_do_not_share_a_directory(tmp_path):
    solution = solve(disk_plan(Rules(2, 8), tmp_path))
    with pytest.raises(ResourceError, match="another solve is at work"):
        solve(disk_plan(Rules(2, 8), tmp_path, resume=True))
    solution.close()
    assert solve(disk_plan(Rules(2, 8), tmp_path, resume=True)).win == solution.win


def test_a_disk_without_room_is_refused_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1))
    with pytest.raises(ResourceError, match="1 are free"):
        solve(disk_plan(Rules(2, 8), tmp_path))


def test_a_disk_that_fills_up_leaves_work_that_can_go_on(tmp_path, monkeypatch):
    rules = Rules(2, 12)
    write, room = StripFile.write, 60

    def full(self, *args, **kwargs):
        nonlocal room
        room -= 1
        if room == 0:
            raise OSError(28, "No space left on device")
        write(self, *args, **kwargs)

    monkeypatch.setattr(StripFile, "write", full)
    collector = Collector(rules)
    with pytest.raises(OSError, match="No space left"):
        solve(disk_plan(rules, tmp_path), None, collector)
    solve(disk_plan(rules, tmp_path, resume=True), None, collector).close()
    assert (collector.values == values_of(solve(make_plan(rules)))).all()


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"resume": True}, "the scratch directory of the earlier run is needed"),
        ({"method": "thesis", "scratch": "x"}, "knows neither"),
        ({"method": "thesis", "board": "0/0"}, "knows neither"),
        ({"board": "8,9/0"}, "the game is over"),
        ({"census": True}, "are taken from a scratch directory"),
        ({"bits": 25}, "bits must be a whole number from 8 to 24, not 25"),
    ],
)
def test_plans_that_make_no_sense(options, part):
    with pytest.raises(PlanError, match=part):
        make_plan(Rules(2, 8), **options)


# solving for a board


@pytest.mark.parametrize("rules", [Rules(2, 8), Rules(3, 8), Rules(4, 8), Rules(4, 40)], ids=str)
def test_later_zones_are_what_moves_lead_to(rules):
    moves = {f: {x for x in Side(rules, f).moves.exits if x != TERMINAL} for f in range((1 << rules.pieces) - 1)}
    for f in moves:
        reached, new = {f}, {f}
        while new:
            new = {x for y in new for x in moves[y]} - reached
            reached |= new
        assert later_zones(rules, f) == reached
        assert exits(rules, f) == sorted(moves[f])


@pytest.mark.parametrize("text", ["0/0", "8,9/0", "0,10/8", "9,10/b", "10/10"])
def test_solving_for_a_board(text, tmp_path):
    rules = Rules(3, 8)
    whole = solve(make_plan(rules))
    part = solve(make_plan(rules, board=text))
    assert part.win == pytest.approx(whole.values.win(Board.parse(text, rules)), abs=1e-13)
    everything = values_of(whole)
    for first, count in part.ranges():
        values = np.empty(count)
        part.read(first, values)
        assert np.abs(values - everything[first : first + count]).max() < 1e-13
    assert sum(count for _, count in part.ranges()) == part.plan.positions


def test_what_was_not_asked_for_is_not_in_the_database(tmp_path, capsys):
    game = ["--pieces", "3", "--squares", "8"]
    assert main(["solve", *game, "--for", "9,10/8", "--out", str(tmp_path / "db")]) == 0
    assert main(["verify", str(tmp_path / "db"), "--deep"]) == 0
    with open_database(tmp_path / "db") as db:
        rules = db.rules
        assert db.win(Board.parse("3,9,10/8,10", rules)) > 0
        with pytest.raises(MissingBlockError, match=r"madn solve --pieces 3 --squares 8 --for 0/0"):
            db.win(Board.parse("0/0", rules))
        assert db.get_win(Board.parse("0/0", rules)) is None
    capsys.readouterr()
    assert main(["win", str(tmp_path / "db"), "0/0"]) == 3
    assert len(capsys.readouterr().err.splitlines()) == 1


# counting and packing


@pytest.mark.parametrize("rules", [Rules(2, 8), Rules(3, 10), Rules(4, 12), Rules(3, 40)], ids=str)
def test_sizes_are_counted_without_making_the_states(rules):
    for f in {0, 1, (1 << rules.pieces) // 2, (1 << rules.pieces) - 2}:
        side = Side(rules, f)
        assert side.size == side_size(rules, f)
        assert len(side.boxed) == boxed_size(rules, f)
        assert np.diff(side.class_start).tolist() == class_sizes(rules, side.open_pieces)


@pytest.mark.parametrize("rules", [Rules(2, 8), Rules(3, 8), Rules(2, 40)], ids=str)
def test_ranges_are_all_positions_of_their_zones(rules):
    zones = Zones(rules)
    pairs = components(rules)
    full = (1 << rules.pieces) - 1
    for pair in pairs:
        finished = {(full, zone) for zone in pair} | {(zone, full) for zone in pair}
        size = sum(run.size for run in zones.runs() if (run.own, run.other) in finished)
        assert sum(count for _, count in zones.ranges([pair])) == component_positions(rules, *pair) + size
    assert zones.ranges(pairs) == [(0, rules.positions)]


@pytest.mark.parametrize("positions", [1, 5000, 20_000, 33_000, 10**9])
def test_bands_are_few_and_alike_and_in_one_order(positions, monkeypatch):
    """Whatever the room, the same groups follow each other; no band is larger than it must be, but for one group."""
    monkeypatch.setattr(delivery, "GROUP", 300)
    rules = Rules(3, 14)
    zones, mine, theirs = Zones(rules), Side(rules, 0), Side(rules, 1)
    groups = delivery.groups_of(zones, mine, theirs)
    found = list(delivery.bands(zones, theirs, groups, positions))
    assert [group for band in found for group in band] == groups
    sizes = [len(delivery.Band(zones, mine, theirs, band, np.int8, 0.0, 1.0).values) for band in found]
    assert sum(sizes) == sum(run.size for run in zones.runs_of(0, 1))
    if positions == 1:
        assert len(found) == len(groups)
        return
    assert len(found) == math.ceil(sum(sizes) / positions)
    assert max(sizes) <= min(positions, sum(sizes) / len(sizes) + 300)


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="this system takes no announcements")
@pytest.mark.parametrize("classes", [None, range(7, 12)])
def test_what_is_announced_is_asked_for_in_small_pieces(classes, tmp_path, monkeypatch):
    """Of a large piece the system may fetch only the beginning."""
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "posix_fadvise", lambda handle, at, length, advice: asked.append((at, length)))
    monkeypatch.setattr(strips, "AHEAD", 100)
    rules = Rules(2, 10)
    tiling = Tiling(Side(rules, 0), Side(rules, 1), threads=1)
    with closing(StripFile(tmp_path / "values", tiling, np.int32, create=True)) as file:
        file.announce(12, classes)
    begin, end = tiling.tile[12][[classes.start, classes.stop]] if classes else (0, tiling.tile[12][-1])
    assert len(asked) > 1
    assert all(0 < length <= 100 for _, length in asked)
    assert [at for at, _ in asked] + [4 * (tiling.strip[12] + end)] == [
        4 * (tiling.strip[12] + begin), *(at + length for at, length in asked)
    ]  # fmt: skip


@given(st.data())
def test_packing_is_undone_by_unpacking(data):
    rules = data.draw(st.sampled_from([Rules(1, 8), Rules(2, 8), Rules(3, 8)]))
    f, g = data.draw(st.sampled_from(components(rules)))
    tiling = Tiling(Side(rules, g), Side(rules, f), threads=1)
    strip = data.draw(st.integers(0, tiling.strips - 1))
    dtype = data.draw(st.sampled_from([np.int32, np.float64]))
    start, room = tiling.starts(2)
    numbers = np.random.default_rng(data.draw(st.integers(0, 9)))
    L, R = (numbers.integers(-(2**28), 2**28, room + 16).astype(dtype) for _ in range(2))
    packed = tiling.pack(strip, L, R, start, np.zeros(tiling.longest, dtype))
    assert len(packed) == tiling.tile[strip, -1]
    back_l, back_r = np.zeros_like(L), np.zeros_like(R)
    tiling.unpack(strip, packed, back_l, back_r, start)
    rows, columns = tiling.rows, tiling.columns
    for a in range(rows.class_start[strip], rows.class_start[strip + 1]):
        for b in range(columns.class_start[tiling.first_class(strip)], columns.size):
            if not int(rows.facing[a]) & int(columns.masks[b]):
                assert back_l[start[a] + b] == L[start[a] + b]
                assert back_r[start[a] + b] == R[start[a] + b]
