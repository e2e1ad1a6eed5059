"""Answers without a database: who gives them, that they say so, and the cache of what was solved."""

import gc
import os
import pickle
import re
import shutil
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_estimator import FakeEstimator
from hypothesis import given
from strategies import boards, rolls

import madn
from madn import Advisor, Board, Rules, parts, places
from madn.advisor import Probability, estimates_of
from madn.cli import main
from madn.database import DATABASE, ESTIMATE, SOLVED
from madn.errors import (
    IllegalMoveError,
    InvalidBoardError,
    InvalidNumberError,
    MadnWarning,
    MissingBlockError,
    NoAnswerError,
    NoValuesError,
    RulesMismatchError,
)
from madn.machine import lock_directory
from madn.parts import InMemory, Part, Parts, part_of
from madn.ranking import game_of
from madn.solver import make_plan

SMALL = Rules(pieces=2, squares=12)
FOUR = Rules(pieces=4, squares=12)
ENDGAME = "5,13,14,15/3,12,14,15"  # of FOUR: 275 positions


@pytest.fixture(autouse=True)
def no_estimator_but(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[Rules, Any]]:
    """The estimators that are found: none, unless a test adds one."""
    found: dict[Rules, Any] = {}
    monkeypatch.setattr("madn.advisor.find_estimator", found.get)
    estimates_of.cache_clear()
    yield found
    estimates_of.cache_clear()


@pytest.fixture
def guess(no_estimator_but: dict[Rules, Any]) -> None:
    """There is an estimator for the games of these tests."""
    no_estimator_but.update({rules: FakeEstimator(rules) for rules in (FOUR, SMALL, Rules())})


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("databases") / "small"
    madn.solve(SMALL, out=directory)
    return directory


