"""Boards and moves: notation, legal moves, what a move does."""

import copy
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from strategies import all_boards, boards, rolls

from madn import Board, IllegalMoveError, InvalidBoardError, MadnError, Move, Rules

SMALL = [Rules(1, 8), Rules(2, 8), Rules(1, 10), Rules(3, 8)]


def pips(squares: tuple[int, ...], rules: Rules) -> int:
    """How many steps a side is from having every piece past the main field; a boxed piece counts S + 1."""
    boxed = rules.pieces - len(squares)
    return boxed * (rules.squares + 1) + sum(rules.squares - min(square, rules.squares) for square in squares)


def moves(text: str, roll: int, rules: Rules | None = None) -> str:
    return " ".join(map(str, Board.parse(text, rules or Rules()).legal_moves(roll)))


# Notation


def test_the_examples_of_the_notation() -> None:
    assert Board.start() == Board.parse("0/0", Rules()) == Board((0,), (0,))
    assert Board.parse("b/39,41,42,43") == Board((), (39, 41, 42, 43))
    assert Board.parse("3,17/0,22,43").other == (0, 22, 43)
    assert str(Board((17, 3), [43, 0, 22])) == "3,17/0,22,43"  # type: ignore[arg-type]
    assert str(Board((), ())) == "b/b"


@given(boards())
def test_parse_and_str_are_inverse(board: Board) -> None:
    again = Board.parse(str(board), board.rules)
    assert again == board
    assert hash(again) == hash(board)
    assert str(again) == str(board)


@pytest.mark.parametrize("rules", SMALL[:3], ids=str)
def test_parse_and_str_are_inverse_on_every_board(rules: Rules) -> None:
    texts = set()
    for board in all_boards(rules):
        texts.add(str(board))
        assert Board.parse(str(board), rules) == board
        assert Board.from_masks(*board.masks, rules) == board
    assert len(texts) == rules.positions


@given(boards())
def test_repr_rebuilds(board: Board) -> None:
    assert eval(repr(board)) == board
    assert copy.deepcopy(board) == board


def test_repr_reads_like_code() -> None:
    assert repr(Board.start(Rules(2))) == "Board.parse('0/0', Rules(pieces=2, squares=40))"


@given(boards())
def test_masks_and_from_masks_are_inverse(board: Board) -> None:
    own, other = board.masks
    assert Board.from_masks(own, other, board.rules) == board
    assert Board.from_masks(np.uint64(own), np.uint64(other), board.rules) == board
    assert own.bit_count() == len(board.own)


