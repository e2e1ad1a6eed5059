"""Game records: text and back, what is wrong with a broken one, and the review of a game."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import boards

import madn
from madn import Board, IllegalMoveError, Move, Rules
from madn.errors import FormatVersionError, InvalidRecordError, MadnError, RulesMismatchError
from madn.match import play_game
from madn.players import PLAYERS
from madn.record import Ply, Record, parse_record, read_record, write_record
from madn.review import analyse_game

TWO = Rules(pieces=2)
lines = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=20)
names = lines.map(str.strip).filter(bool)


@st.composite
def records(draw: st.DrawFn, start: st.SearchStrategy[Board] | None = None) -> Record:
    """Some moves of some game, with comments."""
    record = Record(
        draw(boards() if start is None else start),
        draw(names),
        draw(names),
        (),
        tuple(draw(st.lists(lines, max_size=2))),
    )
    for _ in range(draw(st.integers(0, 12))):
        roll = draw(st.integers(1, 6))
        moves = record.board.legal_moves(roll)
        if moves:
            record = record.played(roll, draw(st.sampled_from(moves)), *draw(st.lists(lines, max_size=2)))
    return record


@settings(max_examples=50)
@given(records())
def test_text_and_back(record: Record) -> None:
    assert parse_record(str(record)) == record
    assert str(parse_record(str(record))) == str(record)


@dataclass(frozen=True, slots=True)
class HouseRules(Rules):
    """Rules with two fields more, as later versions have."""

    must_jump: bool = False
    laps: int = 1


def test_every_field_of_the_rules_is_a_head_and_a_missing_one_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = str(Record(Board.start(TWO)))
    monkeypatch.setattr("madn.record.Rules", HouseRules)
    assert parse_record(plain).rules == HouseRules(pieces=2)
    record = Record(Board.start(HouseRules(2, 40, must_jump=True, laps=3))).played(1, "0-1")
    assert "squares: 40\nmust_jump: on\nlaps: 3\nfirst: first\n" in str(record)
    assert parse_record(str(record)) == record
    moved = str(record).replace("laps: 3\n", "").replace("result:", "laps: 3\nresult:").replace("jump: on", "jump: off")
    assert parse_record(moved).rules == HouseRules(2, 40, laps=3)
    for old, new, message in (
        ("must_jump: on", "must_jump: yes", "line 4: must_jump is 'on' or 'off', not 'yes'"),
        ("laps: 3", "laps: three", "line 5: laps must be a whole number, not 'three'"),
    ):
        with pytest.raises(InvalidRecordError, match=message):
            parse_record(str(record).replace(old, new))
    monkeypatch.undo()
    with pytest.raises(FormatVersionError, match=r"line 4: rule 'must_jump' is too new for this madn, or misspelt"):
        parse_record(str(record))


def test_boards_and_moves_may_be_texts() -> None:
    record = Record("0/0", plies=(Ply(3, "0-3"),)).played(6, "0-6")  # type: ignore[arg-type]
    assert record == Record(Board.start(), plies=(Ply(3, Move(0, 3)), Ply(6, Move(0, 6))))
    assert play_game(PLAYERS["fpoc"], PLAYERS["random"], "0/0", 1) == play_game(
        PLAYERS["fpoc"], PLAYERS["random"], Board.start(), 1
    )


@settings(max_examples=50)
@given(records(), st.integers(0, 200), lines)
def test_a_record_with_something_broken_in_it_is_read_or_refused_with_its_line(
    record: Record, at: int, text: str
) -> None:
    whole = str(record)
    message = "game.txt, line "
    try:
        parse_record(whole[: at % len(whole)] + text + whole[at % len(whole) :], "game.txt")
    except MadnError as error:
        message = str(error)
    assert message.startswith("game.txt, line ")


def test_more_white_space_and_comments_behind_moves_are_read(tmp_path: Path) -> None:
    path = tmp_path / "game.txt"
    path.write_bytes(
        b"madn game\r\npieces: 2\r\nsquares:40\nfirst: A\nsecond: B\nstart: 0/0\nresult: unfinished\n"
        b"  1   first 3  0-3   # good\n\n#  better\n2 second 6 0-6\n"
    )
    record = read_record(path)
    assert record.plies == (Ply(3, Move(0, 3), ("good", " better")), Ply(6, Move(0, 6)))
    assert (str(record.board), record.mover, record.winner) == ("6/3", "second", None)
    write_record(record, path)
    assert read_record(path) == record


GAME = """\
madn game
pieces: 2
squares: 40
first: A
second: B
start: 0/0
result: unfinished

