"""The compiled moves of one side are the moves of the plain Python board."""

from itertools import combinations, product

import numpy as np
import pytest

from madn._core import Game
from madn.board import Board
from madn.machine import has_avx2, has_avx512, openmp, usable_threads
from madn.rules import Rules

ROLLS = range(1, 7)
OWN_STATES = {1: 42, 2: 904, 3: 13288, 4: 149986}
SMALL = [(pieces, squares) for pieces in range(1, 5) for squares in range(8, 17, 2)]
LARGE = [(pieces, squares) for pieces in range(1, 7) for squares in (18, 28, 40)]


def own_states(pieces: int, squares: int) -> list[int]:
    """Every set of squares that one side can hold, as a mask."""
    cells = range(squares + pieces)
    return [sum(1 << q for q in held) for k in range(pieces + 1) for held in combinations(cells, k)]


def plain_moves(state: int, roll: int, rules: Rules) -> list[tuple[int, int, int]]:
    """The same list from the plain Python board, with the other side out of the way in its box."""
    moves = []
    for move in Board.from_masks(state, 0, rules).legal_moves(roll):
        if move.end is not None:
            left = 0 if move.start is None else 1 << move.start
            moves.append((state ^ left | 1 << move.end, -1 if move.start is None else move.start, move.end))
    return moves


def check_state(state: int, rules: Rules) -> None:
    for roll in ROLLS:
        compiled = Game(rules).own_moves(state, roll)
        assert compiled == plain_moves(state, roll, rules), (f"state {state:#x}", roll, rules)


@pytest.mark.parametrize(("pieces", "count"), OWN_STATES.items())
def test_number_of_own_states(pieces: int, count: int) -> None:
    """Those of the standard board: the positions in which the other side has everything in the box."""
    game = Game(Rules(pieces, 40))
    with_other_in_box = [profile for profile in game.profiles() if profile[2:] == (0, 0)]
    rules = Rules(pieces, 40)
    assert sum(rules.profile_size(*profile) for profile in with_other_in_box) == count
    if pieces < 4:
        assert len(set(own_states(pieces, 40))) == count


@pytest.mark.parametrize(("pieces", "squares"), SMALL)
def test_every_state_of_small_boards(pieces: int, squares: int) -> None:
    rules = [Rules(pieces, squares), Rules(pieces, squares, no_jumping=True)]
    for state, variant in product(own_states(pieces, squares), rules):
        check_state(state, variant)


@pytest.mark.parametrize(("pieces", "squares"), LARGE)
def test_random_states_of_large_boards(pieces: int, squares: int) -> None:
    rules = Rules(pieces, squares)
    rng = np.random.default_rng([pieces, squares])
    for _ in range(150):
        out = rng.integers(0, pieces + 1)
        held = rng.choice(squares + pieces, size=out, replace=False)
        check_state(sum(1 << int(q) for q in held), rules)


@pytest.mark.parametrize("pieces", range(1, 5))
@pytest.mark.parametrize("duty", [False, True])
def test_moves_against_the_other_side(pieces: int, duty: bool) -> None:
    """Random positions: with captures, the plain board has the same moves; only a duty to capture looks at them."""
    rules = Rules(pieces, 40, must_capture=duty)
    game = Game(rules)
    rng = np.random.default_rng(pieces)
    captures = 0
    for z in rng.integers(0, game.positions, 400):
        own, other = game.unrank(z)
        board = Board.from_masks(own, other, rules)
        if board.winner is not None:
            continue
        for roll in ROLLS:
            moves = [move for move in board.legal_moves(roll) if move.end is not None]
            captures += sum(move.captures for move in moves)
            compiled = game.own_moves(own, roll, other if duty else 0)
            assert [(-1 if move.start is None else move.start, move.end) for move in moves] == [
                (start, end) for _, start, end in compiled
            ]
    assert captures > 0


def test_by_hand() -> None:
    assert Game(Rules(4, 40)).own_moves(0, 5) == [], "everything in the box and no 6"
    assert Game(Rules(4, 40)).own_moves(0, 6) == [(1, -1, 0)]
    assert Game(Rules(4, 40)).own_moves(0b1, 6) == [(1 << 6, 0, 6)], "the A-square must be cleared"
    assert Game(Rules(4, 40)).own_moves(0b1001, 3) == [(0b1000001, 3, 6)], "unless an own piece stands in the way"
    assert Game(Rules(2, 40)).own_moves(1 << 39 | 1 << 41, 3) == [], "past the last finish square"
    assert Game(Rules(2, 40)).own_moves(1 << 37 | 1 << 40, 4) == [(3 << 40, 37, 41)], "own pieces may be jumped"
    assert Game(Rules(2, 40)).own_moves(3 << 40, 1) == [], "finished"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 0), "a roll is 1 to 6, not 0"),
        ((1, 7), "a roll is 1 to 6, not 7"),
        ((-1, 1), "squares outside 0 to 43"),
        ((1 << 44, 1), "squares outside 0 to 43"),
        ((1 << 70, 1), "squares outside 0 to 43"),
        ((0b11111, 1), "5 pieces, the game has 4"),
    ],
)
def test_bad_input(arguments: tuple[int, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Game(Rules()).own_moves(*arguments)


def test_what_this_build_can_do() -> None:
    assert isinstance(openmp(), bool)
    assert isinstance(has_avx2(), bool)
    assert has_avx2() >= has_avx512()
    assert usable_threads() >= 1
    assert openmp() or usable_threads() == 1
