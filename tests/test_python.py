"""A database as Python expects it: a container of boards, to be pickled, forked, and asked for many moves at once."""

import copy
import multiprocessing
import os
import pickle
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, assert_type
from xml.etree import ElementTree

import numpy as np
import pytest

import madn
from madn import Analysis, BestMoveDatabase, Board, Database, MoveValue, RollValue, Rules, ValueDatabase
from madn.errors import (
    ClosedDatabaseError,
    CorruptBlockError,
    IllegalMoveError,
    InvalidBoardError,
    MissingBlockError,
    NoValuesError,
)
from madn.store import compress_database

SMALL = Rules(pieces=2, squares=8)
HOUSE = Rules.house(pieces=2, squares=8)
ROLLS = range(1, 7)
FORK = "fork" in multiprocessing.get_all_start_methods()


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Solved games as values and as best moves, and a part of one."""
    place = tmp_path_factory.mktemp("python")
    for name, rules in (("small", SMALL), ("house", HOUSE)):
        madn.solve(rules, out=place / name)
        compress_database(place / name, place / f"{name} moves", store="policy")
    madn.solve(SMALL, out=place / "part", board="8/3,8")
    return {path.name: path for path in place.iterdir()}


@pytest.fixture
def small(places: dict[str, Path]) -> Iterator[ValueDatabase]:
    with madn.open_database(places["small"], values=True) as db:
        yield db


def test_a_database_is_a_container_of_boards(small: ValueDatabase) -> None:
    boards = list(small)
    assert len(small) == len(boards) == SMALL.positions
    assert [madn.rank(board) for board in boards] == list(range(SMALL.positions))
    assert all(board in small for board in boards)
    assert "0/0" in small
    assert Board.start(HOUSE) not in small
    assert bool(small)
    wrongs: list[Any] = ["0/0/0", 3, "99/0"]
    for wrong in wrongs:
        with pytest.raises(InvalidBoardError):
            _ = wrong in small


def test_a_part_of_a_game_contains_what_is_stored(places: dict[str, Path]) -> None:
    with madn.open_database(places["part"]) as db:
        inside = list(db)
        assert 0 < len(inside) == len(db) < SMALL.positions
        ids = [madn.rank(board) for board in inside]
        assert ids == sorted(set(ids))
        for number in range(0, SMALL.positions, 7):
            board = madn.unrank(number, SMALL)
            assert (board in db) == (number in set(ids)) == (db.get_win(board) is not None)


def test_a_closed_database_contains_nothing_to_ask(places: dict[str, Path]) -> None:
    db = madn.open_database(places["small"])
    going = iter(db)
    next(going)
    db.close()
    for ask in (lambda: len(db), lambda: "0/0" in db, lambda: list(db), lambda: next(going), lambda: pickle.dumps(db)):
        with pytest.raises(ClosedDatabaseError):
            ask()
    with pytest.raises(ClosedDatabaseError):
        db.best_moves([], [])


@pytest.mark.parametrize("name", ["small", "small moves", "house", "house moves"])
@pytest.mark.parametrize("preload", [False, True])
def test_best_moves_of_many_are_those_of_each(places: dict[str, Path], name: str, preload: bool) -> None:
    with madn.open_database(places[name], cache_bytes=1 << 12) as db:
        if preload:
            db.preload()
        open_ids = np.array([i for i, board in enumerate(db) if board.winner is None])
        some = np.random.default_rng(1).choice(open_ids, 4000)
        rolls = np.random.default_rng(2).integers(1, 7, len(some))
        moves = db.best_moves(some, rolls)
        assert moves.shape == (len(some),)
        for number, roll, found in zip(some.tolist(), rolls.tolist(), moves.tolist(), strict=True):
            move = db.best_move(madn.unrank(number, db.rules), roll)
            start, end = (-1 if square is None else square for square in (move.start, move.end))
            assert found == (start, end, move.captures)
        masks = madn.unrank_many(some, db.rules)
        boards = [madn.unrank(number, db.rules) for number in some[:50]]
        assert np.array_equal(db.best_moves(masks, rolls), moves)
        assert np.array_equal(db.best_moves(boards, rolls[:50].tolist()), moves[:50])
        assert np.array_equal(db.best_moves(list(map(str, boards)), rolls[:50].astype(np.uint8)), moves[:50])
        assert np.array_equal(db.best_moves(some, 6), db.best_moves(some, np.full(len(some), 6)))
        assert db.best_moves([], []).shape == db.best_moves([], 3).shape == (0,)


def test_best_moves_in_several_parts(small: ValueDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = np.array([i for i, board in enumerate(small) if board.winner is None])
    whole = small.best_moves(ids, 3)
    monkeypatch.setattr("madn.database.AT_ONCE", 100)
    assert np.array_equal(small.best_moves(ids, 3), whole)


@pytest.mark.parametrize("rolls", [0, 7, 2.0, None, [1], [1, 2, 7], [1, 2.5, 3], ["1", "2", "3"], [[1, 2, 3]], True])
def test_what_is_no_roll_is_refused(small: ValueDatabase, rolls: Any) -> None:
    with pytest.raises(IllegalMoveError, match="roll"):
        small.best_moves(["0/0", "1/0", "2/0"], rolls)


def test_the_position_without_an_answer_is_named(small: ValueDatabase, places: dict[str, Path]) -> None:
    with pytest.raises(IllegalMoveError, match="position 1: board '8,9/0': the game is over"):
        small.best_moves(["0/0", "8,9/0"], 1)
    with pytest.raises(InvalidBoardError, match="position 1: ID -3"):
        small.best_moves(np.array([0, -3]), 1)
    with madn.open_database(places["part"]) as part:
        with pytest.raises(MissingBlockError):
            part.best_moves(["0/0", "0,3/0"], 1)
        assert part.best_moves(["0/0"], 1).tolist() == [(0, 1, False)]  # forced


def test_type_checkers_tell_values_from_best_moves(places: dict[str, Path]) -> None:
    """mypy reads this test as well."""
    with madn.open_database() as embedded:
        assert_type(embedded, ValueDatabase)
        assert_type(embedded.analyse("0/0"), Analysis[float])
        assert embedded.analyse("0/0").win > 0.5
    with madn.open_database(places["small"], values=True) as db:
        assert_type(db.moves("0/0", 3), tuple[MoveValue[float], ...])
        assert db.moves("0/0", 3)[0].win < 1.0
        assert_type(db.analyse("0/0").rolls, tuple[RollValue[float], ...])
    with madn.open_database(places["small moves"]) as some:
        assert_type(some, Database)
        assert_type(some.analyse("0/0").win, float | None)
        assert isinstance(some, BestMoveDatabase)
        assert_type(some.analyse("0/0"), Analysis[None])
        with pytest.raises(NoValuesError, match="best moves, not winning probabilities"):
            some.win("0/0")
    with madn.open_database(places["small moves"]) as some, pytest.raises(NoValuesError):
        some.win_many(["0/0"])
    with pytest.raises(NoValuesError, match="stores best moves, not winning probabilities"):
        madn.open_database(places["small moves"], values=True)


@pytest.mark.parametrize("name", ["small", "small moves", "part", None])
def test_a_pickled_database_answers_the_same(places: dict[str, Path], name: str | None) -> None:
    with madn.open_database(None if name is None else places[name], cache_bytes=12345) as db:
        for twin in (pickle.loads(pickle.dumps(db)), copy.copy(db), copy.deepcopy(db)):
            assert type(twin) is type(db)
            assert twin._reader.cache_bytes == 12345
            assert twin.best_move("0/0", 4) == db.best_move("0/0", 4)
            twin.close()
        assert db.best_move("0/0", 4).end == 4


def test_a_relative_path_is_pickled_as_it_was_meant(places: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(places["small"].parent)
    with madn.open_database("small") as db:
        pickled = pickle.dumps(db)
        monkeypatch.chdir("/")
        assert pickle.loads(pickled).win("0/0") == db.win("0/0")


def test_another_database_in_the_place_of_a_pickled_one_is_refused(tmp_path: Path) -> None:
    madn.solve(Rules(1, 8), out=tmp_path / "db")
    with madn.open_database(tmp_path / "db") as db:
        pickled = pickle.dumps(db)
    os.rename(tmp_path / "db", tmp_path / "aside")
    with pytest.raises(FileNotFoundError):
        pickle.loads(pickled)
    madn.solve(Rules(1, 10), out=tmp_path / "db")
    with pytest.raises(CorruptBlockError, match="not the database that was pickled"):
        pickle.loads(pickled)


def answers(db: Database, seed: int) -> list[object]:
    ids = np.random.default_rng(seed).integers(0, db.rules.positions, 300)
    boards = [madn.unrank(number, db.rules) for number in ids]
    return [*(db.win(board) for board in boards), *db.win_many(ids).tolist(), len(db)]


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_processes_of_every_kind_answer_the_same(small: ValueDatabase, method: str) -> None:
    with ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
        found = list(pool.map(answers, [small] * 4, range(4)))
    assert found == [answers(small, seed) for seed in range(4)]


@pytest.mark.skipif(not FORK, reason="this system cannot fork")
def test_a_forked_process_goes_on_asking_while_threads_of_the_first_one_do(places: dict[str, Path]) -> None:
    """The locks are held most of the time, and nothing is cached: both processes read the same files."""
    with madn.open_database(places["small"], cache_bytes=0) as db:
        expected = [answers(db, seed) for seed in range(3)]
        done = threading.Event()

        def ask() -> None:
            while not done.is_set():
                db._reader._tables = [], []  # the catalogue is asked again
                assert answers(db, 0) == expected[0]

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            statuses = [os.waitpid(forked(db, expected), 0)[1] for _ in range(10)]
        finally:
            done.set()
            for thread in threads:
                thread.join()
        assert statuses == [0] * 10
        assert [answers(db, seed) for seed in range(3)] == expected


def forked(db: Database, expected: list[list[object]]) -> int:
    """The number of a child process, which ends with status 0 if it gets these answers."""
    child = os.fork()
    if child:
        return child
    try:
        db._reader._tables = [], []
        right = [answers(db, seed) for seed in range(len(expected))] == expected
        db.close()
        os._exit(0 if right else 1)
    finally:
        os._exit(2)


@pytest.mark.skipif(not FORK, reason="this system cannot fork")
def test_a_forked_process_never_mixes_two_databases(tmp_path: Path) -> None:
    madn.solve(Rules(1, 8), out=tmp_path / "db")
    madn.solve(Rules(1, 8, three_rolls=True), out=tmp_path / "new")
    with madn.open_database(tmp_path / "db") as db:
        os.rename(tmp_path / "db", tmp_path / "aside")
        os.rename(tmp_path / "new", tmp_path / "db")
        child = os.fork()
        if not child:
            try:
                db.win("0/0")
            except CorruptBlockError as error:
                os._exit(0 if "replaced before this process was forked" in str(error) else 1)
            finally:
                os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        assert db.win("0/0") > 0


def parsed(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(f"<div>{html}</div>")


def test_a_notebook_shows_a_database(places: dict[str, Path], tmp_path: Path) -> None:
    os.symlink(places["small"], tmp_path / "<b>&")
    with madn.open_database(tmp_path / "<b>&") as db:
        view = db._repr_html_()
        assert view is not None
        words = " ".join(parsed(view).itertext())
        assert "<b>&" in words
        for wanted in ("2 pieces, 8 squares", f"{len(db):,}", "float64", f"{100 * db.win('0/0'):.4f} % on 0/0"):
            assert wanted in words
    assert db._repr_html_() is None


def test_a_notebook_shows_an_analysis(small: ValueDatabase, places: dict[str, Path]) -> None:
    analysis = small.analyse("3,5/0")
    tree = parsed(analysis._repr_html_())
    words = " ".join(tree.itertext())
    assert f"wins {100 * analysis.win:.4f}\u00a0% of the time" in words
    rows = [["".join(cell.itertext()) for cell in row] for row in tree.iter("tr")]
    assert [row[0] for row in rows] == [str(roll) for roll in ROLLS]
    for row, roll in zip(rows, analysis.rolls, strict=True):
        best, *others = roll.moves
        assert row[1:3] == [str(best.move), f"{100 * best.win:.4f} %"]
        assert row[3] == ", ".join(f"{m.move} −{100 * (best.win - m.win):.2f}" for m in others)
    with madn.open_database(places["small moves"]) as moves:
        tree = parsed(moves.analyse("3,5/0")._repr_html_())
        assert "%" not in "".join(tree.itertext())
    assert list(parsed(small.analyse("8,9/0")._repr_html_()).iter("tr")) == []