def solves(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The parts that are solved from now on, by their names."""
    done: list[str] = []
    solve = Parts._solve

    def counted(self: Parts, part: Part, *args: Any, **settings: Any) -> Any:
        done.append(part.name)
        return solve(self, part, *args, **settings)

    monkeypatch.setattr(Parts, "_solve", counted)
    return done


# who answers


def test_a_database_is_asked_first(small: Path, tmp_path: Path, guess: None) -> None:
    with madn.open_database(small) as db, Advisor(SMALL, db, cache=tmp_path) as advisor:
        found = advisor.win("3/5")
        assert (found, found.source, found.exact, found.error) == (db.win("3/5"), DATABASE, True, db.error)
        assert not os.listdir(tmp_path)
    with Advisor(database=small) as advisor:  # its path; its rules
        assert advisor.rules == SMALL
        assert advisor.win("3/5") == found
    with pytest.raises(RulesMismatchError, match="holds 2 pieces, 12 squares, not 4 pieces, 40 squares"):
        Advisor(Rules(), small)


def test_a_small_part_is_solved_and_kept(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = solves(monkeypatch)
    with madn.open_database(small) as db, Advisor(SMALL, cache=tmp_path) as advisor:
        found = advisor.win("3,13/5,12")
        assert found.source == SOLVED
        assert found.exact
        assert found == pytest.approx(db.win("3,13/5,12"), abs=1e-12)
        advisor.analyse("4,13/5,13")  # what comes after it is solved already
        assert len(done) == 1
    with Advisor(SMALL, cache=tmp_path) as advisor:
        assert advisor.win("3,13/5,12") == found
        assert len(done) == 1
        advisor.win("0/0")
        assert len(done) == 2
        assert os.listdir(tmp_path) == ["part-1-2x12-00-00"]  # which has the other one in it


def test_what_is_too_large_is_estimated(tmp_path: Path, guess: None) -> None:
    with Advisor(FOUR, cache=tmp_path, limit=1000) as advisor:
        found = advisor.win("0/0")
        assert (found.source, found.exact, found.error) == (ESTIMATE, False, 0.05)
        assert found == FakeEstimator(FOUR).win(1, 1)
        analysis = advisor.analyse("0/0")
        assert (analysis.win, analysis.source, analysis.exact) == (found, ESTIMATE, False)
        assert all(move.source == ESTIMATE for roll in analysis.rolls for move in roll.moves)
        assert advisor.win(ENDGAME).exact
        assert not os.listdir(tmp_path)[1:]


@pytest.mark.parametrize("command", ["analyse 0,5,10,15/0,3", "best-move 0,5,10,15/0,3 4", "win 0,5,10,15/0,3"])
def test_a_person_sees_that_a_number_is_an_estimate(
    command: str, guess: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command.split()) == 0
    answer, estimate = capsys.readouterr().out.split("An estimate: ")
    assert "about " in answer
    assert "root mean square" in estimate
    assert "For an exact answer, solve 16,053,053,985 positions (madn plan shows what that takes):\n" in estimate
    assert "\n  madn solve --pieces 4 --out " in estimate
    assert max(map(len, answer.splitlines())) <= 80
    if command.startswith("analyse"):
        assert "\nroll  best (estimated)  others (estimated)\n" in answer
        assert re.search(r"^ +4  (\d+-\d+ +\d\d\.\d % *){4}$", answer, re.MULTILINE), "all four moves, one line"


def test_a_move_that_ends_the_game_is_no_estimate(tmp_path: Path, guess: None) -> None:
    with Advisor(FOUR, cache=tmp_path, limit=0) as advisor:
        win, *others = advisor.moves("11,13,14,15/0", 1)
        assert (win.win, win.source, win.error, others) == (1.0, SOLVED, 0.0, [])
        assert {move.exact for move in advisor.moves("11,13,14,15/0", 2)} == {False}


def test_nobody_knows(tmp_path: Path) -> None:
    with Advisor(FOUR, cache=tmp_path, limit=1000) as advisor:
        with pytest.raises(
            NoAnswerError, match="no database and no estimator for 4 pieces, 12 squares, and "
        ) as caught:
            advisor.win("0/0")
        assert isinstance(caught.value, MissingBlockError)
        assert "`madn solve --pieces 4 --squares 12 --out " in str(caught.value)
        assert "\n" not in str(caught.value)
        with pytest.raises(NoAnswerError, match="madn solve --pieces 4 --squares 12 --for 0,15/0 "):
            advisor.check("0,15/0")
        advisor.check(ENDGAME)
        advisor.check("12,13,14,15/0")
        assert advisor.get_win("0/0", 0.25) == 0.25
        assert advisor.win("12,13,14,15/0") == 1.0


def test_a_named_database_can_be_the_only_one(small: Path, tmp_path: Path, guess: None) -> None:
    part = tmp_path / "part"
    madn.solve(SMALL, out=part, board="3,13/5,12")
    with Advisor(database=part, limit=0, estimate=False) as advisor:
        assert advisor.win("3,13/5,12").source == DATABASE
        with pytest.raises(MissingBlockError, match="is not in this database; `madn solve"):
            advisor.win("0/0")
    with Advisor(database=part, cache=tmp_path / "cache") as advisor:
        assert advisor.win("0/0").source == SOLVED


def test_best_moves_are_taken_from_a_database_of_them(small: Path, tmp_path: Path, guess: None) -> None:
    assert main(["compress", str(small), str(tmp_path / "best"), "--store", "policy", "--json"]) == 0
    with madn.open_database(tmp_path / "best") as db, Advisor(database=db, cache=tmp_path / "c", limit=0) as advisor:
        assert advisor.best_move("3,4/5", 3) == db.best_move("3,4/5", 3)
        assert advisor.moves("3,4/5", 3)[0].win is None
        assert advisor.win("3,4/5").source == ESTIMATE
    with pytest.raises(NoValuesError):
        Advisor(database=tmp_path / "best", limit=0, estimate=False).win("3,4/5")


# answers


@given(board=boards(SMALL), roll=rolls)
def test_answers_are_those_of_a_database(small: Path, board: Board, roll: int) -> None:
    with madn.open_database(small) as db, Advisor(SMALL) as advisor:
        assert advisor.win(board) == pytest.approx(db.win(board), abs=1e-12)
        found, wanted = advisor.analyse(board), db.analyse(board)
        assert [[m.move for m in r.moves] for r in found.rolls] == [[m.move for m in r.moves] for r in wanted.rolls]
        assert [m.move for m in advisor.moves(board, roll)] == [m.move for m in db.moves(board, roll)]
        if board.winner is None:
            assert advisor.best_move(board, roll) == db.best_move(board, roll)


@given(board=boards(FOUR), roll=rolls)
def test_estimated_moves_follow_the_same_order(board: Board, roll: int) -> None:
    """The best move is the one after which the estimate is best; of equal ones the piece furthest along moves."""
    guess = FakeEstimator(FOUR)
    estimates_of.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("madn.advisor.find_estimator", lambda rules: guess)
        with Advisor(FOUR, limit=0) as advisor:
            moves = advisor.moves(board, roll)
            if board.winner is not None:
                assert moves == ()
                return
            for option in moves:
                after = board.after(option.move, roll)
                value = float(after.winner == "own") if after.winner else guess.win(*after.masks)
                assert option.win == (value if roll == 6 else 1 - value)
                assert option.board == after
            key = [(-(m.win or 0), -(-1 if m.move.start is None else m.move.start)) for m in moves]
            assert key == sorted(key)
            assert advisor.best_move(board, roll) == moves[0].move


def test_many_at_once(small: Path, tmp_path: Path, guess: None) -> None:
    with Advisor(FOUR, cache=tmp_path, limit=1000) as advisor:
        asked = ["0/0", ENDGAME, "12,13,14,15/0", "0/12,13,14,15", "3,5/0", ENDGAME]
        wins = advisor.win_many(asked)
        assert wins.tolist() == [advisor.win(board) for board in asked]
        assert advisor.exact_many(asked).tolist() == [advisor.win(board).exact for board in asked]
        ids = np.array([madn.rank(Board.parse(board, FOUR)) for board in asked])
        assert advisor.win_many(ids).tolist() == wins.tolist()
        assert advisor.win_many([]).shape == (0,)
    with Advisor(SMALL, small) as advisor, madn.open_database(small) as db:
        ids = np.arange(0, SMALL.positions, 97)
        assert (advisor.win_many(ids) == db.win_many(ids)).all()
        assert advisor.exact_many(ids).all()


def test_what_a_probability_carries() -> None:
    found = Probability(0.25, ESTIMATE, 0.01)
    assert found == 0.25
    assert repr(found) == "0.25"
    assert (found.exact, found.source, found.error) == (False, ESTIMATE, 0.01)
    copy = pickle.loads(pickle.dumps(found))
    assert (copy, copy.source, copy.error) == (found, ESTIMATE, 0.01)
    assert Probability(1.0, SOLVED, 0.0).exact


def test_bad_questions(tmp_path: Path) -> None:
    with Advisor(SMALL, cache=tmp_path) as advisor:
        with pytest.raises(InvalidBoardError):
            advisor.win("99/0")
        with pytest.raises(RulesMismatchError, match="this advisor is for 2 pieces, 12 squares"):
            advisor.win(Board.start())
        with pytest.raises(IllegalMoveError, match="the game is over"):
            advisor.best_move("12,13/0", 3)
        with pytest.raises(IllegalMoveError):
            advisor.moves("3/5", 7)
        assert advisor.best_move("3/5", 1) == madn.Move(3, 4)  # forced: nobody is asked
        assert not os.listdir(tmp_path)
    with pytest.raises(InvalidNumberError):
        Advisor(SMALL, limit=-1)
    with pytest.raises(madn.InvalidTypeError):
        Advisor("4 pieces")  # type: ignore[arg-type]


# databases that are found


def test_databases_are_found(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home" / "madn"
    shutil.copytree(small, home / "small")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "platform", "linux")
    with Advisor(SMALL) as advisor:
        assert [db.path for db in advisor.databases] == [home / "small"]
        assert advisor.win("0/0").source == DATABASE
    monkeypatch.setenv("MADN_DATABASES", os.pathsep.join([str(small), str(tmp_path)]))  # itself; below: none
    with Advisor(SMALL) as advisor:
        assert [db.path for db in advisor.databases] == [small, home / "small"]
    with Advisor(Rules(2, 14)) as advisor:
        assert advisor.databases == []


def test_a_database_is_written_where_it_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The directory that answers name is made for it; other directories that are not there are a mistake."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    home = places.data_directory()
    assert home is not None
    with Advisor(SMALL, limit=0, estimate=False) as advisor:
        command, positions = advisor.remedy("0/0") or ("", 0)
    assert (command.split()[:2], command.split()[-1], positions) == (
        ["madn", "solve"],
        str(home / "NAME"),
        SMALL.positions,
    )
    assert main(["solve", "--pieces", "2", "--squares", "12", "--out", str(tmp_path / "no" / "small"), "--json"]) == 2
    assert main([*command.replace("WORK", str(tmp_path / "work")).split()[1:], "--json"]) == 0
    with Advisor(SMALL, limit=0, estimate=False) as advisor:
        assert advisor.win("0/0").source == DATABASE


def test_the_most_exact_database_is_asked_first(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(small, tmp_path / "z-fine")
    assert main(["compress", str(small), str(tmp_path / "a-coarse"), "--bits", "8", "--json"]) == 0
    monkeypatch.setenv("MADN_DATABASES", str(tmp_path))
    with Advisor(SMALL) as advisor:
        assert [db.path.name for db in advisor.databases] == ["z-fine", "a-coarse"]


def test_the_database_of_the_package_counts() -> None:
    with Advisor(Rules(2)) as advisor, madn.open_database() as db:
        found = advisor.win("0/0")
        assert (found, found.source) == (db.win("0/0"), DATABASE)
        assert found.error == pytest.approx(2e-5, rel=0.01)


def test_what_cannot_be_used_is_a_warning(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(small, tmp_path / "broken")
    (tmp_path / "broken" / "catalogue.sqlite").write_bytes(b"no")
    monkeypatch.setenv("MADN_DATABASES", os.pathsep.join([str(tmp_path), str(tmp_path / "nowhere")]))
    with pytest.warns(MadnWarning) as caught:
        advisor = Advisor(SMALL, cache=tmp_path / "cache")
    with advisor:
        assert advisor.databases == []
        assert advisor.win("3,13/5,12").source == SOLVED
    messages = [str(warning.message) for warning in caught]
    assert any("broken" in message for message in messages)
    assert any("nowhere: No such file" in message for message in messages)


def test_where_things_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("MADN_CACHE", "XDG_CACHE_HOME", "XDG_DATA_HOME", "LOCALAPPDATA", "MADN_CACHE_SIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for platform, data, cache in (
        ("linux", ".local/share/madn", ".cache/madn"),
        ("freebsd14", ".local/share/madn", ".cache/madn"),
        ("darwin", "Library/Application Support/madn", "Library/Caches/madn"),
        ("win32", "AppData/Local/madn/databases", "AppData/Local/madn/cache"),
    ):
        monkeypatch.setattr(sys, "platform", platform)
        assert places.data_directory() == tmp_path / data
        assert places.cache_directory() == tmp_path / cache
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert places.cache_directory() == tmp_path / ".cache" / "madn"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert places.cache_directory() == tmp_path / "x" / "madn"
    monkeypatch.setenv("MADN_CACHE", "here")
    assert places.cache_directory() == Path("here")
    assert places.cache_bytes() == 1 << 30
    monkeypatch.setenv("MADN_CACHE_SIZE", "1.5M")
    assert places.cache_bytes() == 3 << 19
    monkeypatch.setenv("MADN_CACHE_SIZE", "large")
    with pytest.raises(InvalidNumberError, match="MADN_CACHE_SIZE: 'large' is not a size"):
        Advisor(SMALL)


# parts


@pytest.mark.parametrize("rules", [SMALL, Rules(3, 10), Rules(4, 8, no_jumping=True)])
def test_a_part_is_what_a_plan_solves(rules: Rules) -> None:
    full = (1 << rules.pieces) - 1
    for f in range(full):
        for g in range(full):
            part = part_of(rules, f << rules.squares, g << rules.squares)
            assert part is not None
            assert part.positions == make_plan(rules, board=part.board).positions
            assert part_of(rules, g << rules.squares, f << rules.squares) == part
            assert parts._named(part.name) == part
    assert part_of(rules, full << rules.squares, 0) is None
    whole = part_of(rules, 0, 0)
    assert whole is not None
    assert whole.positions == rules.positions


def test_how_a_game_starts_makes_no_part_of_its_own() -> None:
    house, other = Rules.house(4), Rules(4, three_rolls=True, no_jumping=True, must_capture=True)
    assert part_of(house, 0, 0) == part_of(other, 0, 0) != part_of(Rules(), 0, 0)


@pytest.mark.parametrize(
    "name", ["", "part", "part-1-2x12-00-0x", "part-1-9x12-00-00", "part-1-2x12-chess-00-00", "part-1-2x12-11-00",
             "part-1-2x12-01-10", "part-2-2x12-00-00", "part-1-2x12-000-00", "part-1-02x12-00-00"],
)  # fmt: skip
def test_other_names_are_no_parts(name: str) -> None:
    assert parts._named(name) is None


def test_answers_from_memory_are_those_from_the_cache(tmp_path: Path) -> None:
    part = part_of(SMALL, 1 << 12, 2 << 12)
    assert part is not None
    kept, held = Parts(tmp_path, 1 << 30), Parts(None, 1 << 30)
    stored, memory = (store.get(part, lambda fraction, text: None) for store in (kept, held))
    assert isinstance(memory, InMemory)
    assert stored.error == memory.error
    own, other = Board.parse("3,12/5,13", SMALL).masks
    assert stored.engine.analyse(own, other) == memory.engine.analyse(own, other)
    assert stored.engine.tie == memory.engine.tie
    ids = np.array([madn.rank(Board.parse(text, SMALL)) for text in ("3,12/5,13", "12/13", "5,13/4,13", "12,13/5,13")])
    assert (stored.win_many(ids) == memory.win_many(ids)).all()
    start, end, captures = memory.engine.best_moves(ids[:3], np.array([1, 6, 2]))
    assert [column.tolist() for column in stored.engine.best_moves(ids[:3], np.array([1, 6, 2]))] == [
        column.tolist() for column in (start, end, captures)
    ]
    kept.close()


# the cache


def damaged_parts(directory: Path) -> Iterator[str]:
    """Damage a part in ways that its digests, its name or its catalogue give away."""
    (part,) = directory.glob("part-*")
    whole = directory.parent / "whole"
    shutil.copytree(part, whole)
    values = part / "values-0000.madn"

    def fresh() -> None:
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(whole, part)

    data = bytearray(values.read_bytes())
    data[len(data) // 2] ^= 4
    values.write_bytes(data)
    yield "a flipped bit"
    fresh()
    values.write_bytes(values.read_bytes()[:-1])
    yield "cut off"
    fresh()
    values.unlink()
    yield "a missing file"
    fresh()
    (part / "catalogue.sqlite").write_bytes(b"")
    yield "an empty catalogue"
    fresh()
    shutil.rmtree(part)
    part.mkdir()
    yield "an empty directory"
    shutil.rmtree(part)
    madn.solve(Rules(2, 14), out=part, board="13,14/0")
    yield "another game"
    shutil.rmtree(part)
    madn.solve(SMALL, out=part, board="13/13")
    yield "another part"


def test_a_damaged_part_is_solved_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    with Advisor(SMALL, cache=cache) as advisor:
        wanted = advisor.win("3,13/5,12")
    done = solves(monkeypatch)
    for number, damage in enumerate(damaged_parts(cache), 1):
        with Advisor(SMALL, cache=cache) as advisor:
            found = advisor.win("3,13/5,12")
            assert (found, found.source) == (wanted, SOLVED), damage
        assert len(done) == number, damage
        with Advisor(SMALL, cache=cache) as advisor:  # and it is whole again
            assert advisor.win("3,13/5,12") == wanted
        assert len(done) == number, damage


@pytest.mark.parametrize("removable", [True, False])
def test_all_parts_that_have_a_position_are_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, removable: bool
) -> None:
    """The part that is asked for and a larger one around it; in a cache that cannot be changed neither goes away."""
    with Advisor(SMALL, cache=tmp_path / "small") as advisor:
        wanted = advisor.win("3,13/5,12")
    with Advisor(SMALL, cache=tmp_path / "large") as advisor:
        advisor.win("0/0")
    shutil.copytree(tmp_path / "large", tmp_path / "small", dirs_exist_ok=True)
    files = sorted((tmp_path / "small").glob("part-*/values-0000.madn"))
    assert len(files) == 2
    for file in files:
        file.write_bytes(bytes(byte ^ 1 for byte in file.read_bytes()))
    if not removable:
        monkeypatch.setattr("madn.parts.remove_database", lambda path: None)
    done = solves(monkeypatch)
    with Advisor(SMALL, cache=tmp_path / "small") as advisor, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = advisor.win("3,13/5,12")
        assert (found, found.source) == (wanted, SOLVED)
        assert advisor.win("3,13/5,12") == wanted
    assert len(done) == 1


def test_damage_while_it_is_open(tmp_path: Path) -> None:
    rules = Rules(2, 20)
    with Advisor(rules, cache=tmp_path) as advisor:
        wanted = advisor.win("0/0")
        (values,) = tmp_path.glob("part-*/values-0000.madn")
        advisor.parts.close()
        data = bytearray(values.read_bytes())
        data[:] = bytes(byte ^ 1 for byte in data)
        values.write_bytes(data)
        assert advisor.win("0/0") == wanted
        assert [advisor.win(text) for text in ("3/5", "0,3/2,20")] == pytest.approx(
            [Advisor(rules, cache=tmp_path).win(text) for text in ("3/5", "0,3/2,20")]
        )


@pytest.mark.skipif(os.name != "posix" or not hasattr(os, "geteuid"), reason="permissions")
def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = solves(monkeypatch)
    with Advisor(SMALL, cache=tmp_path / "file" / "cache") as advisor:
        with pytest.warns(MadnWarning, match="solved parts are not kept: .*; set MADN_CACHE to use another directory"):
            found = advisor.win("3,13/5,12")
        assert found.source == SOLVED
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # it is said once
            assert advisor.win("3,13/5,12") == found
            advisor.win("0/0")
        assert len(done) == 2


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **settings: object) -> None:
        raise madn.ResourceError("cannot be written, nothing was changed: No space left on device")

    monkeypatch.setattr("madn.solving.write_database", full)
    with Advisor(SMALL, cache=tmp_path) as advisor:
        with pytest.warns(MadnWarning, match="No space left on device"):
            assert advisor.win("3,13/5,12").exact
        assert not list(tmp_path.iterdir())


def test_foreign_files_are_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / "part-1-2x12-00-10"  # what the part will be called, with something of somebody else in it
    mine.mkdir()
    (mine / "thesis.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "letters").mkdir()
    (tmp_path / "part-0-2x12-00-10").write_text("mine", encoding="utf-8")
    with (
        pytest.warns(MadnWarning, match=r"'thesis.txt' is not part of a database"),
        Advisor(SMALL, cache=tmp_path) as a,
    ):
        assert a.win("3,12/5").source == SOLVED
    assert sorted(os.listdir(tmp_path)) == ["letters", "part-0-2x12-00-10", "part-1-2x12-00-10"]
    assert os.listdir(mine) == ["thesis.txt"]


def test_what_was_used_longest_ago_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [12, 14, 16, 18]
    for squares in sizes:
        with Advisor(Rules(2, squares), cache=tmp_path) as advisor:
            advisor.win(f"3,{squares}/5")
    names = {path.name: path for path in tmp_path.glob("part-*")}
    assert len(names) == 4
    for age, squares in enumerate((16, 12, 18, 14)):  # 14 was used longest ago
        (path,) = (path for name, path in names.items() if f"x{squares}-" in name)
        os.utime(path, (1e9 - age, 1e9 - age))
    with Advisor(Rules(2, 12), cache=tmp_path) as advisor:
        advisor.win("3,12/5")  # used now
    most = sum(file.stat().st_size for path in names.values() for file in path.iterdir())
    monkeypatch.setenv("MADN_CACHE_SIZE", str(most))
    with Advisor(Rules(2, 10), cache=tmp_path) as advisor:
        advisor.win("3,10/5")
        assert advisor.win("3,10/5").source == SOLVED
    left = sorted(path.name for path in tmp_path.glob("part-*"))
    assert "part-1-2x10-00-10" in left
    assert "part-1-2x12-00-10" in left
    assert "part-1-2x14-00-10" not in left


def test_a_part_larger_than_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MADN_CACHE_SIZE", "1K")
    with Advisor(SMALL, cache=tmp_path) as advisor, pytest.warns(MadnWarning, match="MADN_CACHE_SIZE allows 1,024"):
        assert advisor.win("3,12/5").source == SOLVED
    assert list(tmp_path.iterdir()) == []


def test_leftovers_of_killed_writers_go(tmp_path: Path) -> None:
    for name in (".part-1-2x12-00-10.madn-part", ".part-1-2x30-00-00.madn-old", "part-0-2x12-00-10", ".mine"):
        (tmp_path / name).mkdir()
    (tmp_path / ".part-1-2x12-00-10.madn-part" / "values-0000.madn").write_bytes(b"half")
    with Advisor(SMALL, cache=tmp_path) as advisor:
        advisor.win("3,12/5")
    assert sorted(os.listdir(tmp_path)) == [".mine", "part-1-2x12-00-10"]


@pytest.mark.skipif(os.name != "posix", reason="directories are not locked there")
def test_another_process_that_is_solving_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = lock_directory(tmp_path)
    assert lock is not None
    threading.Timer(0.3, os.close, [lock]).start()
    texts: list[str] = []
    with Advisor(SMALL, cache=tmp_path, progress=lambda fraction, text: texts.append(text)) as advisor:
        began = time.monotonic()
        assert advisor.win("3,12/5").source == SOLVED
        assert time.monotonic() - began > 0.2
    assert "another process is solving" in texts
    assert len(list(tmp_path.iterdir())) == 1
    lock = lock_directory(tmp_path)
    monkeypatch.setattr(parts, "PATIENCE", 0.1)
    with Advisor(Rules(2, 14), cache=tmp_path) as advisor, pytest.warns(MadnWarning, match="another process"):
        assert advisor.win("3,14/5").source == SOLVED  # but not for ever
    os.close(lock or 0)
    assert len(list(tmp_path.iterdir())) == 1


def test_two_processes_solve_the_same_part(tmp_path: Path) -> None:
    code = "import madn, sys; print(repr(float(madn.Advisor(madn.Rules(2, 24), cache=sys.argv[1]).win('0/0'))))"
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    found = [process.communicate() for process in running]
    assert len({out for out, _ in found}) == 1
    assert {err for _, err in found} == {b""}
    assert os.listdir(tmp_path) == ["part-1-2x24-00-00"]


def test_threads_share_an_advisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = solves(monkeypatch)
    with Advisor(SMALL, cache=tmp_path) as advisor:
        found: list[float] = []
        threads = [threading.Thread(target=lambda: found.append(advisor.win("3,12/5"))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert len(done) == 1


def test_too_little_memory_is_an_estimate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guess: None) -> None:
    monkeypatch.setattr("madn.machine.available_memory", lambda: 1)
    with Advisor(SMALL, cache=tmp_path) as advisor:
        assert advisor.win("0/0").source == ESTIMATE
    with Advisor(SMALL, cache=tmp_path, estimate=False) as advisor, pytest.raises(NoAnswerError, match="of memory"):
        advisor.win("0/0")


def test_memory_is_bounded_without_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "IN_MEMORY", 3000)
    held = Parts(None, 0)
    for f, g in ((1, 1), (2, 1), (2, 2), (0, 2)):
        part = part_of(SMALL, f << 12, g << 12)
        assert part is not None
        held.get(part, lambda fraction, text: None)
    assert sum(part.positions for part in held._open) <= 3000


def test_few_stored_parts_are_open_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that was used longest ago makes room; it is opened again, not solved again, when somebody asks."""
    monkeypatch.setattr(parts, "OPEN", 2)
    held = Parts(tmp_path, 1 << 30)
    listed = []
    for f, g in ((7, 14), (11, 13), (12, 14)):  # none has another in it
        part = part_of(FOUR, f << 12, g << 12)
        assert part is not None
        listed.append((part, held.get(part, lambda fraction, text: None)))
    (oldest, before), *_ = listed
    assert [*held._open] == [part for part, _ in listed[1:]]
    ids = np.array([game_of(FOUR).rank(*Board.parse(oldest.board, FOUR).masks)])
    expected = before.win_many(ids)  # whoever has it goes on reading
    monkeypatch.setattr(Parts, "_solve", lambda *args, **more: pytest.fail("it was solved again"))
    again = held.opened(oldest)
    assert again is not None
    assert again is not before
    assert again.win_many(ids) == expected
    assert [*held._open] == [listed[2][0], oldest]
    shutil.rmtree(tmp_path / listed[1][0].name)
    assert held.opened(listed[1][0]) is None
    held.close()
    assert held.opened(oldest) is None


# in the background


def test_in_the_background(tmp_path: Path, guess: None) -> None:
    with Advisor(FOUR, cache=tmp_path, wait=False) as advisor:
        board = Board.parse(ENDGAME, FOUR)
        asked = advisor.ask(board, lambda values: values.engine.win(*board.masks))
        assert (asked.source, asked.final) == (ESTIMATE, False)
        end = time.monotonic() + 20
        while not asked.final and time.monotonic() < end:
            time.sleep(0.01)
            asked = advisor.ask(board, lambda values: values.engine.win(*board.masks))
        assert (asked.source, asked.final) == (SOLVED, True)
        assert asked.answer == Advisor(FOUR, cache=tmp_path).win(ENDGAME)


def test_nothing_is_solved_again_and_again_in_the_background(
    tmp_path: Path, guess: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a cache strangers could keep a server busy: then it goes on estimating."""
    monkeypatch.setenv("MADN_CACHE_SIZE", "1")
    done = solves(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Advisor(FOUR, cache=tmp_path, wait=False) as advisor:
            advisor.win(ENDGAME)
            assert advisor._background is not None
            advisor._background.join()
            assert advisor.win(ENDGAME).source == SOLVED  # what is solved is solved
            board = Board.parse("12,13/12,13", FOUR)
            asked = advisor.ask(board, lambda values: values.engine.win(*board.masks))
            assert (asked.source, asked.final) == (ESTIMATE, True)
    assert len(done) == 1


def test_nothing_stays_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(20):
        with Advisor(SMALL, cache=tmp_path) as advisor:
            advisor.win("3,12/5")
    gc.collect()
    if before:
        assert len(os.listdir("/proc/self/fd")) <= before + 2
    with Advisor(Rules(2)) as advisor:
        pass
    with pytest.raises(madn.ClosedDatabaseError):
        advisor.win("0/0")
