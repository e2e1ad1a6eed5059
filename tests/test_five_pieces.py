"""Games of five and six pieces: small boards as a whole, the real board in part."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import madn
from madn import Advisor, Board, Rules
from madn._core import Game
from madn.errors import PlanError
from madn.solver import Solution, make_plan, solve
from madn.solver.estimate import Speed
from madn.solver.solution import MatrixValues
from madn.store.verify import verify_database
from madn.verdict import Room, ways

SAMPLED = 300


def expected_win(solution: Solution, board: Board) -> float:
    """What the moves of a position say of it, found with `Board` alone."""
    if board.winner is not None:
        return float(board.winner == "own")
    assert isinstance(solution.values, MatrixValues)
    total = 0.0
    weights = board.roll_weights()
    for roll, weight in enumerate(weights, 1):
        wins = []
        for move in board.legal_moves(roll):
            after = board.after(move, roll)
            win = solution.values.win(after) if after.winner is None else float(after.winner == "own")
            wins.append(win if roll == 6 else 1 - win)
        total += weight * max(wins)
    return total / sum(weights)


def check_with_plain_moves(solution: Solution, boards: list[Board], error: float) -> None:
    assert isinstance(solution.values, MatrixValues)
    for board in boards:
        assert solution.values.win(board) == pytest.approx(expected_win(solution, board), abs=error), board


def random_boards(rules: Rules, ids: Any) -> list[Board]:
    game = Game(rules)
    boards = [Board.from_masks(*game.unrank(int(i)), rules) for i in ids]
    return [board for board in boards if board.winner is None]


@pytest.mark.slow
@pytest.mark.parametrize("rules", [Rules(5, 8), Rules.house(5, 8)], ids=str)
def test_small_boards_agree_with_the_plain_moves(rules: Rules) -> None:
    solution = solve(make_plan(rules))
    assert solution.residual <= 1e-15
    ids = np.random.default_rng(5).integers(0, rules.positions, SAMPLED)
    check_with_plain_moves(solution, random_boards(rules, ids), 1e-12)


def test_an_endgame_of_the_real_board_is_solved_stored_and_verified(tmp_path: Path) -> None:
    rules = Rules(5)
    board = "38,41,42,43,44/40,41,42,43"
    result = madn.solve(rules, tmp_path / "part", board=board)
    assert result.residual <= 1e-15
    report = verify_database(tmp_path / "part", deep=True)
    assert report.ok
    with madn.open_database(tmp_path / "part") as database:
        assert database.win(board) == pytest.approx(result.win, abs=1e-12)
        assert str(database.best_move(board, 2)) == "38-40"


@pytest.mark.parametrize("pieces", [5, 6])
def test_a_plan_of_the_real_board(pieces: int) -> None:
    plan = make_plan(Rules(pieces), scratch="scratch", memory=1)
    assert plan.positions == Rules(pieces).positions
    assert plan.components == ((1 << pieces) - 1) * (1 << pieces) // 2
    assert plan.memory_bytes > 1 << 38
    assert math.isclose(plan.positions, {5: 1.15e12, 6: 5.82e13}[pieces], rel_tol=0.01)


def test_best_moves_go_up_to_four_pieces(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="a census and best moves are possible with up to 4 pieces, not 5"):
        madn.solve(Rules(5, 8), policy=tmp_path / "policy")


def test_from_disk_and_in_memory_have_the_same_values(tmp_path: Path) -> None:
    rules, board = Rules(5, 8), "0,1,10,11,12/0,1,11,12"
    boards = random_boards(rules, np.random.default_rng(6).integers(0, rules.positions, 50_000))
    wins = []
    for name, scratch in (("memory", None), ("disk", tmp_path / "scratch")):
        madn.solve(rules, tmp_path / name, board=board, scratch=scratch)
        with madn.open_database(tmp_path / name) as database:
            wins.append([database.get_win(board) for board in boards])
    assert wins[0] == wins[1]
    assert sum(win is not None for win in wins[0]) > 100


def test_the_advisor_solves_an_endgame(tmp_path: Path) -> None:
    with Advisor(Rules(5), cache=tmp_path) as advisor:
        answer = advisor.win("39,41,42,43,44/41,42,43,44")
    assert answer.exact
    assert 0.3 < float(answer) < 1


def test_what_there_is_instead_of_the_whole_game() -> None:
    plan = make_plan(Rules(5), scratch="scratch", memory=1 << 30)
    found = ways(plan, Room(1 << 30, 1 << 40), Speed(1e-8))
    assert [way.what for way in found if way.fits]
    assert not any("best moves" in way.what for way in found)