@given(boards())
def test_numpy_numbers_are_numbers(board: Board) -> None:
    again = Board(tuple(np.array(board.own, dtype=np.int8)), tuple(np.array(board.other, int)), board.rules)
    assert again == board
    assert all(type(square) is int for square in again.own + again.other)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("5,3/0", "board '5,3/0': squares must ascend; write it '3,5/0'"),
        ("0/9,2", "board '0/9,2': squares must ascend; write it '0/2,9'"),
        ("5,5/0", "own side: two pieces on square 5"),
        ("0/7,7", "other side: two pieces on square 7"),
        ("3/23", "both sides have a piece on the same square: 3 of the own side is 23 of the other side"),
        ("1,2,3,4,5/0", "own side: 5 pieces, but the rules have 4"),
        ("0/1,2,3,4,5", "other side: 5 pieces, but the rules have 4"),
        ("44/0", "own side: there is no square 44, only 0 to 43"),
        ("0/99", "other side: there is no square 99, only 0 to 43"),
        ("0/100", "other side: there is no square '100', only 0 to 43"),
        ("40,41,42,43/40,41,42,43", "both sides have finished; a game has one winner"),
        ("", "board '': write OWN/OTHER with one '/', like '3,17/0'"),
        ("0", "board '0': write OWN/OTHER with one '/', like '3,17/0'"),
        ("0/0/0", "board '0/0/0': write OWN/OTHER with one '/', like '3,17/0'"),
        ("/0", "own side is empty; write 'b' when all pieces are in the box"),
        ("0/", "other side is empty; write 'b' when all pieces are in the box"),
        ("03/0", "own side: '03' has a zero in front; write it without"),
        ("00/0", "own side: '00' has a zero in front; write it without"),
        ("0/+3", "other side: '+3' is not a square; write 0 to 43"),
        ("-1/0", "own side: '-1' is not a square; write 0 to 43"),
        (" 0/0", "own side: ' 0' is not a square; write 0 to 43"),
        ("0/0\n", r"other side: '0\n' is not a square; write 0 to 43"),
        ("0/1,,2", "other side: '' is not a square; write 0 to 43"),
        ("b,0/0", "own side: 'b' is not a square; write 0 to 43"),
        ("B/0", "own side: 'B' is not a square; write 0 to 43"),
        ("٣/0", "own side: '٣' is not a square; write 0 to 43"),
        ("²/0", "own side: '²' is not a square; write 0 to 43"),
        ("1_0/0", "own side: '1_0' is not a square; write 0 to 43"),
        ("9" * 5000 + "/0", f"own side: there is no square '{'9' * 36}..., only 0 to 43"),
    ],
)
def test_what_is_not_a_board(text: str, says: str) -> None:
    with pytest.raises(InvalidBoardError) as caught:
        Board.parse(text, Rules())
    assert str(caught.value) == says
    assert isinstance(caught.value, MadnError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("thing", [None, 5, b"0/0", ["0", "0"], (0,)])
def test_a_board_is_a_text(thing: str) -> None:
    with pytest.raises(InvalidBoardError, match="a board is a text like '0/0', not "):
        Board.parse(thing)


@given(st.text(alphabet="0123456789,/b -+x\n٣", max_size=12) | st.text())
@example("0,/0")
def test_what_parses_is_written_the_same(text: str) -> None:
    try:
        written = str(Board.parse(text))
    except InvalidBoardError as error:
        said = str(error)
    else:
        said = ""
        assert written == text
    assert "\n" not in said
    assert len(said) < 200


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Board((True,), ()), "own side: True is not a square"),
        (lambda: Board((), (1.0,)), "other side: 1.0 is not a square"),  # type: ignore[arg-type]
        (lambda: Board((-1, 3), ()), "own side: there is no square -1, only 0 to 43"),
        (lambda: Board((10**5000,), ()), "own side: there is no square a number of 16610 bits, only 0 to 43"),
        (lambda: Board.from_masks(-1, 0), "own side: a mask must be a whole number, 0 or more, not -1"),
        (lambda: Board.from_masks(0, True), "other side: a mask must be a whole number, 0 or more, not True"),
        (lambda: Board.from_masks(0, 1 << 44), "other side: there is no square 44, only 0 to 43"),
        (lambda: Board.from_masks(0b11111, 0), "own side: 5 pieces, but the rules have 4"),
    ],
)
def test_numbers_that_are_not_a_board(make: Callable[[], Board], says: str) -> None:
    with pytest.raises(InvalidBoardError) as caught:
        make()
    assert str(caught.value) == says


def test_rules_must_be_rules() -> None:
    with pytest.raises(TypeError, match="rules must be Rules, not 4"):
        Board((0,), (0,), 4)  # type: ignore[arg-type]


# Moves as text

squares = st.integers(0, 45)


@given(st.builds(Move, st.none() | squares, squares, st.booleans()) | st.just(Move.PASS))
def test_move_parse_and_str_are_inverse(move: Move) -> None:
    assert Move.parse(str(move)) == move
    assert eval(repr(move)) == move


@given(st.text(alphabet="0123456789-xb ps", max_size=6) | st.text())
def test_a_move_that_parses_is_written_the_same(text: str) -> None:
    try:
        written = str(Move.parse(text))
    except IllegalMoveError as error:
        said = str(error)
    else:
        said = ""
        assert written == text
    assert "\n" not in said


def test_the_examples_of_moves() -> None:
    assert Move.parse("12-17") == Move(12, 17)
    assert Move.parse("12x17") == Move(12, 17, captures=True)
    assert Move.parse("bx0") == Move(None, 0, captures=True)
    assert Move.parse("pass") is Move.PASS


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("12", "'12' is not a move; write '12-17', 'b-0', '12x17' or 'pass'"),
        ("12-b", "'12-b' is not a move; write '12-17', 'b-0', '12x17' or 'pass'"),
        ("Pass", "'Pass' is not a move; write '12-17', 'b-0', '12x17' or 'pass'"),
        ("12-17\n", r"'12-17\n' is not a move; write '12-17', 'b-0', '12x17' or 'pass'"),
        ("٣-4", "'٣-4' is not a move; write '12-17', 'b-0', '12x17' or 'pass'"),
        ("02-07", "'02-07' is not a move; write it '2-7'"),
        ("40-46", "the end of a move must be a square, not 46"),
        (None, "None is not a move; write '12-17', 'b-0', '12x17' or 'pass'"),
    ],
)
def test_what_is_not_a_move(text: str, says: str) -> None:
    with pytest.raises(IllegalMoveError) as caught:
        Move.parse(text)
    assert str(caught.value) == says


