"""House rules: each by hand, and all of them through everything that solves, stores, answers and plays."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
import reference_solver
from disk import values_of
from strategies import all_boards

import madn
from madn import Board, Move, Rules
from madn import _match as kernel
from madn.cli import main
from madn.errors import InvalidRulesError, MissingBlockError, RulesMismatchError
from madn.evaluate import evaluate
from madn.match import compiled, play_game, simulate
from madn.players import PLAYERS, OptimalPlayer
from madn.record import read_record, write_record
from madn.review import analyse_game
from madn.rules import HOUSE_RULES, ROLLS
from madn.solver import make_plan, solve
from madn.store import compress_database, verify_database

COMBINATIONS = [dict(zip(HOUSE_RULES, chosen, strict=True)) for chosen in product((False, True), repeat=4)]


def moves(text: str, roll: int, rules: Rules) -> str:
    return " ".join(map(str, Board.parse(text, rules).legal_moves(roll)))


def test_the_names_and_what_they_are_called() -> None:
    assert HOUSE_RULES == ("three_rolls", "start_in_box", "no_jumping", "must_capture")
    assert Rules.house(3) == Rules(3, 40, three_rolls=True, start_in_box=True, no_jumping=True, must_capture=True)
    assert str(Rules(2, must_capture=True)) == "2 pieces, 40 squares, must capture"
    assert Rules(2) != Rules(2, three_rolls=True)
    with pytest.raises(InvalidRulesError, match="no_jumping must be True or False, not 1"):
        Rules(no_jumping=1)  # type: ignore[arg-type]


def test_the_start_is_in_the_box() -> None:
    assert str(Board.start(Rules.house())) == "b/b"
    assert str(Board.start(Rules(3, start_in_box=True))) == "b/b"
    assert str(Board.start(Rules(3))) == "0/0"


def test_the_start_changes_no_value() -> None:
    for chosen in COMBINATIONS:
        if not chosen["start_in_box"]:
            one, two = (
                solve(make_plan(Rules(2, 8, **chosen | {"start_in_box": boxed}), threads=1)) for boxed in (False, True)
            )
            values = values_of(one)
            assert (values == values_of(two)).all()
            assert (one.start, two.start) == (
                values[madn.rank(Board.start(one.rules))],
                values[madn.rank(Board.start(two.rules))],
            )


def test_three_rolls_for_a_six() -> None:
    """91 of 216 times a 6 comes within three rolls; the other 125 times end with any other number."""
    rules = Rules(2, three_rolls=True)
    for text in ("b/0", "41/3,5", "b/b"):
        assert Board.parse(text, rules).roll_weights() == (25, 25, 25, 25, 25, 91), text
        assert Board.parse(text, Rules(2)).roll_weights() == (1,) * 6
        assert (Board.parse(text, rules).tries, Board.parse(text, Rules(2)).tries) == (3, 1)
    assert rules.turn([False] * 5 + [True]) == (216, 91, 125, 0)
    for text in ("0/b", "40/b", "3,41/b", "5,6/7"):  # a piece that can move with another roll
        assert Board.parse(text, rules).roll_weights() == (1,) * 6, text
    assert moves("b/0", 6, rules) == "b-0"
    assert moves("b/0", 3, rules) == "pass"
    with_jumping, without = (Rules(3, three_rolls=True, no_jumping=chosen) for chosen in (False, True))
    assert Board.parse("36,40,42/b", with_jumping).roll_weights() == (1,) * 6
    assert Board.parse("34,40,41/b", without).legal_moves(6) == (Move.PASS,), "a 6 must have a move, too"


def test_no_jumping_in_the_finish_zone() -> None:
    rules = Rules(4, no_jumping=True)
    assert (moves("37,40/0", 4, rules), moves("37,40/0", 4, Rules(4))) == ("pass", "37-41")
    assert moves("37,40/0", 1, rules) == "37-38 40-41"
    assert moves("40,41/0", 2, rules) == "41-43", "40 would jump over 41"
    assert moves("10,12/0", 3, rules) == "10-13 12-15", "on the main field jumping stays allowed"
    assert moves("38,39,40/0", 2, Rules(3, no_jumping=True)) == "40-42", "neither 38-40, taken, nor 39-41 over 40"
    assert moves("39,42/0", 2, rules) == "39-41", "up to a piece, not over it"


def test_a_capture_is_a_duty() -> None:
    rules = Rules(2, must_capture=True)
    assert (moves("3,17/1", 4, rules), moves("3,17/1", 4, Rules(2))) == ("17x21", "3-7 17x21")
    assert moves("3,17/0", 4, rules) == "3-7 17-21", "nothing to capture"
    assert moves("4,17/1,4", 4, rules) == "17x21"
    assert moves("0/24", 4, rules) == "0x4"
    assert moves("b/20", 6, rules) == "bx0"
    assert moves("0,17/2", 5, Rules(3, must_capture=True)) == "0-5", "the A-square must be cleared first"
    assert moves("17,19/1,3", 4, rules) == "17x21 19x23", "which of two captures is free"


@pytest.mark.parametrize("rules", [Rules(2, 8, **chosen) for chosen in COMBINATIONS], ids=str)
def test_what_a_rule_changes_and_what_it_does_not(rules: Rules) -> None:
    """Every position: the moves are those of the printed rules, less what the house rules forbid."""
    printed = Rules(rules.pieces, rules.squares)
    for board in all_boards(rules):
        plain = Board(board.own, board.other, printed)
        for roll in ROLLS:
            allowed = list(plain.legal_moves(roll))
            if rules.no_jumping:
                zone = [q for q in board.own if q >= rules.squares]
                allowed = [m for m in allowed if m.end is None or not any((m.start or 0) < q < m.end for q in zone)]
            if rules.must_capture and any(move.captures for move in allowed):
                allowed = [move for move in allowed if move.captures]
            if allowed or not plain.legal_moves(roll):
                assert list(board.legal_moves(roll)) == allowed
            else:
                assert board.legal_moves(roll) == (Move.PASS,)


@pytest.mark.parametrize("rules", [Rules(1, 8, **chosen) for chosen in COMBINATIONS], ids=str)
def test_within_1e_12_of_the_exact_fractions(rules: Rules, tmp_path: Path) -> None:
    madn.solve(rules, tmp_path / "db")
    exact = [float(value) for value in reference_solver.exact(rules)]
    with madn.open_database(tmp_path / "db") as db:
        assert np.abs(db.win_many(np.arange(rules.positions)) - exact).max() < 1e-12


@pytest.mark.parametrize("rules", [Rules(2, 8, **chosen) for chosen in COMBINATIONS], ids=str)
def test_solved_stored_and_answered(rules: Rules, tmp_path: Path) -> None:
    """From memory, by the thesis' method and from disk: values, best moves, the census, verification."""
    found = madn.solve(rules, tmp_path / "db", policy=tmp_path / "best", scratch=tmp_path / "s", census=True)
    madn.solve(rules, tmp_path / "thesis", method="thesis")
    madn.solve(rules, tmp_path / "memory")
    policy = compress_database(tmp_path / "db", tmp_path / "policy", store="policy")
    compress_database(tmp_path / "db", tmp_path / "rounded", bits=10)
    truth = np.array(reference_solver.solve(rules))
    for name in ("db", "thesis", "memory"):
        with madn.open_database(tmp_path / name) as db:
            assert db.rules == rules
            assert np.abs(db.win_many(np.arange(rules.positions)) - truth).max() < 1e-12
    decisions = 0
    with (
        madn.open_database(tmp_path / "db") as db,
        madn.open_database(tmp_path / "best") as best,
        madn.open_database(tmp_path / "policy") as again,
    ):
        for board in all_boards(rules):
            for roll in ROLLS if board.winner is None else ():
                legal = board.legal_moves(roll)
                options = db.moves(board, roll)
                decisions += len(legal) > 1
                assert {option.move for option in options} == set(legal)
                assert options[0].win == max(option.win for option in options if option.win is not None)
                assert best.best_move(board, roll) == again.best_move(board, roll) == options[0].move
                assert {option.move for option in best.moves(board, roll)} == set(legal)
    assert found.census is not None
    assert decisions == policy["decisions"] == found.census["decisions"]
    for name, residual in (("db", 1e-14), ("best", None), ("policy", None), ("rounded", 2e-3)):
        report = verify_database(tmp_path / name, deep=True)
        assert report.ok
        assert residual is None or (report.residual is not None and report.residual < residual)


