"""Databases written anew in other encodings."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_database import TINY, Solved, all_boards, solved
from test_store import SMALL, Noise, rules_of, tree

from madn.board import Board
from madn.database import open_database
from madn.errors import CorruptBlockError, MadnError, OutputError
from madn.rules import Rules
from madn.store import blocks, compress_database, frames, verify_database, write_database


@pytest.fixture
def solved_db(tmp_path: Path) -> Path:
    write_database(tmp_path / "db", Solved(), {"residual": 1e-15}, block_positions=25)
    return tmp_path / "db"


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.mark.parametrize("bits", range(8, 25))
def test_quantised_values_are_within_the_stated_error(solved_db: Path, tmp_path: Path, bits: int) -> None:
    before = contents(solved_db)
    result = compress_database(solved_db, tmp_path / "new", bits=bits)
    assert contents(solved_db) == before
    assert result["bytes_before"] == sum(map(len, before.values()))
    assert result["bytes_after"] == sum(map(len, contents(tmp_path / "new").values()))
    assert result["bits_per_position"] == 8 * result["bytes_after"] / TINY.positions
    assert 0 < result["max_error"] <= 0.5 / (2**bits - 1) * (1 + 1e-9)
    with open_database(tmp_path / "new") as db:
        assert db.info()["max_error"] == result["max_error"]
        assert db.info()["values"] == f"bits{bits}"
        errors = [abs(db.win(board) - solved()[board]) for board in all_boards()]
        assert max(errors) == pytest.approx(result["max_error"], rel=1e-9)
        assert all(db.win(board) == (board.winner == "own") for board in all_boards() if board.winner)
        assert db.info()["boards"]["start"]["win"] == db.win(Board.start(TINY))
    report = verify_database(tmp_path / "new", deep=True)
    assert report.ok
    assert report.residual is not None
    assert report.residual <= 2 * result["max_error"] + 1e-12


def test_without_bits_the_values_stay_as_they_are(solved_db: Path, tmp_path: Path) -> None:
    result = compress_database(solved_db, tmp_path / "new", level=19)
    assert result["max_error"] == 0
    ids = np.arange(TINY.positions)
    with open_database(solved_db) as old, open_database(tmp_path / "new") as new:
        assert np.array_equal(old.win_many(ids), new.win_many(ids))
    assert verify_database(tmp_path / "new").ok


def test_errors_add_up(solved_db: Path, tmp_path: Path) -> None:
    first = compress_database(solved_db, tmp_path / "a", bits=12)
    second = compress_database(tmp_path / "a", tmp_path / "b", bits=10)
    assert second["max_error"] > first["max_error"]
    with open_database(tmp_path / "b") as db:
        assert max(abs(db.win(b) - solved()[b]) for b in all_boards()) <= second["max_error"]
        done = db.info()["provenance"]["compressed"]
        assert [(step["store"], step["bits"], step["level"]) for step in done] == [("values", 12, 9), ("values", 10, 9)]
    again = compress_database(tmp_path / "a", tmp_path / "c", bits=12)
    assert again["max_error"] == first["max_error"]


@pytest.mark.parametrize(
    "wrong", [{"bits": 7}, {"bits": 25}, {"bits": 8.0}, {"level": 0}, {"level": 23}, {"store": "wavelets"}]
)
def test_wrong_numbers_are_refused(solved_db: Path, tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(MadnError) as caught:
        compress_database(solved_db, tmp_path / "new", **wrong)
    assert str(next(iter(wrong.values()))) in str(caught.value)
    assert not (tmp_path / "new").exists()


def test_a_database_is_never_compressed_onto_itself(solved_db: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(solved_db)
    before = contents(solved_db)
    for target in (solved_db, tmp_path / "link", solved_db / "inside", tmp_path / "link" / "inside"):
        with pytest.raises(OutputError):
            compress_database(solved_db, target)
    assert contents(solved_db) == before


def test_damaged_sources_are_said_and_leave_nothing(solved_db: Path, tmp_path: Path) -> None:
    with pytest.raises(CorruptBlockError):
        compress_database(tmp_path / "nothing", tmp_path / "new")
    values = solved_db / "values-0000.madn"
    data = bytearray(values.read_bytes())
    data[len(data) // 2] ^= 1
    values.write_bytes(data)
    with pytest.raises(CorruptBlockError):
        compress_database(solved_db, tmp_path / "new", bits=8)
    assert tree(tmp_path) == ["db", *(f"db/{name}" for name in sorted(contents(solved_db)))]


def test_a_source_with_values_that_are_no_probabilities_is_refused(tmp_path: Path) -> None:
    source = Solved("fixed32")
    source.raw[77] = 2**28 + 1
    write_database(tmp_path / "db", source, {})
    with pytest.raises(CorruptBlockError, match="not a probability"):
        compress_database(tmp_path / "db", tmp_path / "new", bits=16)


class Stopped(BaseException):
    pass


def stopped_after(blocks_done: int, source: Path, target: Path, **options: Any) -> None:
    def progress(part: float, text: str) -> None:
        if text.startswith(f"block {blocks_done} "):
            raise Stopped

    with pytest.raises(Stopped):
        compress_database(source, target, progress=progress, **options)


@pytest.fixture
def noisy_db(tmp_path: Path) -> Path:
    write_database(tmp_path / "db", Noise(SMALL), {}, block_positions=300)
    return tmp_path / "db"


@pytest.mark.parametrize("file_bytes", [2000, 1 << 30])
def test_stopped_work_goes_on_where_it_was(
    noisy_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_bytes: int
) -> None:
    monkeypatch.setattr(frames, "FILE_BYTES", file_bytes)
    compress_database(noisy_db, tmp_path / "whole", bits=16)
    stopped_after(12, noisy_db, tmp_path / "new", bits=16)
    assert not (tmp_path / "new").exists()
    done = []
    compress_database(noisy_db, tmp_path / "new", bits=16, progress=lambda part, text: done.append(text))
    assert done[0].startswith("block 12 ") or done[0].startswith("block 13 ")
    assert contents(tmp_path / "new") == contents(tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["db", "new", "whole"]


def test_work_of_another_task_is_refused_and_stays(noisy_db: Path, tmp_path: Path) -> None:
    compress_database(noisy_db, tmp_path / "whole", bits=16)
    stopped_after(12, noisy_db, tmp_path / "new", bits=16)
    before = contents(tmp_path / ".new.madn-part")
    with pytest.raises(
        OutputError, match=r"`madn compress \S+db \S+new --store values --level 9 --bits 16` resumes it"
    ):
        compress_database(noisy_db, tmp_path / "new", bits=12)
    assert contents(tmp_path / ".new.madn-part") == before
    compress_database(noisy_db, tmp_path / "new", bits=16)
    assert contents(tmp_path / "new") == contents(tmp_path / "whole")


@pytest.mark.parametrize("damage", ["frames cut", "frame flipped", "journal cut", "journal noise", "more frames"])
def test_what_a_crash_damaged_is_made_again(noisy_db: Path, tmp_path: Path, damage: str) -> None:
    compress_database(noisy_db, tmp_path / "whole", bits=16)
    stopped_after(12, noisy_db, tmp_path / "new", bits=16)
    part = tmp_path / ".new.madn-part"
    values, journal = part / "values-0000.madn", part / "journal"
    if damage == "frames cut":
        os.truncate(values, values.stat().st_size - 5)
    elif damage == "frame flipped":
        data = bytearray(values.read_bytes())
        data[700] ^= 1
        values.write_bytes(data)
    elif damage == "journal cut":
        os.truncate(journal, journal.stat().st_size - 5)
    elif damage == "journal noise":
        journal.write_bytes(journal.read_bytes() + b"\xff\n" + json.dumps([{"block": 1}, 0]).encode() + b"\n")
    else:
        values.write_bytes(values.read_bytes() + bytes(1000))
        (part / "values-0001.madn").write_bytes(b"left")
        (part / "catalogue.sqlite").write_bytes(b"half")
    compress_database(noisy_db, tmp_path / "new", bits=16)
    assert contents(tmp_path / "new") == contents(tmp_path / "whole")


def test_a_replaced_database_is_the_old_one_until_the_end(noisy_db: Path, tmp_path: Path) -> None:
    write_database(tmp_path / "new", Noise(TINY), {})
    stopped_after(12, noisy_db, tmp_path / "new")
    assert rules_of(tmp_path / "new") == TINY
    compress_database(noisy_db, tmp_path / "new")
    assert rules_of(tmp_path / "new") == SMALL


def killed_within(seconds: float, work: Callable[[], object]) -> None:
    """Do some work in a process of its own and kill that after some time."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("options", [{"bits": 16}, {"store": "policy"}])
