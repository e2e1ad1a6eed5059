"""Regret: the games are those of a match, the loss is that of the exact results, whatever looks the values up."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_estimator import FakeEstimator
from numpy.typing import NDArray
from strategies import all_boards
from test_match import in_python

import madn
from madn import Board, Database, Move, Rules
from madn._core import Game
from madn._players import CompiledPlayer
from madn._regret import UNITS, Games
from madn.advisor import estimates_of
from madn.errors import (
    ClosedDatabaseError,
    InvalidPlayerError,
    InvalidTypeError,
    MissingBlockError,
    NoValuesError,
    RulesMismatchError,
)
from madn.evaluate import evaluate
from madn.features import FEATURES
from madn.match import compiled, play_game, regret
from madn.players import PLAYERS, OptimalPlayer, Player, RulePlayer, parse_player
from madn.regret import NO_RULE
from madn.store import compress_database

TINY = Rules(pieces=2, squares=8)
GAMES = [
    Rules(pieces=2, squares=12),
    Rules(pieces=2, squares=8, three_rolls=True, must_capture=True),
    Rules.house(pieces=3, squares=8),
]
PLAYED = ["random", "fpnpoc", "careful", "hunter"]


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Rules], Database[float]]]:
    """The database of a game, solved once."""
    databases: dict[Rules, Database[float]] = {}

    def of(rules: Rules) -> Database[float]:
        if rules not in databases:
            path = tmp_path_factory.mktemp("solved") / "db"
            madn.solve(rules, out=path)
            databases[rules] = madn.open_database(path, values=True)
            databases[rules].preload()
        return databases[rules]

    yield of
    for database in databases.values():
        database.close()


Solved = Callable[[Rules], Database[float]]


# the twin: one game after the other, in plain Python


def decision(database: Database[float], board: Board, roll: int, player: Player) -> tuple[int, int, str] | None:
    """What a player loses on a board with a roll, in units, in which phase, by which rule; None without a decision."""
    options = {value.move: value.win for value in database.moves(board, roll)}
    if len(options) < 2:
        return None
    most, taken = max(options.values()), player.choices(board, roll)
    lost = [most - options[move] for move in taken]
    loss = sum(less if less > database.tie else 0.0 for less in lost) / len(taken)
    home = sum(square >= board.rules.squares for square in (*board.own, *board.other))
    return int(loss * UNITS + 0.5), home, deciding_rule(player, board, list(options))


def deciding_rule(player: Player, board: Board, moves: list[Move]) -> str:
    """The rule after which one move is left."""
    if not isinstance(player, RulePlayer):
        return ""
    for rule in player.rules:
        value = {move: FEATURES[rule.feature].of(board, move) * (-1 if rule.avoid else 1) for move in moves}
        moves = [move for move in moves if value[move] == max(value.values())]
        if len(moves) == 1:
            return str(rule)
    return NO_RULE[player.draws]


def plain_regret(player: Player, database: Database[float], games: int, seed: int) -> list[list[tuple[int, int, str]]]:
    """The decisions of each game."""
    optimal, start = OptimalPlayer(database), Board.start(database.rules)
    found = []
    for number in range(games):
        first, second = (player, optimal) if number % 2 == 0 else (optimal, player)
        record, mine = play_game(first, second, start, seed, number), ("first", "second")[number % 2]
        plies = zip(record.plies, record.boards, record.movers, strict=False)
        made = [decision(database, board, ply.roll, player) for ply, board, mover in plies if mover == mine]
        found.append([one for one in made if one is not None])
    return found


def standard_error(losses: list[list[int]]) -> float:
    return sqrt(sum(np.var(order, ddof=1) / len(order) for order in losses)) / 2 / UNITS


@pytest.mark.parametrize("name", PLAYED)
@pytest.mark.parametrize("rules", GAMES, ids=str)
def test_the_compiled_decisions_are_those_of_games_in_python(rules: Rules, name: str, solved: Solved) -> None:
    database, player = solved(rules), PLAYERS[name]
    plain = plain_regret(player, database, 9, seed=3)
    found = regret(player, database, games=9, seed=3)
    sums = [sum(loss for loss, _, _ in game) for game in plain]
    means = [sum(sums[order::2]) / len(sums[order::2]) / UNITS for order in (0, 1)]
    assert (found.moving_first.loss, found.moving_second.loss) == pytest.approx(means, abs=1e-15)
    assert found.loss == pytest.approx(sum(means) / 2, abs=1e-15)
    assert found.standard_error == pytest.approx(standard_error([sums[0::2], sums[1::2]]), rel=1e-9)
    every = [one for game in plain for one in game]
    assert found.decisions == len(every)
    for phase, part in enumerate(found.by_phase):
        losses = [loss for loss, home, _ in every if home == phase]
        assert part.decisions == len(losses)
        assert part.per_decision == pytest.approx(np.mean(losses) / UNITS if losses else 0.0, abs=1e-15)
    for rule, part in found.by_rule.items():
        lost = sum(loss for loss, _, by in every if by == rule) / UNITS
        assert part.decisions == sum(by == rule for _, _, by in every)
        assert part.per_decision * part.decisions == pytest.approx(lost)
    assert len(found.by_phase) == 2 * rules.pieces - 1
    assert sum(part.decisions for part in found.by_rule.values()) == len(every)
    assert found.plies > found.decisions


# the law: what the decisions lose is what the exact results lack


def expected(database: Database[float], player: Player) -> NDArray[Any]:
    """What the player's decisions are expected to lose from the start, moving first and second: one row for each order.

    The columns are the phases, then the rules: the solution of one linear system, for all boards with either to move.
    """
    rules = database.rules
    boards = [board for board in all_boards(rules) if board.winner is None]
    number = {board: i for i, board in enumerate(boards)}
    names = [*map(str, player.rules), NO_RULE[player.draws]] if isinstance(player, RulePlayer) else [""]
    phases, n = 2 * rules.pieces - 1, len(boards)
    matrix, lost = np.eye(2 * n), np.zeros((2 * n, phases + len(names)))
    for board, i in number.items():
        weights = board.roll_weights()
        for roll, weight in enumerate(weights, 1):
            likely, options = weight / sum(weights), database.moves(board, roll)
            made = decision(database, board, roll, player)
            if made is not None:
                loss, home, rule = made
                lost[i, [home, phases + names.index(rule)]] += likely * loss / UNITS
            for who, moves in enumerate((player.choices(board, roll), (options[0].move,))):
                for option in options:
                    if option.move in moves and option.board.winner is None:
                        next_who = who if roll == 6 else 1 - who
                        matrix[who * n + i, next_who * n + number[option.board]] -= likely / len(moves)
    values: NDArray[Any] = np.linalg.solve(matrix, lost)
    return values[[number[Board.start(rules)], n + number[Board.start(rules)]]]


LAW = [
    (Rules.house(2, 8), "random"),
    pytest.param(TINY, "hunter", marks=pytest.mark.slow),
    pytest.param(Rules(2, 8, three_rolls=True), "fpnpoc", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("rules", "name"), LAW, ids=str)
def test_the_expected_regret_is_what_the_exact_results_lack(rules: Rules, name: str, solved: Solved) -> None:
    database, player, start = solved(rules), PLAYERS[name], Board.start(rules)
    exact = evaluate(rules, player, OptimalPlayer(database))
    reverse = Board(start.other, start.own, rules)
    wins = exact.first_wins(start), 1 - exact.second_wins(reverse)
    value = database.win(start)
    parts = expected(database, player)
    phases = 2 * rules.pieces - 1
    lost = parts[:, :phases].sum(axis=1)
    assert lost == pytest.approx([value - wins[0], 1 - value - wins[1]], abs=1e-9)
    assert lost.mean() == pytest.approx(0.5 - sum(wins) / 2, abs=1e-9)
    assert parts[:, phases:].sum(axis=1) == pytest.approx(lost, abs=1e-12)
    assert lost.mean() > 0.002

    found = regret(player, database, games=20_000, seed=1)
    measured = [found.total, found.moving_first, found.moving_second, *found.by_phase, *found.by_rule.values()]
    right = [lost.mean(), *lost, *parts.mean(axis=0)]
    for one, truth in zip(measured, right, strict=True):
        assert abs(one.loss - truth) <= 4 * one.standard_error + 1e-9
    assert found.standard_error < 0.3 / sqrt(found.games)  # results of games would have 0.5
    assert (found.first_wins, found.second_wins) == pytest.approx(wins, abs=0.01)


@pytest.mark.parametrize("name", ["fpoc", "random"])
def test_two_pieces_lose_what_is_known(name: str) -> None:
    optimal, start = PLAYERS["optimal"], Board.start(Rules(pieces=2))
    exact = evaluate(start.rules, PLAYERS[name], optimal, tolerance=1e-9)
    lacks = 0.5 - (exact.first_wins(start) + 1 - exact.second_wins(start)) / 2
    found = regret(PLAYERS[name], games=40_000, seed=1)
    assert abs(found.loss - lacks) <= 4 * found.standard_error
    assert found.standard_error < 0.0008
    assert sum(part.loss for part in found.by_phase) == pytest.approx(found.loss)
    assert sum(part.loss for part in found.by_rule.values()) == pytest.approx(found.loss)


def test_the_standard_error_is_that_of_many_runs(solved: Solved) -> None:
    runs = [regret(PLAYERS["hunter"], solved(TINY), games=500, seed=seed) for seed in range(60)]
    spread = np.std([run.loss for run in runs], ddof=1)
    assert spread / np.mean([run.standard_error for run in runs]) == pytest.approx(1, abs=0.35)


def test_optimal_and_forced_moves_lose_nothing(solved: Solved) -> None:
    nothing = regret(PLAYERS["optimal"], games=300)
    assert (nothing.loss, nothing.standard_error, nothing.by_rule) == (0.0, 0.0, {})
    assert nothing.decisions > 1000
    assert regret(PLAYERS["random"], solved(Rules(1, 8)), games=50).decisions == 0  # one piece leaves no choice


# the same result, however it is computed


def test_threads_batches_and_look_ups_do_not_change_a_bit(solved: Solved, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = GAMES[0]
    database = madn.open_database(solved(rules).path, values=True)
    monkeypatch.setattr("madn.regret.PARALLEL", 1)
    monkeypatch.setattr("madn.regret.TABLE_BYTES", 1)  # blocks, one after the other
    monkeypatch.setattr("madn.database.PRELOADED", 0)
    whole = regret(PLAYERS["random"], database, games=1000, seed=5, threads=1)
    assert database._reader._held is None
    for batch, threads, table in ((1 << 16, 2, 1), (7, 2, 1), (333, 1, 1), (100, 2, 1 << 30)):
        monkeypatch.setattr("madn.regret.BATCH", batch)
        monkeypatch.setattr("madn.regret.TABLE_BYTES", table)
        assert regret(PLAYERS["random"], database, games=1000, seed=5, threads=threads) == whole
    assert database._reader._held is not None
    assert regret(PLAYERS["random"], database, games=1000, seed=6) != whole
    database.close()
    with pytest.raises(ClosedDatabaseError):
        regret(PLAYERS["random"], database, games=10)


@pytest.mark.parametrize("name", ["random", "careful", "optimal"])
def test_a_python_player_has_the_regret_of_its_compiled_twin(name: str, solved: Solved) -> None:
    database = solved(GAMES[1])
    player = OptimalPlayer(database) if name == "optimal" else PLAYERS[name]
    fast, slow = regret(player, database, games=40, seed=2), regret(in_python(player), database, games=40, seed=2)
    assert replace(fast, player=slow.player, by_rule={}) == slow


def test_a_player_with_values_is_asked_about_all_its_decisions_at_once(
    solved: Solved, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Estimate, and optimal from a database too large for a table: as they choose move by move."""
    database = solved(GAMES[0])
    monkeypatch.setattr("madn.advisor.find_estimator", FakeEstimator)
    monkeypatch.setattr("madn.match.TABLE_BYTES", 1)
    estimates_of.cache_clear()
    try:
        for player in (PLAYERS["estimate"], OptimalPlayer(database)):
            slow = regret(in_python(player), database, games=40, seed=2)
            assert compiled(player, database.rules) is None
            assert replace(regret(player, database, games=40, seed=2), player=slow.player) == slow
            assert (slow.loss > 0.01) == (player.name == "estimate")
    finally:
        estimates_of.cache_clear()


