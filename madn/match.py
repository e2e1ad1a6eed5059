"""Simulated games between two players: compiled if both players are, in plain Python otherwise.

Game g of a seed is the same game in either form and on any number of threads: it has a splitmix64 generator of its
own, from which its rolls come and the lots that players draw.
"""

from bisect import bisect_right
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import accumulate
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn import _match
from madn._core import Game
from madn._players import CompiledPlayer
from madn.advisor import checked_estimates
from madn.board import Board, as_board
from madn.database import BestMoveDatabase, Database, open_database
from madn.errors import InvalidPlayerError, InvalidTypeError, NoValuesError
from madn.features import FEATURES
from madn.machine import chosen_threads
from madn.players import Choose, EstimatePlayer, FunctionPlayer, OptimalPlayer, Player, RulePlayer
from madn.ranges import checked_int, checked_seed, shown
from madn.record import Ply, Record
from madn.regret import Regret, Valued, measure
from madn.rules import Rules, rolls_again
from madn.solver.graph import components
from madn.solver.zones import Zones
from madn.store.blocks import FIXED32

WORD = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
MOST_GAMES = 10**9
FEWEST_GAMES = 4  # for a standard error: two in each order
SLICE = 20_000  # games between reports of progress, which are also when Ctrl-C takes effect
FINE_POSITIONS = 20_000_000  # up to here values are tabulated as doubles, beyond in 32 bits if the moves are the same
TABLE_BYTES = 2 << 30  # the largest table of values; beyond that, the database is queried move by move


class Die:
    """The random numbers of one game: those of `madn/_match.pxd`, in plain Python."""

    def __init__(self, seed: int, game: int) -> None:
        self.state = _mixed(seed + GOLDEN & WORD) ^ _mixed(game * GOLDEN + 1 & WORD)

    def draw(self, count: int) -> int:
        """A number from 0 to count - 1."""
        self.state = self.state + GOLDEN & WORD
        return _mixed(self.state) * count >> 64


def _mixed(z: int) -> int:
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB & WORD
    return z ^ z >> 31


def play_game(first: Player, second: Player, start: Board | str, seed: int = 0, game: int = 0) -> Record:
    """Play one game in plain Python; `first` moves first."""
    die = Die(checked_seed(seed), checked_int("game", game, 0, MOST_GAMES - 1, InvalidPlayerError))
    players = (first, second)
    board = start = as_board(start)
    turn, plies = 0, []
    while board.winner is None:
        weights = list(accumulate(board.roll_weights()))
        roll = bisect_right(weights, die.draw(weights[-1])) + 1
        moves = players[turn].choices(board, roll)
        move = moves[die.draw(len(moves))] if len(moves) > 1 else moves[0]
        plies.append(Ply(roll, move))
        board = board.after(move, roll)
        turn ^= not rolls_again(roll)
    return Record(start, first.name, second.name, tuple(plies))


def compiled(player: Player, rules: Rules, start: Board | None = None) -> CompiledPlayer | None:
    """The compiled form of a player, or None if it has none; with `start`, for the boards that can follow it."""
    if isinstance(player, RulePlayer):
        numbers = list(FEATURES)
        coded = [
            (numbers.index(rule.feature), rule.weight, number < len(step))
            for step in player.steps
            for number, rule in enumerate(step, 1)
        ]
        return CompiledPlayer(Game(rules), coded, player.draws)
    database = _database(player, rules, start)
    if database is None or not table_bytes(player, rules, start):
        return None
    try:
        values = _table(database, start)
    except NoValuesError:  # a database of best moves
        return None
    return CompiledPlayer(Game(rules), values=values, tie=database.tie)  # the database's start may differ


def _database(player: Player | None, rules: Rules, start: Board | None) -> Database | None:
    """The database that `optimal` plays from; None if it has none, and for other players."""
    return player.database_for(start or Board.start(rules)) if isinstance(player, OptimalPlayer) else None


