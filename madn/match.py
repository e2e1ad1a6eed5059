"""Games between two players: simulated, compiled where both players are, in plain Python otherwise.

Game g of a seed is the same game whoever computes it and on any number of threads: its die is a splitmix64 generator
of its own, and a player that draws lots draws them from the same generator.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn import _match
from madn._core import Game
from madn._players import CompiledPlayer
from madn.board import Board
from madn.errors import InvalidPlayerError, NoValuesError
from madn.features import FEATURES
from madn.machine import usable_threads
from madn.players import OptimalPlayer, Player, RulePlayer
from madn.record import Ply, Record
from madn.rules import DIE, Rules

WORD = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
SLICE = 20_000  # games between two looks at the clock and at Ctrl-C
FINE_POSITIONS = 20_000_000  # up to this size a table of values is kept in doubles, above in 32 bits
TABLE_POSITIONS = 1 << 29  # up to this size there is a table: 2 GiB; above the database is asked, move after move


class Die:
    """The random numbers of one game: those of `madn/_match.pyx`, in plain Python."""

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


def play_game(first: Player, second: Player, start: Board, seed: int = 0, game: int = 0) -> Record:
    """Play one game in plain Python; `first` moves first."""
    die = Die(seed, game)
    players = (first, second)
    board, turn, plies = start, 0, []
    while board.winner is None:
        roll = die.draw(DIE) + 1
        moves = players[turn].choices(board, roll)
        move = moves[die.draw(len(moves))] if len(moves) > 1 else moves[0]
        plies.append(Ply(roll, move))
        board = board.after(move, roll)
        turn ^= roll != DIE
    return Record(start, first.name, second.name, tuple(plies))


def compiled(player: Player, rules: Rules) -> CompiledPlayer | None:
    """The player for the kernels, or None if only Python can ask it."""
    if isinstance(player, RulePlayer):
        numbers = list(FEATURES)
        coded = [(numbers.index(rule.feature), -1 if rule.avoid else 1) for rule in player.rules]
        return CompiledPlayer(Game(rules), coded, player.draws)
    if isinstance(player, OptimalPlayer) and rules.positions <= TABLE_POSITIONS:
        game = Game(rules)
        try:
            values = _table(player, game.positions)
        except NoValuesError:  # a database of best moves
            return None
        return CompiledPlayer(game, values=values, tie=player.database.tie)
    return None


def _table(player: OptimalPlayer, positions: int) -> NDArray[Any]:
    """Every value of the player's database, by ID."""
    fine = positions <= FINE_POSITIONS
    values = np.empty(positions, np.float64 if fine else np.uint32)
    for first in range(0, positions, SLICE * 50):
        ids = np.arange(first, min(positions, first + SLICE * 50))
        wins = player.database.win_many(ids)
        values[ids[0] : ids[-1] + 1] = wins if fine else np.minimum(np.rint(wins * 2**32), 2**32 - 1)
    return values


@dataclass(frozen=True, slots=True)
class Result:
    """How often the player that moved first won, in how many games of how many plies altogether."""

    wins: int
    games: int
    plies: int

    @property
    def first_wins(self) -> float:
        """The part of the games that the first player won."""
        return self.wins / self.games

    @property
    def standard_error(self) -> float:
        """The standard error of `first_wins`; one more win and loss keep it above 0 where one side won all."""
        p = (self.wins + 1) / (self.games + 2)
        return sqrt(p * (1 - p) / self.games)

    def agrees(self, probability: float, games: int = 0, errors: float = 4.0) -> bool:
        """Whether a probability (or a part of as many `games`) is within this many standard errors."""
        own = self.standard_error
        both = sqrt(own**2 + own**2 * self.games / games) if games else own
        return abs(self.first_wins - probability) <= errors * both


def simulate(
    first: Player,
    second: Player,
    start: Board,
    games: int,
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[float, str], None] = lambda fraction, text: None,
) -> Result:
    """Play games from a board, `first` to move, and count."""
    if games < 1:
        raise InvalidPlayerError(f"a match has at least one game, not {games}")
    if start.winner is not None:
        raise InvalidPlayerError(f"board '{start}': the game is over, there is nothing to play")
    wins = plies = done = 0
    for count, won, moved in _slices(first, second, start, games, seed, threads or usable_threads()):
        wins, plies, done = wins + won, plies + moved, done + count
        progress(done / games, f"{first.name} - {second.name}")
    return Result(wins, games, plies)


def _slices(
    first: Player, second: Player, start: Board, games: int, seed: int, threads: int
) -> Iterator[tuple[int, int, int]]:
    """Play slice after slice: (games, games won, plies)."""
    policies = compiled(first, start.rules), compiled(second, start.rules)
    if policies[0] is None or policies[1] is None:
        for game in range(games):
            record = play_game(first, second, start, seed, game)
            yield 1, record.winner == "first", len(record.plies)
        return
    own, other = start.masks
    for begin in range(0, games, SLICE):
        end = min(games, begin + SLICE)
        yield end - begin, *_match.play_many(policies[0], policies[1], own, other, seed & WORD, begin, end, threads)