def test_rounded_values_and_parts_of_a_game_will_do(solved: Solved, tmp_path: Path) -> None:
    rules = GAMES[0]
    compress_database(solved(rules).path, tmp_path / "rounded", bits=16)
    exact = regret(PLAYERS["hunter"], solved(rules), games=2000, seed=1)
    with madn.open_database(tmp_path / "rounded", values=True) as rounded:
        close = regret(PLAYERS["hunter"], rounded, games=2000, seed=1)
    assert close.loss == pytest.approx(exact.loss, abs=3 * exact.standard_error)
    board = Board.parse("38,40,42,43/0,41,42,43")
    madn.solve(board.rules, out=tmp_path / "part", board=board)
    with madn.open_database(tmp_path / "part", values=True) as part:
        found = regret(PLAYERS["fpoc"], part, start=board, games=500, seed=1)
        truth = evaluate(board.rules, PLAYERS["fpoc"], OptimalPlayer(part), start=board)
        assert abs(found.first_wins - truth.first_wins(board)) <= 4 * found.moving_first.standard_error
        assert [loss.decisions > 0 for loss in found.by_phase] == [False] * 6 + [True]
        with pytest.raises(MissingBlockError, match="is not in this database"):
            regret(PLAYERS["fpoc"], part, games=10)


