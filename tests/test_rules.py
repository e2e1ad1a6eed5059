"""The rules as numbers: what is a game, and how many positions it has."""

from dataclasses import FrozenInstanceError, replace
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import all_boards, all_rules, rules

from madn import MadnError, Rules
from madn.errors import InvalidRulesError
from madn.rules import DIE, ROLLS, rolls_again


def test_the_standard_game_is_the_default() -> None:
    assert Rules() == Rules(pieces=4, squares=40)
    assert Rules().goal == 44


@pytest.mark.parametrize(("pieces", "positions"), [(1, 1723), (2, 747_435), (3, 145_248_343), (4, 16_053_053_985)])
def test_published_numbers_of_positions(pieces: int, positions: int) -> None:
    assert Rules(pieces=pieces).positions == positions


@pytest.mark.parametrize("game", [Rules(1, 8), Rules(1, 40), Rules(2, 8), Rules(2, 10), Rules(3, 8)], ids=str)
def test_counts_agree_with_brute_force(game: Rules) -> None:
    def profile(own: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, int, int, int]:
        home = [sum(square >= game.squares for square in side) for side in (own, other)]
        return len(own), home[0], len(other), home[1]

    found = sorted(profile(board.own, board.other) for board in all_boards(game))
    counted = [(key, len(list(group))) for key, group in groupby(found)]
    assert counted == [(key, game.profile_size(*key)) for key in game.profiles()]
    assert len(found) == game.positions


@pytest.mark.parametrize("game", all_rules(), ids=str)
def test_profiles_ascend_and_add_up(game: Rules) -> None:
    profiles = game.profiles()
    assert profiles == sorted(set(profiles))
    assert game.positions == sum(game.profile_size(*profile) for profile in profiles)
    P = game.pieces
    assert (P, P, P, P) not in profiles
    assert game.profile_size(P, P, P, P) == 0


@given(rules(), st.data())
def test_opposite_is_its_own_inverse(game: Rules, data: st.DataObject) -> None:
    square = data.draw(st.integers(0, game.squares - 1))
    assert game.opposite(square) != square
    assert game.opposite(game.opposite(square)) == square


@pytest.mark.parametrize(
    ("numbers", "says"),
    [
        ({"pieces": 0}, "pieces must be 1 to 6, not 0"),
        ({"pieces": 9}, "pieces must be 1 to 6, not 9"),
        ({"pieces": True}, "pieces must be a whole number, not True"),
        ({"pieces": "4"}, "pieces must be a whole number, not '4'"),
        ({"squares": 39}, "squares must be an even number from 8 to 40, not 39"),
        ({"squares": 6}, "squares must be 8 to 40, not 6"),
        ({"squares": 42}, "squares must be 8 to 40, not 42"),
        ({"squares": 40.0}, "squares must be a whole number, not 40.0"),
        ({"three_rolls": 1}, "three_rolls must be True or False, not 1"),
        ({"must_capture": None}, "must_capture must be True or False, not None"),
    ],
)
def test_what_is_not_a_game(numbers: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidRulesError) as caught:
        Rules(**numbers)
    assert str(caught.value) == says
    assert isinstance(caught.value, MadnError)
    assert isinstance(caught.value, ValueError)


@given(rules())
def test_rules_are_values(game: Rules) -> None:
    assert eval(repr(game)) == game
    assert hash(game) == hash(replace(game))
    with pytest.raises(FrozenInstanceError):
        game.pieces = 2  # type: ignore[misc]


@given(st.lists(st.booleans(), min_size=DIE, max_size=DIE))
def test_a_turn_shares_out_all_rolls(playable: list[bool]) -> None:
    """Every roll has a move, passes the die, or is rolled again; one die has six equal faces."""
    turn = Rules().turn(playable)
    assert turn.total == turn.unit * sum(playable) + turn.wait + turn.again == DIE
    assert turn.wait == sum(not move for roll, move in zip(ROLLS, playable, strict=True) if not rolls_again(roll))
    assert [roll for roll in ROLLS if rolls_again(roll)] == [6]
