"""`madn.solving`: solving, storing, resuming, publishing and cleaning up as one call."""

import json
import os
import shutil
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import madn
from madn import Board, MadnError, ResourceError, Rules, open_database
from madn.cli import main
from madn.errors import OutputError, PlanError
from madn.solver import make_plan
from madn.solver import solve as solve_plan
from madn.solving import Result, prepare, solve
from madn.store import verify_database

RULES = Rules(2, 10)
DIGESTS = json.loads((Path(__file__).parent / "block_digests.json").read_text(encoding="ascii"))


def block_digests(directory: Path) -> dict[str, str]:
    """The SHA-256 of each block file, as SHA256SUMS has it."""
    lines = (directory / "SHA256SUMS").read_text(encoding="ascii").splitlines()
    return {name: digest for digest, name in (line.split("  ") for line in lines) if name.startswith("values")}


@pytest.mark.parametrize(
    "name", [name if DIGESTS[name]["quick"] else pytest.param(name, marks=pytest.mark.slow) for name in DIGESTS]
)
def test_block_files_are_those_of_earlier_versions(name: str, tmp_path: Path) -> None:
    """Byte for byte: results do not change with the code that computes them.

    Games of up to 20 million positions are as in version 0.1. Larger ones are as in 0.2, which rounds solved values to
    multiples of 2^-24.
    """
    case: dict[str, Any] = DIGESTS[name]
    settings = dict(case["settings"])
    for directory in ("policy", "scratch"):
        if directory in settings:
            settings[directory] = tmp_path / directory
    solve(Rules(**case["rules"]), tmp_path / "out", **settings)
    assert block_digests(tmp_path / "out") == {"values-0000.madn": case["sha256"]}
    if "policy" in settings:
        assert block_digests(tmp_path / "policy") == {"values-0000.madn": case["policy_sha256"]}


def test_a_solve_says_what_it_found(tmp_path: Path) -> None:
    result = solve(RULES, tmp_path / "db")
    plan = make_plan(RULES)
    solution = solve_plan(plan)
    assert (result.start, result.min, result.max) == (solution.start, solution.min, solution.max)
    assert (result.sweeps, result.updates, result.residual) == (solution.sweeps, solution.updates, solution.residual)
    assert (result.rules, result.positions, result.out) == (RULES, RULES.positions, str(tmp_path / "db"))
    with open_database(tmp_path / "db") as db:
        assert db.win(Board.start(RULES)) == result.win == result.start
        assert db.info()["provenance"]["residual"] == result.residual
    assert verify_database(tmp_path / "db", deep=True).ok


def test_a_result_is_json_and_back(tmp_path: Path) -> None:
    result = solve(RULES, board="8,9/0" if RULES.squares == 0 else None)
    figures = json.loads(json.dumps(result.to_json()))
    assert Result.from_json(figures) == result
    assert figures["rules"] == asdict(RULES)
    assert (figures["pieces"], figures["squares"]) == (2, 10)


def test_the_command_line_prints_the_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "--pieces", "2", "--squares", "10", "--json", "--threads", "1"]) == 0
    printed = json.loads(capsys.readouterr().out)
    result = solve(RULES, threads=1)
    assert printed | {"seconds": 0} == result.to_json() | {"seconds": 0}


def test_nothing_is_stored_without_a_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert solve(Rules(1, 8)).out is None
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("scratch", [False, True])
def test_progress_rises_to_the_end(scratch: bool, tmp_path: Path) -> None:
    told: list[float] = []
    settings: dict[str, Any] = {"scratch": tmp_path / "scratch"} if scratch else {}
    solve(RULES, tmp_path / "db", progress=lambda fraction, text: told.append(fraction), **settings)
    assert all(0 <= a <= b <= 1 for a, b in pairwise(told))
    assert told[-1] == pytest.approx(1.0)


def test_from_disk_as_from_memory(tmp_path: Path) -> None:
    """The same values, rounded or not; only the order of the blocks in the file may differ."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    one = solve(RULES, inside, bits=12)
    two = solve(RULES, outside, bits=12, scratch=tmp_path / "scratch", policy=tmp_path / "policy")
    assert (one.start, one.residual, one.updates) == (two.start, two.residual, two.updates)
    everything = np.arange(RULES.positions)
    with open_database(inside) as a, open_database(outside) as b:
        assert np.array_equal(a.win_many(everything), b.win_many(everything))
    assert verify_database(tmp_path / "policy").ok
    assert os.listdir(tmp_path / "scratch") == []


@pytest.mark.parametrize(
    ("settings", "error", "part"),
    [
        ({"out": ""}, OutputError, "name of a directory is missing"),
        ({"out": None, "census": True}, PlanError, "scratch directory"),
        ({"bits": 3}, PlanError, "bits must be"),
        ({"memory": 1 << 20}, ResourceError, "memory"),
        ({"out": None, "resume": True}, PlanError, "scratch directory"),
        ({"board": "77/0"}, MadnError, "no square 77"),
        ({"tolerance": 0.0}, PlanError, "tolerance"),
    ],
)
def test_what_cannot_be_done_is_refused_before_the_work(
    settings: dict[str, Any], error: type[Exception], part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=part):
        prepare(RULES, **{"out": "db", **settings})
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["out", "policy", "scratch"])
def test_a_place_that_cannot_be_written_is_refused_before_the_work(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    places: dict[str, Any] = {place: tmp_path / place for place in ("out", "policy", "scratch")} | {
        name: tmp_path / "file" / "below"
    }
    with pytest.raises(OutputError, match="below"):
        prepare(RULES, **places)
    assert os.listdir(tmp_path) == ["file"]


def test_the_package_itself_has_solve() -> None:
    assert madn.solve is solve


@pytest.mark.parametrize("scratch", [False, True])
def test_a_disk_without_room_is_refused_before_the_work(
    scratch: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(total=10, used=9, free=1))
    places: dict[str, Any] = {"scratch": tmp_path / "scratch"} if scratch else {}
    with pytest.raises(ResourceError, match="1 are free"):
        prepare(RULES, tmp_path / "db", **places)
    assert os.listdir(tmp_path) == []