# what is refused


def returns(value: Any) -> Callable[..., Any]:
    def policy(board: Board, roll: int, moves: tuple[Move, ...]) -> Any:
        return value

    return policy


class Cheat(Player):
    """Takes what is not there."""

    name, description = "cheat", "Moves as it likes."

    def choices(self, board: Board, roll: int) -> tuple[Move, ...]:
        return (Move(0, 1),)


@pytest.mark.parametrize(
    ("policy", "chose"),
    [
        (returns("0-40"), "policy chose 0-40"),
        (returns(()), "policy chose nothing"),
        (returns(None), "policy chose None"),
        (returns([7]), r"policy chose \[7\]"),
        (returns("x"), "policy chose 'x'"),
        (Cheat(), "cheat chose 0-1"),
    ],
)
def test_an_illegal_move_is_named_with_its_ply_and_what_was_legal(policy: Any, chose: str, solved: Solved) -> None:
    with pytest.raises(InvalidPlayerError, match=rf"^game \d, ply \d+: {chose}") as caught:
        regret(policy, solved(TINY), games=4)
    assert "; legal: " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_a_regret_needs(solved: Solved, tmp_path: Path) -> None:
    fpoc, database = PLAYERS["fpoc"], solved(TINY)
    compress_database(database.path, tmp_path / "moves", store="policy")
    with madn.open_database(tmp_path / "moves") as moves, pytest.raises(NoValuesError, match="stores best moves"):
        regret(fpoc, moves, games=4)
    with pytest.raises(InvalidPlayerError, match="games must be 4 to"):
        regret(fpoc, database, games=3)
    with pytest.raises(InvalidPlayerError, match="the game is over"):
        regret(fpoc, database, start="8,9/0", games=4)
    with pytest.raises(RulesMismatchError, match="holds"):
        regret(fpoc, database, start=Board.start(), games=4)
    with pytest.raises(InvalidTypeError, match="a Player or a function, not 'fpoc'"):
        regret("fpoc", database)  # type: ignore[arg-type]