def test_killed_at_random_moments_there_is_the_old_database_or_a_complete_new_one(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    source, target = tmp_path / "db", tmp_path / "new"
    write_database(source, Noise(Rules(2, 16)), {}, block_positions=500)
    begin = time.perf_counter()
    compress_database(source, tmp_path / "whole", **options)
    usual = time.perf_counter() - begin
    whole = contents(tmp_path / "whole")
    write_database(target, Noise(TINY), {})
    old = contents(target)
    rng = np.random.default_rng(7)
    outcomes = {"old": 0, "new": 0, "resumable": 0}
    for kills in range(300):
        if kills >= 30 and min(outcomes.values()) > 0:
            break
        patience = usual * (0.5 + kills / 30)  # a busy machine may need longer than it did just now
        killed_within(rng.uniform(0, patience), lambda: compress_database(source, target, **options))
        now = {name: data for name, data in contents(target).items() if name != "journal"}
        assert now in (old, whole)
        outcomes["old" if now == old else "new"] += 1
        outcomes["resumable"] += (tmp_path / ".new.madn-part" / "journal").exists()
        if now == whole:
            write_database(target, Noise(TINY), {})  # the next round begins with an old database
    compress_database(source, target, **options)
    assert contents(target) == whole
    assert sorted(path.name for path in tmp_path.iterdir()) == ["db", "new", "whole"]
    assert min(outcomes.values()) > 0, outcomes


def test_every_encoding_is_exact_at_0_and_1() -> None:
    for encoding in blocks.ENCODINGS.values():
        if encoding in blocks.POLICIES:
            continue  # it has no values
        ends = np.array([0.0, 1.0])
        assert encoding.wins(encoding.raws(ends)).tolist() == [0.0, 1.0]
        with_noise = np.random.default_rng(1).random(1000)
        error = np.abs(encoding.wins(encoding.raws(with_noise)) - with_noise).max()
        assert error <= (0.5 / encoding.scale if encoding.dtype != "<f8" else 0) * (1 + 1e-9)
