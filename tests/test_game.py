"""`madn.Game`: whose turn it is, history, taking back, random play."""

import copy
import pickle
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import boards

import madn
from madn import Board, Game, IllegalMoveError, InvalidBoardError, Move, Rules, RulesMismatchError
from madn.match import play_game
from madn.players import PLAYERS
from madn.record import parse_record

TWO = Rules(pieces=2)


def test_a_game_is_pushed_and_popped() -> None:
    game = Game(TWO)
    assert (str(game.board), game.mover, game.over, game.winner, game.plies) == ("0/0", "first", False, None, ())
    game.push(3, "0-3")
    assert (str(game.board), game.mover) == ("0/3", "second")
    game.push(6, Move(0, 6))
    assert (str(game.board), game.mover) == ("6/3", "second")
    assert [str(board) for board in game.boards] == ["0/0", "0/3", "6/3"]
    assert [(ply.roll, str(ply.move)) for ply in game.plies] == [(3, "0-3"), (6, "0-6")]
    assert game.pop().roll == 6
    assert game.pop().roll == 3
    assert game == Game(TWO)
    with pytest.raises(IllegalMoveError, match="no move to take back"):
        game.pop()


def test_an_illegal_move_changes_nothing() -> None:
    game = Game(TWO)
    for roll, move in ((3, "0-4"), (7, "0-7"), (3, "x"), (True, "0-1")):
        with pytest.raises(IllegalMoveError):
            game.push(roll, move)
    assert game == Game(TWO)
    assert game.legal_moves(3) == (Move(0, 3),)


def test_a_game_starts_where_it_is_told_to() -> None:
    assert Game().board == Board.start()
    assert Game(Rules.house()).board == Board.start(Rules.house())
    assert Game(TWO, "3,17/0").board == Board.parse("3,17/0", TWO)
    board = Board.parse("3,17/0", TWO)
    assert Game(start=board).rules == TWO
    with pytest.raises(RulesMismatchError, match="the game has 1 piece, 40 squares"):
        Game(Rules(pieces=1), board)
    with pytest.raises(InvalidBoardError):
        Game(TWO, "3,17")


@pytest.mark.parametrize(("start", "winner"), [("40,41/0", "first"), ("0/40,41", "second")])
def test_a_finished_game_says_who_won(start: str, winner: str) -> None:
    game = Game(TWO, start)
    assert game.over
    assert game.winner == winner
    assert game.legal_moves(3) == ()
    before = game.plies
    game.play()
    assert game.plies == before
    with pytest.raises(IllegalMoveError, match="the game is over"):
        game.push(3, "pass")


@pytest.mark.parametrize("rules", [TWO, Rules(1, 8), Rules.house(2, 12)])
def test_random_play_is_that_of_the_seed_and_can_be_taken_back(rules: Rules) -> None:
    games = []
    for seed in (1, 1, 2):
        game = Game(rules)
        game.play(seed=seed)
        games.append(game)
        assert game.over
        assert game.record("random", "random") == play_game(
            PLAYERS["random"], PLAYERS["random"], Board.start(rules), seed
        )
        assert game.winner == game.record().winner
        assert game.boards == game.record().boards
    assert games[0] == games[1] != games[2]
    while games[0].plies:
        games[0].pop()
    assert games[0] == Game(rules)


def test_play_goes_on_from_the_board_of_the_moment() -> None:
    game = Game(TWO)
    game.push(3, "0-3")
    game.play("fpoc", PLAYERS["optimal"], seed=5)
    rest = play_game(PLAYERS["optimal"], PLAYERS["fpoc"], Board.parse("0/3", TWO), 5)
    assert game.plies[1:] == rest.plies
    assert game.winner == {"first": "second", "second": "first"}[rest.winner or ""]


@given(boards())
def test_a_mirrored_board_has_the_sides_exchanged(board: Board) -> None:
    twin = board.mirror()
    assert (twin.own, twin.other, twin.rules) == (board.other, board.own, board.rules)
    assert twin.mirror() == board
    game = Game(start=board).mirror()
    assert (game.start, game.mover, game.plies) == (twin, "first", ())


@given(st.integers(0, 2**64 - 1))
def test_a_record_keeps_a_game(seed: int) -> None:
    game = Game(Rules(1, 8))
    game.play(seed=seed)
    record = game.record("Anna", "Bert")
    assert Game.of(parse_record(str(record))) == game
    assert pickle.loads(pickle.dumps(game)) == copy.deepcopy(game) == game


def test_rolls_come_up_as_often_as_the_rules_say() -> None:
    game = Game(Rules.house())
    assert game.board.tries == 3
    die = random.Random(1)
    seen = Counter(game.roll(die) for _ in range(20_000))
    weights = game.board.roll_weights()
    for roll in range(1, 7):
        assert seen[roll] / 20_000 == pytest.approx(weights[roll - 1] / sum(weights), abs=0.015)


def test_a_game_shows_itself() -> None:
    game = Game(TWO)
    game.push(3, "0-3")
    assert repr(game) == "<Game of 2 pieces, 40 squares: 1 plies, second to move, '0/3'>"
    assert game._repr_svg_() == game.board.svg(flip=True)
    assert game != "a game"
    with pytest.raises(TypeError, match="unhashable"):
        hash(game)
    assert madn.Game is Game