def test_a_game_that_starts_in_the_box_has_the_values_of_one_that_does_not(solved: Solved) -> None:
    boxed = Board.start(replace(TINY, start_in_box=True))
    database = solved(TINY)
    found = regret(PLAYERS["random"], database, start=boxed, games=500, seed=1)
    assert found == regret(PLAYERS["random"], database, start="b/b", games=500, seed=1)
    assert found.win == database.win("b/b")


def test_a_function_is_asked_only_where_there_is_a_choice(solved: Solved) -> None:
    seen = []

    def last(board: Board, roll: int, moves: tuple[Move, ...]) -> str:
        seen.append(len(moves))
        return str(moves[-1])

    found = regret(last, solved(TINY), games=20, seed=1)
    same = parse_player("name: x\ndescription: y\nprefer front\n")
    assert found.player == "last"
    assert found.total == regret(same, solved(TINY), games=20, seed=1).total
    assert len(seen) == found.decisions
    assert min(seen) > 1


def test_all_values_of_a_database_can_be_held_and_are_the_same(solved: Solved) -> None:
    with madn.open_database(solved(TINY).path, values=True) as database:
        ids = np.arange(TINY.positions)[::-1]
        read = database.win_many(ids)
        database.preload(1)
        assert database._reader._held is None  # more than a byte
        database.preload(1 << 20)
        assert database._reader._held is not None
        assert (database.win_many(ids) == read).all()
    with pytest.raises(ClosedDatabaseError):
        database.win_many(ids)


