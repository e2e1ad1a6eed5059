"""One answer: whoever is asked for the best move of a position, through whatever interface, names the same one.

The games here have near ties: values that differ by about as much as storing them may change.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import madn
from madn import Board, Move, Rules
from madn._core import Game
from madn._engine import Engine
from madn.cli import main
from madn.database import Database
from madn.match import compiled
from madn.players import OptimalPlayer
from madn.rules import ROLLS, rolls_again
from madn.store import compress_database, write_database
from madn.store.blocks import FIXED32
from madn.web.answers import Served

GAMES = {8: Rules(2, 8), 10: Rules(2, 10)}


@dataclass
class Source:
    """Values by ID, to be written as a database."""

    rules: Rules
    raw: NDArray[Any]
    representation: str

    @property
    def min_board(self) -> Board:
        return Board.start(self.rules)

    max_board = min_board

    def read(self, first: int, out: NDArray[Any]) -> None:
        out[:] = self.raw[first : first + len(out)]


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    paths = {squares: tmp_path_factory.mktemp("solved") / str(squares) for squares in GAMES}
    for squares, path in paths.items():
        assert main(["solve", "--pieces", "2", "--squares", str(squares), "--out", str(path), "--json"]) == 0
    return paths


def values(path: Path) -> NDArray[np.float64]:
    with madn.open_database(path) as db:
        return db.win_many(np.arange(db.rules.positions))


def stored(kind: str, source: Path, path: Path, rules: Rules) -> None:
    """Write the values of a game in one of several ways; those that are `near` have near ties everywhere."""
    noise = np.random.default_rng(1).integers(-3, 4, rules.positions)
    coarse = np.rint(values(source) * 64) / 64
    if kind.startswith("bits"):
        compress_database(source, path, store="values", bits=int(kind[4:]))
        return
    raws = {
        "float64": values(source),
        "near float64": np.clip(coarse + noise * 3e-13, 0, 1),
        "fixed32": FIXED32.raws(values(source)),
        "near fixed32": np.clip(FIXED32.raws(coarse) + noise, -(2**28), 2**28).astype("<i4"),
    }
    write_database(path, Source(rules, raws[kind], kind.split()[-1]), {})


@pytest.fixture(
    scope="module",
    params=[
        (squares, kind)
        for squares in GAMES
        for kind in ("float64", "near float64", "fixed32", "near fixed32", "bits8", "bits10", "bits12")
    ],
    ids=lambda param: f"{param[0]} {param[1]}",
)
def pair(
    request: pytest.FixtureRequest, solved: dict[int, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Database, Database]]:
    """A database of values, and the best moves made from it."""
    squares, kind = request.param
    path = tmp_path_factory.mktemp("stored")
    stored(kind, solved[squares], path / "values", GAMES[squares])
    compress_database(path / "values", path / "best", store="policy")
    with madn.open_database(path / "values") as wins, madn.open_database(path / "best") as best:
        yield wins, best


def boards(rules: Rules) -> list[Board]:
    found = [madn.unrank(number, rules) for number in range(rules.positions)]
    return [board for board in found if board.winner is None]


def ordered(db: Database, board: Board, roll: int) -> list[tuple[Move, float]]:
    """The rule in plain Python: the moves of a roll with the mover's chances, best first."""
    wins = {move: db.win(board.after(move, roll)) for move in board.legal_moves(roll)}
    wins = {move: win if rolls_again(roll) else 1.0 - win for move, win in wins.items()}
    by_start = sorted(wins, key=lambda move: -1 if move.start is None else move.start, reverse=True)
    best = next(move for move in by_start if max(wins.values()) - wins[move] <= db.tie)
    rest = sorted((move for move in by_start if move != best), key=lambda move: -wins[move])
    return [(move, wins[move]) for move in [best, *rest]]


def test_every_answer_names_the_same_best_move(
    pair: tuple[Database, Database], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    wins, best = pair
    rules = wins.rules
    fine = compiled(OptimalPlayer(wins), rules)
    monkeypatch.setattr("madn.match.FINE_POSITIONS", 0)  # a large game: 32 bits, unless the values are doubles
    coarse = compiled(OptimalPlayer(wins), rules)
    assert fine is not None
    assert coarse is not None
    servers = Served("wins", wins), Served("best", best)
    near = 0
    for board in boards(rules):
        analyses = wins.analyse(board), best.analyse(board)
        served = [json.loads(server.position(str(board)).body)["rolls"] for server in servers]
        for roll in ROLLS:
            expected = ordered(wins, board, roll)
            move = expected[0][0]
            near += len(expected) > 1 and 0 < abs(expected[0][1] - expected[1][1]) <= 2**-28
            assert [(found.move, found.win) for found in wins.moves(board, roll)] == expected
            assert [(found.move, found.win) for found in analyses[0].rolls[roll - 1].moves] == expected
            assert [(found["move"], found["win"]) for found in served[0][roll - 1]["moves"]] == [
                (str(move), win) for move, win in expected
            ]
            assert wins.best_move(board, roll) == best.best_move(board, roll) == move
            assert best.moves(board, roll) == analyses[1].rolls[roll - 1].moves
            assert best.moves(board, roll)[0].move == move
            assert served[1][roll - 1]["moves"][0]["move"] == str(move)
            numbers = [] if move.end is None else [(-1 if move.start is None else move.start, move.end)]
            assert fine.choices(*board.masks, roll) == coarse.choices(*board.masks, roll) == numbers
            assert OptimalPlayer(best).choices(board, roll) == (move,)
    assert near > 100 or "near" not in request.node.callspec.id


def test_the_embedded_database_answers_by_the_same_rule() -> None:
    with madn.open_database() as db:
        player = compiled(OptimalPlayer(db), db.rules)
        assert player is not None
        for number in np.random.default_rng(2).integers(0, db.rules.positions, 300).tolist():
            board = madn.unrank(number, db.rules)
            for roll in ROLLS if board.winner is None else ():
                expected = ordered(db, board, roll)
                assert [(found.move, found.win) for found in db.moves(board, roll)] == expected
                assert db.best_move(board, roll) == expected[0][0]
                assert len(player.choices(*board.masks, roll)) == (expected[0][0] != Move.PASS)


def test_the_engine_refuses_what_is_not_a_position_or_a_roll(pair: tuple[Database, Database]) -> None:
    for db in pair:
        half = db.rules.squares // 2
        for wrong in ((1, 1 << half), (1 << 60, 1), (7, 1), (3 << db.rules.squares, 3 << db.rules.squares)):
            for ask in (db.engine.win, db.engine.analyse, lambda own, other: db.engine.moves(own, other, 1)):  # noqa: B023
                with pytest.raises(ValueError, match=r"square|pieces|finished"):
                    ask(*wrong)
        for roll in (0, 7, -1):
            for ask_roll in (db.engine.moves, db.engine.best_move):
                with pytest.raises(ValueError, match="1 to 6"):
                    ask_roll(1, 1, roll)
        with pytest.raises(ValueError, match="3 values"):
            db.engine.hold(np.zeros(3))


def test_a_stored_move_that_is_not_legal_is_refused() -> None:
    class Damaged:
        game = Game(Rules(2, 8))
        policy = True

        def choices(self, number: int) -> int:
            return 0o777777

    with pytest.raises(ValueError, match="stored move 7 is not legal"):
        Engine(Damaged(), 0.0).best_move(0b1010, 1, 1)  # type: ignore[arg-type]