@pytest.mark.parametrize("parts", [(3, None, False), (None, None, True), (True, 5, False), (-1, 5, False)])
def test_parts_that_are_not_a_move(parts: tuple[int | None, int | None, bool]) -> None:
    with pytest.raises(IllegalMoveError):
        Move(*parts)


# The rules, one by one


@pytest.mark.parametrize(
    ("text", "roll", "expected"),
    [
        ("3,17/0", 5, "3-8 17-22"),
        ("3,8/0", 5, "8-13"),  # not onto an own piece
        ("3,5/0", 5, "3-8 5-10"),  # jumping an own piece is allowed
        ("40,41/0", 2, "40-42 41-43"),  # also in the finish zone
        ("39,41/0", 4, "39-43"),  # not past the last finish square
        ("38/0", 6, "b-0"),
        ("38,39,41,42/0", 6, "pass"),
        ("3,17/0", 6, "b-0"),  # a 6 brings a piece in
        ("3,17/20", 6, "bx0"),
        ("0,3/5", 1, "0-1"),  # the A-square must be cleared
        ("0,3/5", 6, "0-6"),  # with a 6 too
        ("0,3/25", 5, "0x5"),
        ("0,3/5", 3, "3-6"),  # unless an own piece is in the way; then every other piece may move
        ("0,3,9/5", 3, "3-6 9-12"),
        ("0,6,9/5", 6, "6-12 9-15"),
        ("0,6,39/5", 6, "6-12"),
        ("0,3,9,12/5", 1, "0-1 3-4 9-10 12-13"),  # nobody in the box: free choice
        ("b/0", 5, "pass"),
        ("b/0", 6, "b-0"),
        ("41,43/0", 3, "pass"),
        ("12/37", 5, "12x17"),
        ("34/0", 6, "b-0"),
        ("39,43/1", 1, "39-40"),
        ("1,2,3,4/25,26", 1, "4x5"),
        ("1,2,3,4/26", 2, "3-5 4x6"),
        ("37,39,41,42/20", 3, "37-40"),
    ],
)
def test_legal_moves(text: str, roll: int, expected: str) -> None:
    assert moves(text, roll) == expected


def test_a_finished_game_has_no_moves() -> None:
    board = Board.parse("40,41,42,43/0")
    assert board.winner == "own"
    assert board.legal_moves(3) == ()
    with pytest.raises(IllegalMoveError, match="the game is over"):
        board.after(Move.PASS, 3)
    assert Board.parse("0/40,41,42,43").winner == "other"
    assert Board.parse("0/40,41,42,43").legal_moves(6) == ()
    assert Board.start().winner is None


@pytest.mark.parametrize(
    ("text", "roll", "move", "expected"),
    [
        ("3,17/0", 5, "3-8", "0/8,17"),
        ("3,17/0", 6, "b-0", "0,3,17/0"),
        ("3,17/20,21", 6, "bx0", "0,3,17/21"),
        ("12/8,37", 5, "12x17", "8/17"),
        ("b/0", 2, "pass", "0/b"),
        ("41,42,43,38/0", 6, "pass", "38,41,42,43/0"),
        ("39,41,42,43/0", 1, "39-40", "0/40,41,42,43"),
        ("34,41,42,43/0", 6, "34-40", "40,41,42,43/0"),
    ],
)
def test_after(text: str, roll: int, move: str, expected: str) -> None:
    own, other = text.split("/")
    board = Board(tuple(map(int, own.split(","))) if own != "b" else (), tuple(map(int, other.split(","))))
    assert str(board.after(Move.parse(move), roll)) == expected


def test_an_illegal_move_says_what_was_legal() -> None:
    board = Board.parse("3,17/0,22")
    with pytest.raises(IllegalMoveError) as caught:
        board.after(Move.parse("3-9"), 5)
    assert str(caught.value) == "3-9 is not legal on '3,17/0,22' with a 5; legal: 3-8, 17-22"
    with pytest.raises(IllegalMoveError, match="3-5 is not legal on '3,17/5,25' with a 2; legal: 3x5, 17-19"):
        Board.parse("3,17/5,25").after(Move.parse("3-5"), 2)


