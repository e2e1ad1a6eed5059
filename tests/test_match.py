"""Matches: the same games compiled and in Python and on any number of threads; exact results."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_estimator import FakeEstimator
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies import all_boards
from test_players import rule_players

import madn
from madn import Board, Move, Rules
from madn._core import Game
from madn._evaluate import Evaluator, fill
from madn._match import Games, play_many, play_one
from madn._players import CompiledPlayer
from madn.advisor import Advisor, estimates_of
from madn.cli import main
from madn.errors import InvalidPlayerError, MissingBlockError, ResourceError, RulesMismatchError
from madn.evaluate import SideTables, evaluate
from madn.features import FEATURES
from madn.match import Result, compiled, play_game, simulate
from madn.parts import part_of
from madn.players import PLAYERS, FunctionPlayer, OptimalPlayer, Player, RulePlayer
from madn.report import published
from madn.report.ludo import MISTAKEN
from madn.solver.sides import Side
from madn.store import compress_database

SMALL = Rules(pieces=2, squares=12)
TWO = Rules(pieces=2)
RULED = [player for player in PLAYERS.values() if isinstance(player, RulePlayer)]


def in_python(player: Player) -> FunctionPlayer:
    """The same player where only Python can ask it."""
    return FunctionPlayer(player.name, player.description, lambda board, roll, moves: player.choices(board, roll))


@settings(max_examples=15)
@given(rule_players, rule_players, st.integers(0, 2**64 - 1), st.integers(0, 10**9 - 1))
def test_the_compiled_games_are_the_python_games(first: RulePlayer, second: RulePlayer, seed: int, game: int) -> None:
    start = Board.start(SMALL)
    moves = play_one(compiled(first, SMALL), compiled(second, SMALL), *start.masks, seed, game)  # type: ignore[arg-type]
    record = play_game(first, second, start, seed, game)
    listed = [(ply.roll, ply.move) for ply in record.plies]
    assert listed == [(r, Move.PASS if end < 0 else _move(listed, k, s, end)) for k, (r, s, end) in enumerate(moves)]


def _move(listed: list[tuple[int, Move]], number: int, start: int, end: int) -> Move:
    """The move of a start and an end; whether it captures is what the other list says."""
    captures = number < len(listed) and listed[number][1].captures
    return Move(None if start < 0 else start, end, captures)


def test_games_are_the_same_on_any_number_of_threads_and_in_any_slices() -> None:
    one, two = (compiled(PLAYERS[name], Rules()) for name in ("random", "fpnpoc"))
    assert one is not None
    assert two is not None
    whole = play_many(one, two, 1, 1, 5, 0, 3000, 1)
    assert play_many(one, two, 1, 1, 5, 0, 3000, 2) == whole
    cuts = [play_many(one, two, 1, 1, 5, a, b, 2) for a, b in pairwise([0, 1, 257, 2000, 3000])]
    assert tuple(map(sum, zip(*cuts, strict=True))) == whole
    assert play_many(one, two, 1, 1, 6, 0, 3000, 2) != whole
    for begin, end in ((-1, 5), (5, 4), (0, 2**62), (0, 2**63 - 1), (2**62, 2**62 + 5)):
        with pytest.raises(ValueError, match=f"games {begin} to {end}"):
            play_many(one, two, 1, 1, 5, begin, end, 1)


def test_optimal_plays_the_same_games_without_a_table(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """A game too large for a table, and a database of best moves, are asked move after move."""
    solved, policy = tmp_path / "solved", tmp_path / "policy"
    assert main(["solve", "--pieces", "2", "--squares", "12", "--out", str(solved)]) == 0
    compress_database(solved, policy, store="policy")
    start, results = Board.start(SMALL), list[Any]()
    with madn.open_database(solved) as values, madn.open_database(policy) as moves:
        for database, largest in ((values, 10**9), (values, 1), (moves, 10**9)):
            monkeypatch.setattr("madn.match.TABLE_BYTES", largest)
            optimal = OptimalPlayer(database)
            assert (compiled(optimal, SMALL) is not None) == (not results)
            results.append(simulate(optimal, PLAYERS["random"], start, 30, seed=4))
    assert results[0] == results[1] == results[2]


def test_optimal_plays_a_game_that_starts_in_the_box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its values are those of the game that does not: the part that is solved for both."""
    monkeypatch.setenv("MADN_CACHE", str(tmp_path))
    boxed = replace(SMALL, start_in_box=True)
    result = simulate(PLAYERS["fpoc"], OptimalPlayer(Advisor(boxed)), Board.start(boxed), 2000, 1)
    exact = evaluate(boxed, PLAYERS["fpoc"], OptimalPlayer(Advisor(boxed)))
    assert result.agrees(exact.first_wins(Board.start(boxed)))