def table_bytes(player: Player | None, rules: Rules, start: Board | None) -> int:
    """The bytes that the values of a compiled `optimal` take; 0 for other players and where they would be too many."""
    database = _database(player, rules, start)
    if database is None:
        return 0
    item = _table_type(database).itemsize
    return item * sum(count for _, count in _ids(rules, start)) if rules.positions * item <= TABLE_BYTES else 0


def _ids(rules: Rules, start: Board | None) -> list[tuple[int, int]]:
    """The IDs that a board can lead to, as (first, count); all IDs without a board."""
    if start is None:
        return [(0, rules.positions)]
    own, other = (mask >> rules.squares for mask in start.masks)
    return Zones(rules).ranges(components(rules, (own, other)))


def _table_type(database: Database) -> np.dtype[Any]:
    """Doubles, or for a large game multiples of 2^-32 if these choose the same moves.

    A `fixed32` value is a multiple of 2^-29, and its tie is one such step. A multiple of 2^-32 represents it exactly,
    except that 1 becomes 1 - 2^-32; that changes it by less than a step, so no difference crosses the tie in either
    direction. Values of 8 to 24 bits have no tie and are at least 2^-24 apart, so different values stay different and
    in the same order. Values stored as doubles have no such step, and neither has a mixture of encodings.
    """
    stepped = database.values == FIXED32.name or (database.values.startswith("bits") and "+" not in database.values)
    return np.dtype(np.uint32 if stepped and database.rules.positions > FINE_POSITIONS else np.float64)


def _table(database: Database, start: Board | None) -> NDArray[Any]:
    """The values of a database, by ID; 0, which takes no memory, for positions that cannot follow the start."""
    values = np.zeros(database.rules.positions, _table_type(database))
    for first, count in _ids(database.rules, start):
        for begin in range(first, first + count, SLICE * 50):
            ids = np.arange(begin, min(first + count, begin + SLICE * 50))
            wins = database.win_many(ids)
            fine = values.dtype == np.float64
            values[ids[0] : ids[-1] + 1] = wins if fine else np.minimum(np.rint(wins * 2**32), 2**32 - 1)
    return values


@dataclass(frozen=True, slots=True)
class Result:
    """How many games the player that moved first won, of how many, and how many plies they took in all."""

    wins: int
    games: int
    plies: int

    @property
    def first_wins(self) -> float:
        """The fraction of games that the first player won."""
        return self.wins / self.games

    @property
    def standard_error(self) -> float:
        """The standard error of `first_wins`; an extra win and loss keep it above 0 if one side won every game."""
        p = (self.wins + 1) / (self.games + 2)
        return sqrt(p * (1 - p) / self.games)

    def agrees(self, probability: float, games: int = 0, errors: float = 4.0) -> bool:
        """Whether a probability (or a fraction of that many `games`) is within this many standard errors."""
        own = self.standard_error
        both = sqrt(own**2 + own**2 * self.games / games) if games else own
        return abs(self.first_wins - probability) <= errors * both


def simulate(
    first: Player,
    second: Player,
    start: Board | str,
    games: int,
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[float, str], None] = lambda fraction, text: None,
) -> Result:
    """Play games from a board, with `first` to move, and count the wins."""
    start = as_board(start)
    games, seed = checked_int("games", games, 1, MOST_GAMES, InvalidPlayerError), checked_seed(seed)
    if start.winner is not None:
        raise InvalidPlayerError(f"board '{start}': the game is over, there is nothing to play")
    one, two = (compiled(player, start.rules, start) for player in (first, second))
    asked = [None if fast else _asked_at_once(player, start) for player, fast in ((first, one), (second, two))]
    at_once = all(fast or ask for fast, ask in zip((one, two), asked, strict=True))
    threads, step = chosen_threads(threads), SLICE if at_once else 1
    wins = plies = 0
    for begin in range(0, games, step):
        end = min(games, begin + step)
        if one and two:
            won, moved = _match.play_many(one, two, *start.masks, seed, begin, end, threads)
        elif at_once:
            batch = _match.Games(Game(start.rules), one, two, *start.masks, seed, begin, end)
            while (decisions := batch.advance(threads))[0].size:
                batch.choose(_starts(asked, *decisions))
                progress((end - batch.open) / games, f"{first.name} - {second.name}")
            won, moved = batch.counted
        else:
            record = play_game(first, second, start, seed, begin)
            won, moved = int(record.winner == "first"), len(record.plies)
        wins, plies = wins + won, plies + moved
        progress(end / games, f"{first.name} - {second.name}")
    return Result(wins, games, plies)


