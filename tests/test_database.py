"""Answers from a database, compared with a solution computed in plain Python from `Board` alone."""

import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from madn._core import Game
from madn.board import Board, Move
from madn.database import Database, MoveValue, open_database
from madn.errors import (
    ClosedDatabaseError,
    CorruptBlockError,
    IllegalMoveError,
    InvalidBoardError,
    MissingBlockError,
    RulesMismatchError,
)
from madn.rules import Rules
from madn.store import compress_database, reader, write_database

TINY = Rules(pieces=1, squares=8)
RANKING = Game(Rules(1, 8))
ROLLS = range(1, 7)


@cache
def all_boards() -> tuple[Board, ...]:
    return tuple(Board.from_masks(*RANKING.unrank(i), TINY) for i in range(RANKING.positions))


@cache
def solved() -> dict[Board, float]:
    """Value iteration in plain Python, to the last bits."""
    wins = {board: {"own": 1.0, "other": 0.0, None: 0.5}[board.winner] for board in all_boards()}
    rolls = {
        board: [[(board.after(move, roll), roll) for move in board.legal_moves(roll)] for roll in ROLLS]
        for board in all_boards()
        if board.winner is None
    }
    change = 1.0
    while change > 1e-15:
        change = 0.0
        for board, options in rolls.items():
            best = (max(wins[b] if roll == 6 else 1 - wins[b] for b, roll in moves) for moves in options)
            win = sum(best) / 6
            change = max(change, abs(win - wins[board]))
            wins[board] = win
    return wins


@dataclass
class Solved:
    """The solution as a source for `write_database`; `count` positions of it from `first` on if given."""

    representation: str = "float64"
    parts: tuple[tuple[int, int], ...] = ((0, RANKING.positions),)
    rules: Rules = TINY

    def __post_init__(self) -> None:
        values = np.array([solved()[board] for board in all_boards()])
        fixed = np.rint((values - 0.5) * 2**29).astype("<i4")
        self.raw = fixed if self.representation == "fixed32" else values
        running = [board for board in all_boards() if board.winner is None]
        self.min_board = min(running, key=solved().__getitem__)
        self.max_board = max(running, key=solved().__getitem__)

    def ranges(self) -> tuple[tuple[int, int], ...]:
        return self.parts

    def read(self, first: int, out: np.ndarray) -> None:
        out[:] = self.raw[first : first + len(out)]


