"""The small database inside the package: there at once, right, and it chooses moves as the solution does."""

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import madn
from madn._core import Game
from madn.board import Board
from madn.database import open_database
from madn.rules import Rules
from madn.solver import make_plan, solve
from madn.store import verify_database
from madn.store.successors import successors

TWO = Rules(pieces=2)
GAME = Game(Rules(2, 40))
EQUAL = 1e-12


@cache
def solution() -> np.ndarray:
    """The values in full precision, by ID."""
    values = np.empty(TWO.positions)
    solve(make_plan(TWO, tolerance=1e-15)).read(0, values)
    return values


def test_it_opens_without_a_path() -> None:
    with madn.open_database() as db:
        assert db.rules == TWO
        assert db.win(Board.start(TWO)) == pytest.approx(0.509187, abs=2e-5)
        assert str(db.best_move(Board.start(TWO), 3)) == "0-3"
        assert db.info()["positions"] == TWO.positions
        assert sum(path.stat().st_size for path in db.path.iterdir()) < 1_000_000


def test_it_is_whole_and_solves_the_game() -> None:
    with open_database() as db:
        report = verify_database(db.path, deep=True, sample=50_000)
        assert report.ok, report.damaged
        assert report.residual is not None
        assert report.residual <= 2 * db.info()["max_error"]


def test_every_value_is_within_the_stated_error() -> None:
    with open_database() as db:
        stored = db.win_many(np.arange(TWO.positions))
        assert np.abs(stored - solution()).max() <= db.info()["max_error"] + EQUAL
        assert db.info()["max_error"] < 2.5e-5


def test_every_best_move_is_that_of_the_solution() -> None:
    """For all positions and rolls; between equal moves the highest start, as everywhere."""
    own, other = GAME.unrank_many(np.arange(TWO.positions))
    finish = np.uint64(3 << 40)
    running = (own & finish != finish) & (other & finish != finish)
    after, roll, first = successors(own[running], other[running], GAME)
    ids = GAME.rank_many(*after)
    last = np.append(first[1:], len(ids)) - 1
    assert (last - first).max() == 1  # at most two moves
    with open_database() as db:
        stored = db.win_many(np.arange(TWO.positions))[ids]
    chosen, right = (
        np.where(mover[last] >= mover[first] - slack, last, first)
        for mover, slack in (
            (np.where(roll == 6, stored, 1 - stored), 0.0),
            (np.where(roll == 6, solution()[ids], 1 - solution()[ids]), EQUAL),
        )
    )
    assert np.array_equal(chosen, right)
    assert (first != last).sum() == 3_388_199  # rolls with a choice


def test_the_answers_themselves_agree_on_a_sample() -> None:
    def win(board: Board, roll: int) -> float:
        value = float(solution()[GAME.rank(*board.masks)])
        return value if roll == 6 else 1 - value

    with open_database() as db:
        for number in np.random.default_rng(4).integers(0, TWO.positions, 500).tolist():
            board = Board.from_masks(*GAME.unrank(number), TWO)
            if board.winner:
                continue
            for roll in range(1, 7):
                best = max(win(board.after(move, roll), roll) for move in board.legal_moves(roll))
                chosen = db.best_move(board, roll)
                assert win(board.after(chosen, roll), roll) >= best - EQUAL


def test_it_is_read_where_nothing_may_be_written(tmp_path: Path) -> None:
    with open_database() as db:
        shutil.copytree(db.path, tmp_path / "db")
    for path in (*(tmp_path / "db").iterdir(), tmp_path / "db"):
        path.chmod(0o500 if path.is_dir() else 0o400)
    try:
        with open_database(tmp_path / "db") as db:
            assert db.win(Board.start(TWO)) > 0.5
        assert sorted(path.name for path in (tmp_path / "db").iterdir()) == [
            "SHA256SUMS",
            "catalogue.sqlite",
            "values-0000.madn",
        ]
    finally:
        (tmp_path / "db").chmod(0o700)


def test_asking_it_needs_neither_the_solver_nor_sqlite_utils() -> None:
    code = (
        "import sys, madn; db = madn.open_database(); db.win(madn.Board.start(db.rules));"
        "print([name for name in ('sqlite_utils', 'madn.solver') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
