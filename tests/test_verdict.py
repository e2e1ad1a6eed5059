"""What a solve chooses by itself, whether this computer can do it, and what it can do instead."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from madn.cli import main
from madn.machine import OtherPrograms
from madn.rules import Rules
from madn.solver import make_plan
from madn.solver.estimate import Speed, measured
from madn.solving import planned, solve
from madn.store import verify_database
from madn.verdict import Room, ways

SMALL = Rules(2, 10)
GIB = 1 << 30
SPEED = Speed(5e-9)


# What is chosen


def test_the_whole_game_is_solved_from_disk_beside_its_database_and_rounded() -> None:
    plan = planned(Rules(), "here/four", memory=1000 * GIB)
    assert (plan.scratch, plan.scratch_chosen, plan.resume) == ("here/four.scratch", True, False)
    assert plan.bits == 16
    assert planned(Rules(), "four", bits="full").bits is None
    assert planned(Rules(), "four", bits=20).bits == 20


def test_a_game_that_fits_is_solved_in_memory_as_it_is() -> None:
    plan = planned(Rules(3), "three", memory=2 * GIB)
    assert (plan.scratch, plan.scratch_chosen, plan.bits) == (None, False, None)


@pytest.mark.parametrize(
    ("settings", "scratch"),
    [
        ({"out": "three", "memory": 400 << 20}, "three.scratch"),
        ({"out": "three/", "memory": 400 << 20}, "three.scratch"),
        ({"out": "three", "policy": "moves"}, "three.scratch"),
        ({"out": None, "policy": "moves"}, "moves.scratch"),
        ({"out": "three", "census": True}, "three.scratch"),
        ({"out": "three", "scratch": "mine", "memory": 400 << 20}, "mine"),
        ({"out": None, "memory": 400 << 20}, None),
    ],
)
def test_scratch_files_lie_beside_the_database_unless_told_otherwise(
    settings: dict[str, Any], scratch: str | None
) -> None:
    plan = planned(Rules(3), **settings)
    assert plan.scratch == scratch
    assert plan.scratch_chosen == (scratch not in (None, "mine"))


class StoppedHereError(Exception):
    """Ends a solve from inside."""


def stop_at(part: float) -> Callable[[float, str], None]:
    """Progress that ends the solve once so much is done."""

    def progress(fraction: float, text: str) -> None:
        if fraction >= part:
            raise StoppedHereError

    return progress


@pytest.mark.parametrize("part", [0.0, 0.4, 0.99])
def test_the_same_call_goes_on_where_it_was_and_leaves_nothing_behind(part: float, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"rules": SMALL, "out": tmp_path / "db", "policy": tmp_path / "moves"}
    with pytest.raises(StoppedHereError):
        solve(**settings, progress=stop_at(part))
    assert (tmp_path / "db.scratch").is_dir()
    solve(**settings)
    assert sorted(os.listdir(tmp_path)) == ["db", "moves"]
    assert verify_database(tmp_path / "db", deep=True).ok


def test_other_work_in_the_chosen_place_is_not_touched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings: dict[str, Any] = {"out": tmp_path / "db", "policy": tmp_path / "moves"}
    with pytest.raises(StoppedHereError):
        solve(SMALL, **settings, progress=stop_at(0.4))
    command = f"solve --pieces 2 --squares 12 --out {tmp_path / 'db'} --policy {tmp_path / 'moves'}"
    assert main(command.split()) == 2
    err = capsys.readouterr().err
    assert "holds the unfinished work of another" in err
    again = err.partition("`")[2].partition("`")[0]
    assert main(shlex.split(again)[1:]) == 0  # the command in the message does go on
    assert sorted(os.listdir(tmp_path)) == ["db", "moves"]


def test_a_foreign_directory_in_the_chosen_place_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "db.scratch").mkdir()
    (tmp_path / "db.scratch" / "letter.txt").write_text("not ours")
    assert main(f"solve --pieces 2 --squares 8 --out {tmp_path}/db --policy {tmp_path}/moves".split()) == 2
    assert "db.scratch: not a scratch directory of madn: it holds 'letter.txt'" in capsys.readouterr().err
    assert os.listdir(tmp_path / "db.scratch") == ["letter.txt"]


# What there is instead


def test_every_way_has_the_figures_of_its_own_plan() -> None:
    room = Room(8 * GIB, 50 * GIB)
    found = {way.what: way for way in ways(make_plan(Rules(), scratch="."), room, SPEED)}
    assert list(found) == ["best moves only", "what 0,43/0 can lead to", "3 pieces"]
    assert not found["best moves only"].fits
    part, fewer = found["what 0,43/0 can lead to"], found["3 pieces"]
    assert part.fits
    assert fewer.fits
    plan = planned(Rules(), "4-pieces", board="0,43/0", memory=8 * GIB)
    assert (part.memory_bytes, part.disk_bytes) == (plan.memory_bytes, plan.peak_bytes)
    assert part.command == "madn solve --pieces 4 --for 0,43/0 --out 4-pieces"


def test_the_part_that_is_offered_is_the_largest_that_fits() -> None:
    small, large = (
        next(
            way
            for way in ways(make_plan(Rules(), scratch="."), Room(size * GIB, 500 * GIB), SPEED)
            if "lead" in way.what
        )
        for size in (1, 12)
    )
    assert (small.what, large.what) == ("what 0,42,43/0,43 can lead to", "what 0,43/0 can lead to")
    assert small.memory_bytes <= GIB < large.memory_bytes <= 12 * GIB


def test_from_disk_is_a_way_for_a_solve_in_memory() -> None:
    plan = make_plan(Rules(3))
    way = ways(plan, Room(plan.memory_bytes // 2, 50 * GIB), SPEED)[0]
    assert way.what == "from disk"
    assert way.fits
    assert way.memory_bytes <= plan.memory_bytes // 2


def test_a_proof_from_disk_is_a_way_for_one_in_memory() -> None:
    way = ways(make_plan(Rules(), proved=True), Room(20 * GIB, 100 * GIB), SPEED)[0]
    assert way.what.startswith("proved from disk")
    assert way.command == "madn solve --pieces 4 --proved --scratch 4-pieces"
    assert way.fits
    assert 10 * GIB < way.memory_bytes < 20 * GIB
    assert way.disk_bytes < 75e9
    assert all("--proved" not in other.command for other in ways(make_plan(Rules(2), proved=True), Room(1, 1), SPEED))


def test_house_rules_and_small_boards_are_named_in_the_commands() -> None:
    rules = Rules(3, 24, no_jumping=True)
    for way in ways(make_plan(rules, scratch="."), Room(1 << 27, GIB), SPEED):
        assert "--squares 24 --no-jumping" in way.command


def test_a_refusal_lists_every_way_and_ends_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["solve", "--pieces", "4", "--memory", "1G", "--out", "four"]) == 3
    out, err = capsys.readouterr()
    *other, empty, reason = err.splitlines()
    assert (out, empty) == ("", "")
    needed = make_plan(Rules(), memory=1, scratch=".").memory_bytes / GIB
    assert reason == f"madn: this solve needs {needed:.1f} GiB of memory, but only 1.0 GiB is allowed"
    assert [line.partition(":")[0] for line in other[1::2]] == [
        "  best moves only",
        "  what 0,42,43/0,43 can lead to",
        "  3 pieces",
        "  without solving",
    ]
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("options", ["--pieces 4 --memory 1G", "--pieces 4 --policy moves --memory 1G", "--pieces 2"])
def test_a_plan_says_whether_this_computer_can(
    options: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plan", *options.split(), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    fits = figures["memory_bytes"] <= figures["free_memory_bytes"]
    assert figures["fits"] == fits == ("1G" not in options)
    assert bool(figures["ways"]) != fits
    assert main(["plan", *options.split()]) == 0
    verdict = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("verdict"))
    assert ("yes" in verdict) == fits
    for way in figures["ways"]:
        command = shlex.split(way["command"])[2:]
        assert main(["plan", *command, "--memory", "1G", "--json"]) == 0
        again = json.loads(capsys.readouterr().out)
        assert (again["memory_bytes"], again["total_disk_bytes"]) == (way["memory_bytes"], way["disk_bytes"])


def test_a_plan_needs_a_disk_for_everything_it_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = f"plan --pieces 3 --memory 500M --out {tmp_path}/a --policy {tmp_path}/b --json"
    assert main(both.split()) == 0
    with_moves = json.loads(capsys.readouterr().out)
    assert main(f"plan --pieces 3 --memory 500M --out {tmp_path}/a --bits 8 --json".split()) == 0
    rounded = json.loads(capsys.readouterr().out)
    moves = with_moves["positions"] // 5
    assert with_moves["total_disk_bytes"] > max(with_moves["scratch_bytes"], with_moves["disk_bytes"]) + moves
    assert rounded["scratch_bytes"] < rounded["total_disk_bytes"] < rounded["scratch_bytes"] + rounded["disk_bytes"]
    assert rounded["disk_bytes"] < with_moves["disk_bytes"] / 3
    assert with_moves["seconds"] > rounded["seconds"]


@pytest.mark.parametrize("bits", ["x", "7", "25", "fuller"])
def test_a_wrong_number_of_bits_is_refused(bits: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "--pieces", "1", "--squares", "8", "--bits", bits]) == 2
    assert "bits" in capsys.readouterr().err


# Other programs


@pytest.mark.skipif(not os.path.exists("/proc/stat"), reason="needs Linux")
def test_other_programs_are_noticed() -> None:
    others = OtherPrograms()
    subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.5: pass"], check=True)
    assert others.processors() > 0.2


def test_a_measurement_is_remembered() -> None:
    assert measured(1) is measured(1)
    assert measured(1).update > 0