# the kernel


def test_the_kernel_refuses_what_does_not_fit() -> None:
    game, one = Game(TINY), compiled(PLAYERS["fpoc"], TINY)
    good: dict[str, Any] = {"game": game, "player": one, "own": 1, "other": 1, "seed": 0}
    good |= {"begin": 0, "end": 40, "tie": 0.0}
    wrong: dict[str, list[Any]] = {"player": [CompiledPlayer(Game(Rules()))], "own": [1 << 4, 3 << 8]}
    wrong |= {"begin": [-1, 41], "end": [1 << 40], "tie": [-1.0, 1.0, float("nan")]}
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(ValueError, match=r"\w"):
                Games(**{**good, name: value})
    games = Games(**good)
    with pytest.raises(ValueError, match="1 values, expected 0"):
        games.decide(np.zeros(1), 1)
    ids = games.advance(1)
    assert 4 < games.open <= 40
    for size, win in ((len(ids) + 1, 0.5), (len(ids), np.nan), (len(ids), 1.5), (len(ids), -0.1)):
        with pytest.raises(ValueError, match=r"values|probability"):
            games.decide(np.full(size, win), 1)
    with pytest.raises(ValueError, match="have not been given"):
        games.advance(1)
    for threads in (0, 10**6):
        with pytest.raises(ValueError, match="threads"):
            games.decide(np.zeros(len(ids)), threads)
    assert games.asked() == []  # a compiled player knows what to do
    for place in (-1, games.open):
        with pytest.raises(ValueError, match="place"):
            games.where(place)
    with pytest.raises(ValueError, match="no decision"):
        games.choose(0, [1])
    with pytest.raises(ValueError, match="chosen already"):
        games.choose_best(np.zeros(len(ids)), 0.0)


def test_the_kernel_asks_a_player_that_is_not_compiled() -> None:
    game = Game(TINY)
    games = Games(game, None, 1, 1, 3, 0, 40, 0.0)
    ids = games.advance(2)
    asked = games.asked()
    assert asked
    with pytest.raises(ValueError, match="has not been asked"):
        games.decide(np.zeros(len(ids)), 1)
    for place, own, other, roll in asked:
        legal = [start for _, start, _ in game.own_moves(own, roll, other)]
        for starts in ([], [40], [*legal, 40]):
            with pytest.raises(ValueError, match="not all of them are legal"):
                games.choose(place, starts)
        games.choose(place, legal)
    assert games.asked() == []
    for size, win in ((len(ids) - 1, 0.5), (len(ids), 1.5), (len(ids), np.nan)):
        with pytest.raises(ValueError, match=r"values|probability"):
            games.choose_best(np.full(size, win), 0.0)
    games.decide(np.zeros(len(ids)), 1)
    assert games.decisions[:, 0].sum() == len(asked)
    assert games.losses.sum() == 0  # all values are the same