def test_the_text_of_a_move_does_as_well() -> None:
    board = Board.parse("3,17/0,22")
    assert board.after("3-8", 5) == board.after(Move(3, 8), 5)
    assert board.after("17x20", 3) == board.after(Move(17, 20, True), 3)  # was "not legal; legal: 3-6, 17x20"
    assert Board.parse("b/0").after("pass", 1) == Board.parse("0/b")
    assert board.svg("17x20") == board.svg(Move(17, 20, True))
    with pytest.raises(IllegalMoveError, match="17-20 is not legal on '3,17/0,22' with a 3; legal: 3-6, 17x20"):
        board.after("17-20", 3)
    for wrong in ("17", "17x20x", "", None, 17):
        with pytest.raises(IllegalMoveError, match="is not a move"):
            board.after(wrong, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "roll",
    [0, 7, -1, True, False, 3.0, "3", None, np.True_, np.float64(3), 10**5000],
    ids=lambda roll: type(roll).__name__,
)
def test_what_is_not_a_roll(roll: int) -> None:
    with pytest.raises(IllegalMoveError, match="a roll is a whole number from 1 to 6, not "):
        Board.start().legal_moves(roll)
    with pytest.raises(IllegalMoveError, match="a roll is a whole number from 1 to 6, not "):
        Board.start().after(Move(0, 3), roll)


@given(boards(), rolls)
def test_any_kind_of_whole_number_is_a_roll(board: Board, roll: int) -> None:
    legal = board.legal_moves(roll)
    assert board.legal_moves(np.int8(roll)) == legal
    assert [board.after(move, np.uint64(roll)) for move in legal] == [board.after(move, roll) for move in legal]


# Laws


def check_laws(board: Board, roll: int) -> None:
    """What every move of every board must keep."""
    rules = board.rules
    legal = board.legal_moves(roll)
    assert bool(legal) == (board.winner is None)
    assert len(set(legal)) == len(legal) <= rules.pieces
    assert legal == (Move.PASS,) or Move.PASS not in legal
    assert [m.start or 0 for m in legal] == sorted(m.start or 0 for m in legal)
    for move in legal:
        after = board.after(move, roll)
        own, other = (after.own, after.other) if roll == 6 else (after.other, after.own)
        assert Board.parse(str(after), rules) == after
        if move.end is None:
            assert (own, other) == (board.own, board.other)
            continue
        brought_in = move.start is None
        assert len(own) == len(board.own) + brought_in
        assert len(other) == len(board.other) - move.captures
        assert set(own) - set(board.own) == {move.end}
        assert set(board.own) - set(own) == (set() if brought_in else {move.start})
        assert set(other) <= set(board.other)
        assert move.captures == (move.end < rules.squares and rules.opposite(move.end) in board.other), (
            "captures exactly when the other side stands there"
        )
        assert brought_in or move.end - (move.start or 0) == roll
        before, now = pips(board.own, rules), pips(own, rules)
        inside = move.start is not None and move.start >= rules.squares
        assert now == before if inside else now < before


@given(boards(), rolls)
def test_laws_of_moves(board: Board, roll: int) -> None:
    check_laws(board, roll)


@pytest.mark.parametrize("rules", SMALL[:3], ids=str)
def test_laws_of_moves_on_every_board(rules: Rules) -> None:
    for board in all_boards(rules):
        for roll in range(1, 7):
            check_laws(board, roll)


@given(boards(), rolls)
def test_legal_moves_do_not_depend_on_the_other_side(board: Board, roll: int) -> None:
    assume(board.winner is None)
    alone = Board(board.own, (), board.rules)
    assert [(m.start, m.end) for m in board.legal_moves(roll)] == [(m.start, m.end) for m in alone.legal_moves(roll)]


@given(boards())
def test_swapping_sides(board: Board) -> None:
    swapped = Board(board.other, board.own, board.rules)
    assert Board(swapped.other, swapped.own, board.rules) == board
    assert str(swapped) == "/".join(reversed(str(board).split("/")))
    assert swapped.masks == board.masks[::-1]
    assert swapped.winner == {"own": "other", "other": "own", None: None}[board.winner]


@given(boards(), rolls)
def test_only_a_six_keeps_the_turn(board: Board, roll: int) -> None:
    """A lost roll shows it most plainly: after a 6 the same board, otherwise the sides swapped."""
    if board.legal_moves(roll) == (Move.PASS,):
        swapped = Board(board.other, board.own, board.rules)
        assert board.after(Move.PASS, roll) == (board if roll == 6 else swapped)


def test_boards_are_values() -> None:
    board = Board.start()
    assert board == Board.parse("0/0")
    assert board != Board.start(Rules(3))
    assert len({board, Board.parse("0/0"), Board.start(Rules(3))}) == 2
    with pytest.raises(AttributeError):
        board.own = ()  # type: ignore[misc]