def test_the_part_below_a_board(tmp_path: Path) -> None:
    """`--for` a board: its values are those of the whole game, and what is missing names the solve with its rules."""
    rules = Rules(2, 8, three_rolls=True, must_capture=True)
    part, whole = tmp_path / "part", tmp_path / "whole"
    madn.solve(rules, part, board="8/3")
    madn.solve(rules, whole)
    with madn.open_database(part) as db, madn.open_database(whole) as other:
        assert db.win("8/3") == other.win("8/3")
        with pytest.raises(
            MissingBlockError, match="`madn solve --pieces 2 --squares 8 --three-rolls --must-capture --for b/b`"
        ):
            db.win("b/b")


@pytest.mark.parametrize("rule", HOUSE_RULES)
def test_other_rules_are_refused_with_both_named(rule: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A database, a record and a board of another rule, by every command that reads two of them."""
    printed, house = Rules(1, 8), Rules(1, 8, **{rule: True})
    db, game = str(tmp_path / "db"), str(tmp_path / "game.txt")
    madn.solve(house, db)
    write_record(play_game(PLAYERS["fpoc"], PLAYERS["random"], Board.start(printed)), game)
    words = rule.replace("_", " ")
    with madn.open_database(db) as database, pytest.raises(RulesMismatchError, match=f"8 squares; .* {words}$"):
        database.win(Board.start(printed))
    capsys.readouterr()
    for line in ("match fpoc random", "match optimal random", "match --table", "play fpoc random"):
        assert main([*line.split(), *printed.options.split(), "--db", db]) == 2, line
        assert main([*line.split(), *house.options.split(), "--db", db, "--seed", "1", "--json"]) == 0, line
        out, err = capsys.readouterr()
        said = [text for text in err.splitlines() if text.startswith("madn: ")]
        assert len(said) == 1, err
        assert said[0] == f"madn: the database {db} holds 1 piece, 8 squares, {words}, not 1 piece, 8 squares"
        assert f'"{rule}": true' in out
    assert main(["analyse-game", game, "--db", db]) == 2
    assert capsys.readouterr().err == f"madn: the database {db} holds {house}, not {printed}\n"
    write_record(play_game(PLAYERS["fpoc"], PLAYERS["random"], Board.start(house), 5), game)
    with madn.open_database(db) as database:
        review = analyse_game(read_record(game), database)
    assert review.record.rules == house
    assert review.start + review.first.luck - review.first.cost - review.second.luck + review.second.cost == (
        pytest.approx(review.end, abs=1e-9)
    )
    assert main(["analyse-game", game, "--db", db]) == 0
    assert f"1 piece, 8 squares, {words}: fpoc against random" in capsys.readouterr().out
    assert main(["info", db, "--json"]) == 0
    assert f'"{rule}": true' in capsys.readouterr().out


@pytest.mark.parametrize("rules", [Rules(2, 8, **chosen) for chosen in COMBINATIONS[::3]], ids=str)
def test_players_exactly_and_in_games(rules: Rules, tmp_path: Path) -> None:
    madn.solve(rules, tmp_path / "db")
    start = Board.start(rules)
    with madn.open_database(tmp_path / "db") as db:
        optimal = OptimalPlayer(db)
        assert evaluate(rules, optimal, None).first_wins(start) == pytest.approx(db.win(start), abs=1e-12)
        for first, second in ((optimal, PLAYERS["fpoc"]), (PLAYERS["random"], optimal)):
            exact = evaluate(rules, first, second).first_wins(start)
            assert simulate(first, second, start, 20_000, seed=3).agrees(exact)
            for number in range(15):
                plies = [(ply.roll, ply.move) for ply in play_game(first, second, start, 7, number).plies]
                one, two = (compiled(player, rules) for player in (first, second))
                assert one is not None
                assert two is not None
                assert kernel.play_one(one, two, *start.masks, 7, number) == [
                    (roll, -1 if move.start is None else move.start, -1 if move.end is None else move.end)
                    for roll, move in plies
                ]
