"""Start values: distances, ratios, averages, the polynomial, and what it does to the sweeps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies import all_boards, boards

from madn import Board, Rules
from madn._core import Game
from madn.solver import make_plan, solve
from madn.startvalues import balanced, by_ratio, distances, guessed, ratios, spread, sweeps

SMALL = Rules(2, 8)


def distance(squares: tuple[int, ...], rules: Rules) -> int:
    """By hand: the pieces walk to the finish squares in their order; one in the box needs a 6 first."""
    places = [-6] * (rules.pieces - len(squares)) + list(squares)
    return sum(goal - place for goal, place in zip(range(rules.squares, rules.goal), places, strict=True))


def test_the_distances_of_the_thesis() -> None:
    states = np.array([0, sum(1 << q for q in (40, 41, 42, 43)), 1], np.uint64)
    assert distances(states, Rules()).tolist() == [190, 0, 184]


@given(boards())
def test_the_distance_is_what_the_pieces_have_to_walk(board: Board) -> None:
    found = distances(np.array(board.masks, np.uint64), board.rules)
    assert found.tolist() == [distance(board.own, board.rules), distance(board.other, board.rules)]


@given(st.integers(0, 190), st.integers(1, 190))
def test_the_ratio_is_that_of_formula_4_7_and_changes_its_sign_with_the_sides(a: int, b: int) -> None:
    one, two = ratios(np.array([a, b], np.int32), np.array([b, a], np.int32))
    assert one == pytest.approx(b / a - 1 if a >= b else 1 - a / b)
    assert one == pytest.approx(-two)


@pytest.fixture(scope="module")
def wins() -> NDArray[np.float64]:
    values = np.empty(SMALL.positions)
    solve(make_plan(SMALL)).read(0, values)
    return values


def test_the_spread_collects_all_open_positions(wins: NDArray[np.float64]) -> None:
    found = spread(SMALL, wins.take)
    game = Game(SMALL)
    by_ratio: dict[float, list[float]] = {}
    for board in all_boards(SMALL):
        if board.winner is None:
            own, other = distances(np.array(board.masks, np.uint64), SMALL)
            ratio = round(other / own - 1 if own >= other else 1 - own / other, 12)
            by_ratio.setdefault(ratio, []).append(wins[game.rank(*board.masks)])
    assert found.ratio == pytest.approx(sorted(by_ratio))
    for name, of in (("count", len), ("least", min), ("most", max), ("mean", np.mean)):
        assert getattr(found, name) == pytest.approx([of(by_ratio[ratio]) for ratio in sorted(by_ratio)])
    ratio, mean = found.averaged(100)
    assert len(ratio) <= found.count.sum() / 100 + 1
    assert (np.diff(ratio) > 0).all()
    assert mean.min() >= found.least.min()


def test_guesses_follow_the_polynomial_and_leave_finished_games_alone(wins: NDArray[np.float64]) -> None:
    polynomial = spread(SMALL, wins.take).polynomial()
    guess = guessed(SMALL, by_ratio(polynomial))
    over = (wins == 0) | (wins == 1)
    assert (guess[over] == wins[over]).all()
    flat = guessed(SMALL, by_ratio(np.array([0.5])))
    assert (flat[~over] == 0.5).all()
    assert np.abs(guess - wins)[~over].mean() < np.abs(flat - wins)[~over].mean()


def test_balanced_guesses_add_up_to_one() -> None:
    both = balanced(np.array([0.53, 0.4, -0.05, -0.5, 0.06, 0.45]))
    x = np.linspace(-1, 1, 11)
    assert np.polynomial.polynomial.polyval(x, both) + np.polynomial.polynomial.polyval(-x, both) == pytest.approx(1)


def test_sweeps_end_with_the_values_of_the_game(wins: NDArray[np.float64]) -> None:
    x = guessed(SMALL, by_ratio(np.array([0.5])))
    changes = sweeps(SMALL, x)
    assert changes[-1] == 0
    assert all(changes[:-1])
    assert np.abs(x - wins).max() < 1e-4
    assert sweeps(SMALL, wins.copy()) == [0]