@pytest.fixture(scope="module", params=["float64", "fixed32"])
def db(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Database:
    path = tmp_path_factory.mktemp(request.param) / "db"
    write_database(path, Solved(request.param), {"method": "plain", "seconds": 0.5}, block_positions=20)
    return open_database(path)


def error_of(db: Database) -> float:
    return 0.0 if db.info()["values"] == "float64" else 2**-30


def test_win_is_the_stored_value(db: Database) -> None:
    for board in all_boards():
        assert abs(db.win(board) - solved()[board]) <= error_of(db)
        if board.winner:
            assert db.win(board) == (board.winner == "own")


def test_a_value_is_the_mean_over_rolls_of_its_best_move(db: Database) -> None:
    for board in all_boards():
        analysis = db.analyse(board)
        assert analysis.board == board
        assert analysis.win == db.win(board)
        if board.winner:
            assert analysis.rolls == ()
            continue
        assert [roll.roll for roll in analysis.rolls] == list(ROLLS)
        mean = sum(roll.win or 0.0 for roll in analysis.rolls) / 6
        assert mean == pytest.approx(analysis.win, abs=1e-12 + 2 * error_of(db))


def test_moves_are_the_legal_ones_with_their_values_best_first(db: Database) -> None:
    for board in all_boards():
        for roll in ROLLS:
            moves = db.moves(board, roll)
            assert {m.move: m.board for m in moves} == {
                move: board.after(move, roll) for move in board.legal_moves(roll)
            }
            for m in moves:
                win = db.win(m.board)
                assert m.win == (win if roll == 6 else 1 - win)
            assert [m.win for m in moves] == sorted((m.win or 0.0 for m in moves), reverse=True)
            if not board.winner:
                assert db.best_move(board, roll) == moves[0].move
                assert db.analyse(board).rolls[roll - 1].moves == moves


@dataclass
class Flat:
    """A source in which every position has the same value."""

    rules: Rules
    value: int = 0
    representation: str = "fixed32"

    @property
    def min_board(self) -> Board:
        return Board.start(self.rules)

    max_board = min_board

    def read(self, first: int, out: np.ndarray) -> None:
        out[:] = self.value


def test_equal_moves_are_ordered_by_descending_start(tmp_path: Path) -> None:
    rules = Rules(pieces=3, squares=8)
    write_database(tmp_path / "db", Flat(rules), {})
    with open_database(tmp_path / "db") as db:
        board = Board.parse("1,3,6/1", rules)
        assert [str(m.move) for m in db.moves(board, 1)] == ["6-7", "3-4", "1-2"]
        assert [str(m.move) for m in db.moves(board, 6)] == ["3-9", "1-7"]
        assert str(db.best_move(board, 1)) == "6-7"
        assert str(db.analyse(board).rolls[5].moves[0].move) == "3-9"


def test_a_finished_game_has_no_best_move(db: Database) -> None:
    for text in ("8/0", "0/8", "b/8"):
        board = Board.parse(text, TINY)
        assert db.moves(board, 3) == ()
        with pytest.raises(IllegalMoveError, match="the game is over"):
            db.best_move(board, 3)


@pytest.mark.parametrize("roll", [0, 7, -1, True, 2.0, "3", None])
def test_rolls_are_1_to_6(db: Database, roll: object) -> None:
    for ask in (db.best_move, db.moves):
        with pytest.raises(IllegalMoveError, match="1 to 6"):
            ask(Board.start(TINY), roll)  # type: ignore[arg-type]


def test_numpy_rolls_are_rolls(db: Database) -> None:
    assert db.best_move(Board.start(TINY), np.int64(3)) == Move(0, 3)


def test_boards_of_other_rules_are_refused(db: Database) -> None:
    board = Board.start(Rules(pieces=1, squares=10))
    for ask in (db.win, db.analyse, db.get_win, lambda b: db.best_move(b, 1), lambda b: db.win_many([b])):
        with pytest.raises(RulesMismatchError, match="1 piece, 10 squares"):
            ask(board)


def test_the_text_of_a_board_does_as_well(db: Database) -> None:
    board = Board.parse("3/5", TINY)
    assert db.win("3/5") == db.win(board) == db.get_win("3/5") == db.win_many(["3/5"])[0]
    assert db.win_many(np.array(["3/5", "0/0"])).tolist() == [db.win("3/5"), db.win("0/0")]
    assert db.best_move("3/5", 2) == db.best_move(board, 2)
    assert db.moves("3/5", 2) == db.moves(board, 2)
    assert db.analyse("3/5") == db.analyse(board)
    for wrong in ("3/7", "9,0/b", "x", 3):
        with pytest.raises(InvalidBoardError):
            db.win(wrong)  # type: ignore[arg-type]


def test_win_many_takes_boards_ids_and_masks(db: Database) -> None:
    rng = np.random.default_rng(5)
    ids = rng.integers(0, RANKING.positions, 3000)
    expected = np.array([db.win(all_boards()[i]) for i in ids])
    boards = [all_boards()[i] for i in ids]
    as_objects = np.empty(len(boards), object)
    as_objects[:] = boards
    masks = np.stack(RANKING.unrank_many(ids.astype(np.int64)), axis=1)
    for many in (ids, ids.astype(np.uint16), boards, as_objects, masks):
        wins = db.win_many(many)
        assert wins.dtype == np.float64
        assert np.array_equal(wins, expected)
    nothing: list[Any] = [[], np.empty(0, np.int64), np.empty((0, 2), np.uint64)]
    for none in nothing:
        assert db.win_many(none).shape == (0,)


@pytest.mark.parametrize(
    "wrong",
    [
        np.array([0, 5, 10**9]),
        np.array([-1]),
        np.array([2**64 - 1], np.uint64),
        np.array([[1, 1], [3, 1]]),
        np.array([[1, 1 << 4]], np.uint64),
        np.array([[-1, 0]]),
        np.array([[1, 2, 3]]),
        np.array([0.5]),
    ],
)
def test_win_many_refuses_what_is_no_position(db: Database, wrong: np.ndarray) -> None:
    with pytest.raises(InvalidBoardError):
        db.win_many(wrong)


def test_positions_that_are_not_stored_are_missing(tmp_path: Path) -> None:
    parts = ((10, 15), (40, 20))
    write_database(tmp_path / "db", Solved(parts=parts), {}, block_positions=8)
    stored = {i for first, count in parts for i in range(first, first + count)}
    with open_database(tmp_path / "db") as db:
        assert db.info()["positions"] == len(stored)
        for i, board in enumerate(all_boards()):
            if i in stored:
                assert db.win(board) == db.get_win(board) == solved()[board]
                assert db.win_many(np.array([i])) == solved()[board]
                continue
            with pytest.raises(MissingBlockError, match=f"{board} is not in this database; .madn solve"):
                db.win(board)
            with pytest.raises(KeyError):
                db.win_many(np.array([i, 12]))
            assert db.get_win(board) is None
            assert db.get_win(board, -1.0) == -1.0


def test_info(db: Database) -> None:
    info = db.info()
    assert info["rules"] == asdict(TINY)
    assert info["positions"] == TINY.positions
    assert info["format"] == 1
    assert info["provenance"] == {"method": "plain", "seconds": 0.5}
    assert info["bytes"] == sum(path.stat().st_size for path in db.path.iterdir())
    assert info["boards"]["start"] == {"board": "0/0", "win": db.win(Board.start(TINY))}
    for name in ("best", "worst"):
        board = info["boards"][name]
        assert db.win(Board.parse(board["board"], TINY)) == board["win"]


@pytest.mark.parametrize("preload", [False, True])
@pytest.mark.parametrize("store", ["values", "policy"])
def test_a_closed_database_says_so_to_every_question(tmp_path: Path, preload: bool, store: str) -> None:
    write_database(tmp_path / "db", Solved(), {})
    compress_database(tmp_path / "db", tmp_path / store, store)
    forced = next(board for board in all_boards() if board.winner is None and len(board.legal_moves(3)) == 1)
    over = next(board for board in all_boards() if board.winner is not None)
    with open_database(tmp_path / store) as db:
        if preload:
            db.preload()
        db.best_move(forced, 3)
    db.close()
    questions: list[Callable[[], object]] = [
        db.info,
        db.preload,
        lambda: db.win_many(np.arange(3)),
        lambda: db.win_many([]),
        *(
            partial(ask, board)
            for ask in (db.win, db.get_win, db.analyse)
            for board in (Board.start(TINY), forced, over)
        ),
        *(partial(ask, board, 3) for ask in (db.best_move, db.moves) for board in (Board.start(TINY), forced, over)),
    ]
    for question in questions:
        with pytest.raises(ClosedDatabaseError, match="the database is closed") as caught:
            question()
        assert type(caught.value) is ClosedDatabaseError


def test_closing_while_threads_read_never_answers_from_another_file(tmp_path: Path) -> None:
    """Files that are opened meanwhile get the numbers of closed descriptors; they hold a database of other values."""
    write_database(tmp_path / "db", Flat(TINY, value=0), {}, block_positions=4)
    write_database(tmp_path / "other", Flat(TINY, value=2**27), {}, block_positions=4)
    other = (tmp_path / "other" / "values-0000.madn", tmp_path / "db" / "values-0000.madn")
    assert other[0].stat().st_size == other[1].stat().st_size
    problems: list[object] = []
    reads = 0

    def ask(db: Database, seed: int) -> None:
        nonlocal reads
        try:
            for i in np.random.default_rng(seed).integers(0, RANKING.positions, 10_000):
                if db.win(all_boards()[i]) != 0.5:
                    problems.append("wrong")
                reads += 1
        except Exception as error:
            if type(error) is not ClosedDatabaseError:
                problems.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for round in range(60):
            db = open_database(tmp_path / "db", cache_bytes=0)
            threads = [threading.Thread(target=ask, args=(db, 3 * round + k)) for k in range(3)]
            for thread in threads:
                thread.start()
            time.sleep(0.002)
            db.close()
            files = [os.open(other[0], os.O_RDONLY) for _ in range(20)]
            for thread in threads:
                thread.join()
            for file in files:
                os.close(file)
    finally:
        sys.setswitchinterval(before)
    assert problems == []
    assert reads > 100


def test_a_read_in_flight_keeps_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database is closed, and its descriptor given to another file, between looking it up and reading."""
    write_database(tmp_path / "db", Flat(TINY, value=0), {}, block_positions=4)
    write_database(tmp_path / "other", Flat(TINY, value=2**27), {}, block_positions=4)
    db = open_database(tmp_path / "db")
    opened: list[int] = []

    def slow(descriptor: int, length: int, offset: int) -> bytes:
        db.close()
        opened.extend(os.open(tmp_path / "other" / "values-0000.madn", os.O_RDONLY) for _ in range(20))
        return os.pread(descriptor, length, offset)

    monkeypatch.setattr(reader, "read_at", slow)
    assert db.win(Board.start(TINY)) == 0.5
    assert descriptors_of(tmp_path / "db") == 0
    for file in opened:
        os.close(file)


def descriptors_of(directory: Path) -> int:
    """How many descriptors of this process lie in a directory; 0 where the system does not say."""
    try:
        links = [os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")]
    except OSError:
        return 0
    return sum(link.startswith(f"{directory}/") or link == str(directory) for link in links)


def test_opening_decodes_nothing_and_the_cache_is_bounded(tmp_path: Path) -> None:
    write_database(tmp_path / "db", Solved(), {}, block_positions=10)
    db = open_database(tmp_path / "db", cache_bytes=200)
    assert db._reader._cached_bytes == 0
    for board in all_boards():
        assert db.win(board) == solved()[board]
        assert db._reader._cached_bytes <= 200
        assert db._reader._cached_bytes == sum(a.nbytes for a in db._reader._cache.values())


def test_threads_share_a_database(tmp_path: Path) -> None:
    write_database(tmp_path / "db", Solved(), {}, block_positions=4)
    wrong = []
    with open_database(tmp_path / "db", cache_bytes=100) as db:

        def ask(seed: int) -> None:
            for i in np.random.default_rng(seed).integers(0, RANKING.positions, 500):
                board = all_boards()[i]
                if db.win(board) != solved()[board]:
                    wrong.append(board)

        threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


@pytest.mark.parametrize("damage", ["cut", "longer", "missing", "link", "directory", "zeros"])
def test_damaged_files_raise_and_never_answer(tmp_path: Path, damage: str) -> None:
    write_database(tmp_path / "db", Solved("fixed32"), {}, block_positions=20)
    values = tmp_path / "db" / "values-0000.madn"
    data = values.read_bytes()
    values.unlink()
    if damage == "link":
        (tmp_path / "aside").write_bytes(data)
        values.symlink_to(tmp_path / "aside")
    elif damage == "directory":
        values.mkdir()
    elif damage != "missing":
        values.write_bytes({"cut": data[:-1], "longer": data + b"x", "zeros": bytes(len(data))}[damage])
    with open_database(tmp_path / "db") as db:
        for board in (Board.start(TINY), Board.parse("8/b", TINY)):
            with pytest.raises(CorruptBlockError) as caught:
                db.win(board)
            assert "\n" not in str(caught.value)
        with pytest.raises(CorruptBlockError):
            db.win_many(np.arange(5))


def test_blocks_that_changed_places_are_found(tmp_path: Path) -> None:
    write_database(tmp_path / "db", Flat(TINY), {}, block_positions=8)
    values = tmp_path / "db" / "values-0000.madn"
    with sqlite3.connect(tmp_path / "db" / "catalogue.sqlite") as connection:
        same = "SELECT a.offset, b.offset, length FROM blocks a JOIN blocks b USING (count, length)"
        a, b, n = connection.execute(f"{same} WHERE a.block < b.block").fetchone()
    data = bytearray(values.read_bytes())
    data[a : a + n], data[b : b + n] = data[b : b + n], data[a : a + n]
    values.write_bytes(data)
    with open_database(tmp_path / "db") as db, pytest.raises(CorruptBlockError, match="SHA-256 mismatch"):
        db.win_many(np.arange(RANKING.positions))


@pytest.mark.skipif(os.open not in os.supports_dir_fd, reason="needs directory descriptors")
def test_a_database_replaced_while_open_is_never_mixed_with_the_new_one(tmp_path: Path) -> None:
    write_database(tmp_path / "db", Flat(TINY, value=0), {})
    db = open_database(tmp_path / "db")
    asked = open_database(tmp_path / "db", cache_bytes=0)
    board, other = Board.start(TINY), Board.parse("3/2", TINY)
    assert asked.win(board) == 0.5
    write_database(tmp_path / "db", Flat(TINY, value=2**27), {})
    assert open_database(tmp_path / "db").win(board) == 0.75
    assert asked.win(board) == asked.win(other) == 0.5
    assert db.win(board) == db.win(other) == 0.5
    assert db.info()["bytes"] == asked.info()["bytes"] > 0


def test_a_database_that_is_replaced_all_the_time_is_the_old_or_the_new_one(tmp_path: Path) -> None:
    write_database(tmp_path / "db", Flat(TINY, value=0), {})
    done = threading.Event()

    def replace() -> None:
        for k in range(20):
            write_database(tmp_path / "db", Flat(TINY, value=(k + 1) % 2 << 27), {})
        done.set()

    writer = threading.Thread(target=replace)
    writer.start()
    answers = set()
    while not done.is_set():
        with open_database(tmp_path / "db") as db:
            answers |= {tuple(db.win_many(np.arange(RANKING.positions)))}
    writer.join()
    assert answers == {(0.5,) * RANKING.positions, (0.75,) * RANKING.positions}


def test_no_directory_no_database(tmp_path: Path) -> None:
    with pytest.raises(CorruptBlockError, match="nothing: no such database"):
        open_database(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError):
        open_database(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("mine")
    for name in ("empty", "file"):
        with pytest.raises(CorruptBlockError, match=f"{name}: no database here") as caught:
            open_database(tmp_path / name)
        assert not isinstance(caught.value, FileNotFoundError)


def test_move_values_are_values(db: Database) -> None:
    first = db.moves(Board.start(TINY), 3)[0]
    assert first == MoveValue(Move(0, 3), first.win, Board.parse("0/3", TINY))
    assert repr(db) == f"open_database({str(db.path)!r})"