1 first 3 0-3
2 second 6 0-6
3 second 1 6-7
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("madn game", "chess game", "g, line 1: a record begins with the line 'madn game'"),
        ("pieces: 2", "pieces: two", "line 2: pieces must be a whole number, not 'two'"),
        ("pieces: 2", "pieces: 9", "line 2: pieces must be 1 to 6, not 9"),
        ("squares: 40", "squares: 39", "line 3: squares must be an even number"),
        ("first: A", "first:", "line 4: write a name after 'first:'"),
        (
            "second: B",
            "third: B",
            "line 5: there is no head 'third:'; write one of three_rolls:, .*, second:, start:, result:",
        ),
        ("second: B", "first: B", "line 5: a second 'first:'"),
        ("start: 0/0", "start: 0/20", "line 6: both sides have a piece on the same square"),
        ("result: unfinished", "result: draw", "line 7: the result is 'first wins', 'second wins', 'unfinished', not"),
        ("result: unfinished", "result: first wins", "line 7: the result is 'first wins', but after the moves it is"),
        ("1 first 3 0-3", "1 first 3", "line 9: '1 first 3' is not a move; write NUMBER"),
        ("1 first 3 0-3", "2 first 3 0-3", "line 9: this is move 1, not 2"),
        ("1 first 3 0-3", "1 second 3 0-3", "line 9: move 1: it is the turn of first, not of 'second'"),
        ("1 first 3 0-3", "1 first 7 0-7", "line 9: move 1: a roll is a whole number from 1 to 6, not '7'"),
        ("1 first 3 0-3", "1 first 3 3", "line 9: move 1: '3' is not a move; .*; legal: 0-3"),
        ("3 second 1 6-7", "3 second 1 6-8", "line 11: move 3: 6-8 is not legal on '6/3' with a 1; legal: 6-7"),
        ("3 second 1 6-7", "3 first 1 3-4", "line 11: move 3: it is the turn of second"),
    ],
)
def test_a_broken_record_says_which_line_which_move_and_what_was_legal(old: str, new: str, message: str) -> None:
    assert old in GAME
    with pytest.raises(InvalidRecordError, match=message):
        parse_record(GAME.replace(old, new), "g")


def test_a_record_that_ends_early_says_what_is_missing() -> None:
    with pytest.raises(InvalidRecordError, match="line 4: the record ends before first:, second:, start:, result:"):
        parse_record(GAME.split("first")[0], "g")
    with pytest.raises(InvalidRecordError, match="begins with"):
        parse_record("", "g")


def test_a_finished_game_goes_on_no_more() -> None:
    over = (
        "madn game\npieces: 1\nsquares: 40\nfirst: A\nsecond: B\nstart: 39/0\nresult: first wins\n\n1 first 1 39-40\n"
    )
    record = parse_record(over)
    assert (record.winner, str(record)) == ("first", over)
    with pytest.raises(InvalidRecordError, match=r"line 10: move 2: .* the game is over"):
        parse_record(over + "2 second 1 0-1\n", "g")


def test_names_and_comments_must_fit_a_line() -> None:
    for wrong in ({"first": ""}, {"second": " x"}, {"first": "a\nb"}, {"comments": ("a\nb",)}):
        with pytest.raises(InvalidRecordError):
            Record(Board.start(TWO), **wrong)
    with pytest.raises(IllegalMoveError, match="move 1: 0-4 is not legal"):
        Record(Board.start(TWO)).played(3, Move(0, 4))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for name in ("none", "binary"):
        with pytest.raises(InvalidRecordError, match=name):
            read_record(tmp_path / name)


def test_undo_is_the_inverse_of_played() -> None:
    record = Record(Board.start(TWO)).played(3, Move(0, 3))
    assert record.played(6, Move(0, 6), "why").undone() == record


@settings(max_examples=20)
@given(records(boards(TWO, finished=False)))
def test_luck_and_cost_add_up_to_the_change_of_the_game(record: Record) -> None:
    with madn.open_database() as db:
        review = analyse_game(record, db)
    first, second = review.first, review.second
    assert review.end == pytest.approx(
        review.start + first.luck - first.cost - second.luck + second.cost, abs=5e-5 * (1 + len(record.plies))
    )
    assert all(move.cost >= 0 for move in review.moves)
    assert [move.cost == 0 for move in review.moves] == [move.best == move.move for move in review.moves]


def test_a_whole_game_is_reviewed_to_its_result() -> None:
    with madn.open_database() as db:
        record = play_game(PLAYERS["optimal"], PLAYERS["random"], Board.start(TWO), 3)
        review = analyse_game(record, db)
        assert review.end == (record.winner == "first")
        assert review.first.cost == 0  # optimal makes no errors
        assert review.second.cost > 0.01
        assert review.second.errors <= review.second.choices
        with pytest.raises(RulesMismatchError):
            analyse_game(Record(Board.start()), db)