Ask = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int8]]  # from IDs and rolls to where best moves start


def _asked_at_once(player: Player, start: Board) -> Ask | None:
    """A function that asks a player that goes by values about many decisions at once; None for other players."""
    if isinstance(player, EstimatePlayer):
        engine = checked_estimates(start.rules).engine
        return lambda ids, rolls: engine.best_moves(ids, rolls)[0]
    if isinstance(player, OptimalPlayer):
        source = player.source_for(start.rules)
        if source.rules == start.rules:
            return lambda ids, rolls: source.best_moves(ids, rolls)["start"]
    return None


def _starts(
    asked: list[Ask | None], ids: NDArray[np.int64], rolls: NDArray[np.int64], sides: NDArray[np.int8]
) -> NDArray[np.int8]:
    """The squares from which the players move at these decisions."""
    starts = np.empty(len(ids), np.int8)
    for side, ask in enumerate(asked):
        at = np.flatnonzero(sides == side)
        if ask is not None and at.size:
            starts[at] = ask(ids[at], rolls[at])
    return starts


def regret(
    player: Player | Choose,
    database: Database[Any] | None = None,
    *,
    start: Board | str | None = None,
    games: int = 10_000,
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[float, str], None] = lambda fraction, text: None,
) -> Regret:
    """What a player loses against `optimal`, decision by decision, in games where the two take turns moving first.

    The player may be a function of board, roll and legal moves that returns one of these moves, or several to draw
    from. The database must have values; the default is the database for two pieces that comes with the package. The
    same seed gives the same result, on any number of threads.
    """
    with nullcontext(database) if database is not None else open_database() as values:
        board = _start(start, values)
        games = checked_int("games", games, FEWEST_GAMES, MOST_GAMES, InvalidPlayerError)
        if board.winner is not None:
            raise InvalidPlayerError(f"board '{board}': the game is over, there is nothing to play")
        one = player if isinstance(player, Player) else _function_player(player)
        way = compiled(one, board.rules, board) or _valued(one, board)
        return measure(one, way, values, board, games, checked_seed(seed), chosen_threads(threads), progress)


def _start(start: Board | str | None, database: Database[Any]) -> Board:
    """The board that games begin from, with the database's rules; `start_in_box` may differ, as it changes no value."""
    if start is None:
        return Board.start(database.rules)
    board = as_board(start, database.rules)
    if replace(board.rules, start_in_box=database.rules.start_in_box) == database.rules:
        return Board(board.own, board.other, database.rules)
    return as_board(board, database.rules, f"{database.path} holds")


def _valued(player: Player, start: Board) -> Valued | None:
    """The values that a player goes by, for looking up many at once; None if it has none."""
    if isinstance(player, EstimatePlayer):
        return Valued(checked_estimates(start.rules).win_many, 0.0)
    database = _database(player, start.rules, start)
    if database is None or isinstance(database, BestMoveDatabase):
        return None
    return Valued(database.win_many, database.tie)


def _function_player(function: Choose) -> FunctionPlayer:
    if not callable(function):
        raise InvalidTypeError(f"player must be a Player or a function, not {shown(function)}")
    return FunctionPlayer(getattr(function, "__name__", type(function).__name__), "A function.", function)