def test_a_player_that_only_python_can_ask_plays_the_same_games() -> None:
    pair = PLAYERS["random"], PLAYERS["hunter"]
    compiled_result = simulate(*pair, Board.start(SMALL), 40, 9)
    assert simulate(in_python(pair[0]), pair[1], Board.start(SMALL), 40, 9) == compiled_result


def test_the_games_of_different_numbers_and_seeds_differ_and_the_die_is_fair() -> None:
    rolls = np.zeros(7, int)
    start = Board.start(TWO)
    games = [play_game(PLAYERS["random"], PLAYERS["fpoc"], start, 1, game) for game in range(100)]
    assert len({str(game) for game in games}) == 100
    for game in games:
        rolls += np.bincount([ply.roll for ply in game.plies], minlength=7)
    expected = rolls.sum() / 6
    assert ((rolls[1:] - expected) ** 2 / expected).sum() < 25  # chi-squared, 5 degrees of freedom: p = 0.0001


def test_a_match_needs_games_and_an_open_board() -> None:
    with pytest.raises(InvalidPlayerError, match="games must be 1 to 1000000000, not 0"):
        simulate(RULED[0], RULED[1], Board.start(TWO), 0)
    with pytest.raises(InvalidPlayerError, match="over"):
        simulate(RULED[0], RULED[1], Board.parse("40,41/0", TWO), 5)


def test_the_standard_error_is_that_of_a_proportion() -> None:
    result = Result(250, 1000, 0)
    assert result.standard_error == pytest.approx((0.25 * 0.75 / 1000) ** 0.5, rel=0.01)
    assert result.agrees(0.25 + 3.9 * result.standard_error)
    assert not result.agrees(0.25 + 4.1 * result.standard_error)
    assert Result(10, 10, 0).standard_error > 0


# exact results


def linear_system(rules: Rules, first: Player, second: Player) -> tuple[list[Board], NDArray[Any]]:
    """Every open board twice, with either player to move, and its value by solving all equations at once."""
    open_boards = [board for board in all_boards(rules) if board.winner is None]
    number = {(board, who): i for i, (who, board) in enumerate((w, b) for w in (0, 1) for b in open_boards)}
    matrix, right = np.eye(len(number)), np.zeros(len(number))
    for (board, who), i in number.items():
        for roll in range(1, 7):
            moves = (first, second)[who].choices(board, roll)
            for move in moves:
                weight = 1 / 6 / len(moves)
                after, next_who = board.after(move, roll), who if roll == 6 else 1 - who
                if after.winner is not None:
                    right[i] += weight * (who == 0)
                else:
                    matrix[i, number[after, next_who]] -= weight
    return open_boards, np.linalg.solve(matrix, right)


@pytest.mark.parametrize(
    ("rules", "names"),
    [
        (Rules(1, 12), ("random", "fpoc")),
        (Rules(2, 8), ("random", "careful")),
    ],
)
def test_exact_results_solve_the_linear_system_of_all_positions(rules: Rules, names: tuple[str, str]) -> None:
    first, second = (PLAYERS[name] for name in names)
    found = evaluate(rules, first, second)
    open_boards, solved = linear_system(rules, first, second)
    half = len(open_boards)
    assert [found.first_wins(board) for board in open_boards] == pytest.approx(solved[:half], abs=1e-11)
    assert [found.second_wins(board) for board in open_boards] == pytest.approx(1 - solved[half:], abs=1e-11)


@pytest.mark.parametrize("text", ["38,41,42/0,41,42", "39,41,42,43/38,41,42,43"])
def test_optimal_plays_from_a_database_of_what_a_board_can_lead_to(text: str, tmp_path: Path) -> None:
    """All that it needs is there: of three pieces in a table, of four asked move by move."""
    rules = Rules(text.count(",") // 2 + 1)
    board = Board.parse(text, rules)
    madn.solve(rules, out=tmp_path / "part", board=board)
    with madn.open_database(tmp_path / "part") as part:
        optimal, win = OptimalPlayer(part), part.win(board)
        assert evaluate(rules, optimal, optimal, start=board).first_wins(board) == pytest.approx(win, abs=1e-7)
        assert (compiled(optimal, rules, board) is not None) == (rules.pieces == 3)
        assert simulate(optimal, optimal, board, 300).agrees(win)
        for play in (lambda: simulate(optimal, optimal, Board.start(rules), 1), lambda: evaluate(rules, optimal, None)):
            with pytest.raises((MissingBlockError, ResourceError)):
                play()


def test_a_python_player_gives_the_exact_result_of_its_compiled_twin() -> None:
    rules, start = Rules(2, 8), Board.start(Rules(2, 8))
    for name in ("random", "careful"):
        slow = evaluate(rules, in_python(PLAYERS[name]), PLAYERS["fpoc"])
        assert slow.first_wins(start) == evaluate(rules, PLAYERS[name], PLAYERS["fpoc"]).first_wins(start)
    with pytest.raises(InvalidPlayerError, match="asked move by move"):
        evaluate(Rules(3), in_python(PLAYERS["random"]), PLAYERS["fpoc"])


def test_three_pieces_in_32_bits_agree_with_exact_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    rules, start = Rules(3, 8), Board.start(Rules(3, 8))
    pair = PLAYERS["random"], PLAYERS["fpnpoc"]
    fine = evaluate(rules, *pair)
    monkeypatch.setattr("madn.evaluate.FINE_POSITIONS", 0)
    coarse = evaluate(rules, *pair)
    assert coarse.residual < 3e-9
    assert coarse.first_wins(start) == pytest.approx(fine.first_wins(start), abs=1e-7)
    assert np.abs(coarse.all_wins() - fine.all_wins()).max() < 1e-6


def test_exact_results_are_the_same_bits_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("madn.evaluate.PARALLEL", 1)
    pair = PLAYERS["random"], PLAYERS["fpnpoc"]
    one, two = (evaluate(SMALL, *pair, threads=threads).all_wins() for threads in (1, 2))
    assert (one == two).all()


def test_played_and_exact_results_agree_within_four_standard_errors() -> None:
    start = Board.start(SMALL)
    for first, second in [("random", "fpoc"), ("careful", "hunter"), ("fpnpoc", "together")]:
        exact = evaluate(SMALL, PLAYERS[first], PLAYERS[second])
        played = simulate(PLAYERS[first], PLAYERS[second], start, 100_000, 3)
        assert played.agrees(exact.first_wins(start)), (first, second)
        assert not played.agrees(exact.first_wins(start) + 0.02)


def test_the_best_answers_to_each_other_are_the_solution_of_the_game() -> None:
    found = evaluate(SMALL, None, None)
    from madn.solver import make_plan, solve

    values = np.empty(SMALL.positions)
    solve(make_plan(SMALL)).read(0, values)
    assert np.abs(found.all_wins() - values).max() < 1e-12
    assert np.abs(found.all_wins(first=False) - values).max() < 1e-12


@pytest.fixture(scope="module")
def two_piece_values() -> NDArray[np.float64]:
    from madn.solver import make_plan, solve

    values = np.empty(TWO.positions)
    solve(make_plan(TWO)).read(0, values)
    return values


def test_nobody_beats_optimal_from_any_position(two_piece_values: NDArray[np.float64]) -> None:
    """Two pieces, all positions: against optimal nobody wins more than the value of the game, and optimal no less."""
    values = two_piece_values
    with madn.open_database() as db:
        error = db.info()["max_error"]
    assert np.isclose(values[Game(Rules(2, 40)).rank(1, 1)], 0.509187, atol=1e-6)
    for name in ("fpnpoc", "random"):
        found = evaluate(TWO, PLAYERS["optimal"], PLAYERS[name], tolerance=1e-10)
        assert (found.all_wins() >= values - 1e-9).all(), name
        assert (found.all_wins(first=False) <= values + 1e-9).all(), name
    best = evaluate(TWO, PLAYERS["optimal"], None, tolerance=1e-10)
    assert np.abs(best.all_wins() - values).max() < 1e-9  # even its best answer
    assert error < 1e-4


def test_the_best_answer_wins_at_least_as_much_as_anybody() -> None:
    best = evaluate(SMALL, None, PLAYERS["fpoc"])
    value = evaluate(SMALL, None, None)
    assert (best.all_wins() >= value.all_wins() - 1e-12).all()
    for player in RULED:
        other = evaluate(SMALL, player, PLAYERS["fpoc"])
        assert (best.all_wins() >= other.all_wins() - 1e-12).all(), player.name
        assert (best.all_wins(first=False) <= other.all_wins(first=False) + 1e-12).all(), player.name


def test_an_evaluation_knows_its_rules_and_limits() -> None:
    found = evaluate(SMALL, PLAYERS["fpoc"], None)
    assert (found.first, found.second) == ("fpoc", "best")
    assert found.first_wins(Board.parse("12,13/0", SMALL)) == 1.0
    assert found.second_wins(Board.parse("0/12,13", SMALL)) == 0.0
    with pytest.raises(RulesMismatchError):
        found.first_wins(Board.start())
    with pytest.raises(ResourceError, match="up to 3 pieces"):
        evaluate(Rules(4), PLAYERS["fpoc"], None)


def test_exact_results_need_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("madn.machine.available_memory", lambda: 1 << 20)
    with pytest.raises(ResourceError, match="MiB of memory"):
        evaluate(SMALL, None, None)


# what the kernels refuse: wrong input raises, it never reads or writes where it should not


def component(
    side: Callable[[SideTables], SideTables] = lambda side: side, pieces: int = 2, columns: int = 0, **changes: Any
) -> Evaluator:
    """The last component of a small game, with one thing changed."""
    a = Side(SMALL, 0b10)
    tables, n = SideTables.of(a), a.size
    values = {name: np.zeros(n * n) for name in ("L", "R")}
    end = np.ones(n)
    exits = {"a_exits": [(end, end, 0)], "b_exits": [(end, end, columns or 1)]}
    arguments = {**values, **exits, "a_sets": None, "b_sets": None, **changes}
    return Evaluator(pieces, False, side(tables), tables, **arguments)


def changed(name: str, at: Any, value: int) -> Callable[[SideTables], SideTables]:
    """A side with one number of one table changed."""

    def change(side: SideTables) -> SideTables:
        array = getattr(side, name).copy()
        array[at] = value
        return replace(side, **{name: array})

    return change


def cut(name: str) -> Callable[[SideTables], SideTables]:
    return lambda side: replace(side, **{name: np.ascontiguousarray(getattr(side, name)[:-1])})


def missing(name: str) -> Callable[[SideTables], SideTables]:
    return lambda side: replace(side, **{name: None})  # type: ignore[arg-type]


def test_a_component_is_swept_if_its_tables_fit() -> None:
    whole = component()
    assert 0 < whole.sweep(0, whole.columns, 2, False) <= 1


@pytest.mark.parametrize(
    "wrong",
    [
        *(cut(name) for name in ("masks", "facing", "without", "first", "kind", "row", "end", "turn")),
        *(missing(name) for name in ("facing", "without", "first", "kind", "row", "end", "turn")),
        *(changed("without", (0, 0), value) for value in (-1, 10**6)),
        *(changed("first", at, value) for at, value in ((0, 1), (5, 10**6), (5, -(10**6)), (-1, 10**6))),
        *(changed("kind", 0, value) for value in (-1, 2, 127)),
        *(changed("row", slice(None), value) for value in (-1, 10**6, 2**31 - 1)),
        *(changed("end", 0, value) for value in (-1, 64)),
        changed("facing", 0, 2**40 - 1),
        changed("turn", (0, 0), 0),
        lambda side: replace(side, row=side.row.astype(np.int64)),
        lambda side: replace(side, masks=side.masks[::-1]),
        lambda side: replace(side, **{name: getattr(side, name)[:0] for name in ("masks", "facing", "without")}),
    ],
)
def test_the_tables_of_a_side_are_checked(wrong: Callable[[SideTables], SideTables]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        component(wrong)


def test_the_values_exits_and_sets_of_a_component_are_checked() -> None:
    n = Side(SMALL, 0b10).size
    short, narrow = np.zeros(n * n - 1), np.zeros(n - 1)
    wrong: list[dict[str, Any]] = [
        {"L": short},
        {"R": short},
        {"L": np.zeros(n * n, np.uint32)},
        {"L": np.zeros(n * n, np.int64), "R": np.zeros(n * n, np.int64)},
        {"a_exits": []},
        {"a_exits": [(narrow, narrow, 0)]},
        {"b_exits": [(narrow, narrow, 1)]},
        {"a_exits": [(np.ones(n), np.ones(n), -1)]},
        {"a_exits": [(np.ones(n), np.ones(n), 0)] * 40},
        {"columns": 2},
        {"a_sets": np.zeros(n * n - 1, np.uint32)},
        {"b_sets": np.zeros(n * n, np.uint64)},
        {"pieces": 0},
        {"pieces": 3},
        {"pieces": 5},
    ]
    for changes in wrong:
        with pytest.raises(ValueError, match=r"\w"):
            component(**changes)
    whole = component()
    for begin, end, threads in ((-1, 3, 1), (0, n + 1, 1), (3, 2, 1), (0, 3, 0)):
        with pytest.raises(ValueError, match=r"rows|threads"):
            whole.sweep(begin, end, threads, True)


def test_the_states_that_a_player_is_asked_about_are_checked() -> None:
    player = compiled(PLAYERS["random"], SMALL)
    assert player is not None
    good = np.array([1, 3], np.uint64)
    for states in (np.array([7], np.uint64), np.array([1 << 14], np.uint64), np.array([2**64 - 1], np.uint64)):
        for a, b in ((states, good), (good, states)):
            with pytest.raises(ValueError, match="not a side"):
                fill(player, a, b, np.zeros((len(a), len(b)), np.uint32), 1)
    pairs: list[tuple[Any, Any]] = [(None, good), (good, None)]
    for one, other in pairs:
        with pytest.raises(TypeError, match="None"):
            fill(player, one, other, np.zeros((2, 2), np.uint32), 1)
    for shape, threads in (((2, 1), 1), ((1, 2), 1), ((2, 2), 0)):
        with pytest.raises(ValueError, match=r"sets|threads"):
            fill(player, good, good, np.zeros(shape, np.uint32), threads)


def test_compiled_players_and_games_are_checked() -> None:
    game = Game(SMALL)
    for values in (np.zeros(3), [0.5] * game.positions, np.zeros((game.positions, 1)), np.zeros(game.positions, "f4")):
        with pytest.raises(ValueError, match=r"\w"):
            CompiledPlayer(game, values=values)  # type: ignore[arg-type]
    for rules in ([(0, 1, False)] * 33, [(-1, 1, False)], [(99, 1, False)], [(0, 100, False)], [(0, 1, True)]):
        with pytest.raises(ValueError, match="rule"):
            CompiledPlayer(game, rules)
    one, other = CompiledPlayer(game), CompiledPlayer(Game(TWO))
    assert one.choices(1, 3 << 12, 1) == []  # the game is over
    for own, there, roll in ((1, 1 << 6, 1), (7, 1, 1), (1 << 20, 1, 1), (1, 1, 0), (1, 1, 7)):
        with pytest.raises(ValueError, match="not a position"):
            one.choices(own, there, roll)
    for second, own, there in ((other, 1, 1), (one, 1, 1 << 6), (one, 3 << 12, 1)):
        with pytest.raises(ValueError, match=r"\w"):
            play_many(one, second, own, there, 0, 0, 1, 1)
        with pytest.raises(ValueError, match=r"\w"):
            play_one(one, second, own, there, 0, 0)
    for begin, end, threads in ((-1, 1, 1), (2, 1, 1), (0, 1, 0)):
        with pytest.raises(ValueError, match=r"games|threads"):
            play_many(one, one, 1, 1, 0, begin, end, threads)


# Table 5.2


def test_the_thesis_prints_what_its_players_score() -> None:
    """Four pieces, fewer games than the thesis played; `madn reproduce --full` plays a million of each pairing."""
    printed = published()["madn"]["table_5_2_percent"]
    result = simulate(PLAYERS["fpoc"], PLAYERS["random"], Board.start(), 60_000, 1)
    assert result.agrees(printed["fpoc"]["random"] / 100, 1_000_000)
    for first, second in permutations(MISTAKEN, 2):
        result = simulate(MISTAKEN[first], MISTAKEN[second], Board.start(), 60_000, 1)
        assert result.agrees(printed[first][second] / 100, 1_000_000), (first, second)


def test_the_mistakes_of_the_thesis_on_boards_made_for_them() -> None:
    """Whatever seems to stand on a square of the main field can be captured, it seems; nothing is passed on 20."""
    capture, passing = FEATURES["seeming-capture"].of, FEATURES["seeming-passing"].of
    boards = [Board.parse(text) for text in ("10,15,18,36/5,6,7,42", "10,15,18,36/5,6,7", "10,15,18,36/0,22,23,24")]
    seen = [[(m.start, capture(b, m), passing(b, m)) for m in b.legal_moves(4)] for b in boards]
    assert seen[0] == [(10, 0, 0), (15, 0, 0), (18, 1, 0), (36, 0, 0)]  # 42 seems to stand on 22
    assert seen[1] == [(10, 0, 0), (15, 1, 0), (18, 0, 0), (36, 0, 0)]  # the boxed piece seems to stand on 19
    assert seen[2] == [(10, 0, 0), (15, 0, 0), (18, 0, 0), (36, 0, 0)]  # 20 is jumped over unseen
    beyond = Board.parse("10,15,18,36/5,6,20,21")  # 20 is square 0, where the way into the finish zone has left
    assert [passing(beyond, m) for m in beyond.legal_moves(4)] == [0, 0, 0, 1]


# players that are asked


@pytest.mark.parametrize(("first", "second"), [("estimate", "random"), ("hunter", "estimate"), ("estimate", "optimal")])
def test_games_of_players_that_are_asked_are_the_same_games(
    first: str, second: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Many decisions at once, by estimates, and exactly in endgames: the games that are played one by one."""
    rules = Rules(3, 10)
    start = Board.start(rules)
    monkeypatch.setattr("madn.advisor.find_estimator", FakeEstimator)
    estimates_of.cache_clear()
    with Advisor(rules, cache=tmp_path, limit=2000) as advisor:
        one, two = (OptimalPlayer(advisor) if name == "optimal" else PLAYERS[name] for name in (first, second))
        slow = [play_game(one, two, start, 7, game) for game in range(40)]
        fast = simulate(one, two, start, 40, 7)
        endgame = part_of(rules, 6 << 10, 6 << 10)
        assert endgame is not None
        assert (advisor.parts.opened(endgame) is not None) == (second == "optimal")
    estimates_of.cache_clear()
    assert fast.wins == sum(record.winner == "first" for record in slow)
    assert fast.plies == sum(len(record.plies) for record in slow)


def test_a_database_of_best_moves_is_asked_about_many_decisions_at_once(tmp_path: Path) -> None:
    madn.solve(SMALL, out=tmp_path / "values")
    assert main(["compress", str(tmp_path / "values"), str(tmp_path / "best"), "--store", "policy", "--json"]) == 0
    start = Board.start(SMALL)
    with madn.open_database(tmp_path / "values") as values, madn.open_database(tmp_path / "best") as best:
        results = {simulate(OptimalPlayer(db), PLAYERS["random"], start, 500, 3) for db in (values, best)}
    assert len(results) == 1


def test_wrong_answers_to_decisions_are_refused() -> None:
    game = Game(SMALL)
    games = Games(game, None, None, *Board.start(SMALL).masks, 1, 0, 5)
    with pytest.raises(ValueError, match="expected 0"):
        games.choose(np.zeros(0, np.int8))
    ids, rolls, sides = games.advance(1)
    count = len(ids)  # a game may be over without a decision
    assert len(rolls) == len(sides) == games.open == count > 2
    with pytest.raises(ValueError, match="have not been given"):
        games.advance(1)
    with pytest.raises(ValueError, match=f"1 moves, expected {count}"):
        games.choose(np.zeros(1, np.int8))
    with pytest.raises(ValueError, match="no legal move starts from 99"):
        games.choose(np.full(count, 99, np.int8))
    with pytest.raises(ValueError, match=f"{count} games are not over"):
        assert games.counted
    with pytest.raises(ValueError, match="not a position"):
        Games(game, None, None, 3 << 12, 1, 1, 0, 5)
