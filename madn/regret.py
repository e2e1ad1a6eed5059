"""Regret: what a player loses against the best moves, decision by decision, from games and exact values.

One half minus a player's winning rate against `optimal`, averaged over both orders, is what its decisions lose on
average in games against `optimal`: each of them loses the value of the best move less that of the move taken. The sum
over a game varies far less than its result, so few games are enough, and it shows where the points are lost.

All games of a batch advance together (`madn/_regret.pyx`): the values that their next decisions need are looked up all
at once, block by block. Sums are whole numbers, so the size of a batch does not affect the result.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn import _regret
from madn._players import CompiledPlayer
from madn.board import Board
from madn.database import Database, unchecked_board
from madn.errors import InvalidPlayerError
from madn.machine import available_memory
from madn.players import Player, RulePlayer, checked_choices

BATCH = 1 << 16  # games at once: the more there are, the fewer blocks are read per game; about 50 MB
PARALLEL = 1 << 10  # games that make starting threads worthwhile
TABLE_BYTES = 2 << 30  # values are kept in memory up to this size, and up to half of the available memory
NO_RULE = {True: "random", False: "furthest along"}  # what decides if no rule does, by whether the player draws lots
Progress = Callable[[float, str], None]


@dataclass(frozen=True, slots=True)
class Loss:
    """Winning probability lost per game, its standard error, and how many decisions of all games it covers."""

    loss: float
    standard_error: float
    decisions: int
    per_decision: float


@dataclass(frozen=True, slots=True)
class Regret:
    """What a player loses against `optimal`: in total, moving first or second, by phase and by the rule that decided.

    `win` is the value of the board for the side that moves first. The phase of a decision is the number of pieces home,
    of both sides together: `by_phase[0]` is before either side has one home. `by_rule` is empty for players without
    rules.
    """

    player: str
    board: Board
    win: float
    games: int
    seed: int
    plies: int
    look_ups: int
    total: Loss
    moving_first: Loss
    moving_second: Loss
    by_phase: tuple[Loss, ...]
    by_rule: dict[str, Loss]

    @property
    def loss(self) -> float:
        """The winning probability lost against `optimal`, the mean of both orders."""
        return self.total.loss

    @property
    def standard_error(self) -> float:
        """The standard error of `loss`."""
        return self.total.standard_error

    @property
    def decisions(self) -> int:
        """How many decisions the player had, in all games together."""
        return self.total.decisions

    @property
    def first_wins(self) -> float:
        """How often the player wins against `optimal` moving first; its standard error is that of `moving_first`."""
        return self.win - self.moving_first.loss

    @property
    def second_wins(self) -> float:
        """How often the player wins against `optimal` moving second; its standard error is that of `moving_second`."""
        return 1 - self.win - self.moving_second.loss


@dataclass(frozen=True, slots=True)
class Valued:
    """The values of a player that takes the best move by values of its own, for many position IDs at once."""

    wins: Callable[[NDArray[np.int64]], NDArray[np.float64]]
    tie: float


class _Sums:
    """Exact sums over the games of one order, for each column of the kernel."""

    def __init__(self) -> None:
        self.games = 0
        self.lost: list[int] = []
        self.squares: list[int] = []
        self.decisions: list[int] = []

    def add(self, losses: NDArray[np.int64], decisions: NDArray[np.int32]) -> None:
        """Add games, one in each row."""
        columns = losses.T.tolist()
        self.games += len(losses)
        self.lost = _added(self.lost, map(sum, columns))
        self.squares = _added(self.squares, (sum(lost * lost for lost in column) for column in columns))
        self.decisions = _added(self.decisions, decisions.sum(axis=0, dtype=np.int64).tolist())

    def mean(self, column: int) -> float:
        """The mean over the games."""
        return self.lost[column] / (self.games * _regret.UNITS)

    def variance(self, column: int) -> float:
        """The variance of that mean."""
        spread = self.games * self.squares[column] - self.lost[column] ** 2
        return spread / (self.games**2 * (self.games - 1) * _regret.UNITS**2)


def _added(sums: list[int], more: Iterable[int]) -> list[int]:
    return [a + b for a, b in zip(sums, more, strict=True)] if sums else list(more)


def _loss(column: int, *orders: _Sums) -> Loss:
    """The mean of these orders."""
    decisions, lost = sum(one.decisions[column] for one in orders), sum(one.lost[column] for one in orders)
    return Loss(
        sum(one.mean(column) for one in orders) / len(orders),
        sqrt(sum(one.variance(column) for one in orders)) / len(orders),
        decisions,
        lost / (decisions * _regret.UNITS) if decisions else 0.0,
    )


def measure(
    player: Player,
    way: CompiledPlayer | Valued | None,
    database: Database[Any],
    board: Board,
    games: int,
    seed: int,
    threads: int,
    progress: Progress,
) -> Regret:
    """Play this many games, at least four, and measure what the player loses.

    `way` is the compiled player or the values that it plays by; without it the player is asked move by move.
    """
    fast = way if isinstance(way, CompiledPlayer) else None
    room = available_memory()
    database.preload(TABLE_BYTES if room is None else min(TABLE_BYTES, room // 2))
    win = database.win(board)
    sums = _Sums(), _Sums()
    plies = look_ups = 0
    for begin in range(0, games, BATCH):
        end = min(games, begin + BATCH)
        batch = _regret.Games(database.engine.game, fast, *board.masks, seed, begin, end, database.tie)
        while (ids := batch.advance(threads if batch.open >= PARALLEL else 1)).size:
            if isinstance(way, Valued):
                batch.choose_best(way.wins(ids), way.tie)
            elif way is None:
                _ask(player, batch, board)
            batch.decide(database.win_many(ids), threads if batch.open >= PARALLEL else 1)
            look_ups += len(ids)
            progress((end - batch.open) / games, f"{player.name} - optimal")
        for order, one in enumerate(sums):
            first = (order - begin) % 2  # the player moves first in games with an even number
            one.add(batch.losses[first::2], batch.decisions[first::2])
        plies += batch.plies
    phases = 2 * board.rules.pieces - 1
    names = rule_names(player) if isinstance(player, RulePlayer) else {}
    return Regret(
        player.name,
        board,
        win,
        games,
        seed,
        plies,
        look_ups,
        _loss(0, *sums),
        _loss(0, sums[0]),
        _loss(0, sums[1]),
        tuple(_loss(1 + phase, *sums) for phase in range(phases)),
        {name: _loss(1 + phases + rule, *sums) for rule, name in names.items()},
    )


def rule_names(player: RulePlayer) -> dict[int, str]:
    """What can decide, by the number of the rule; rules with points decide together, under the number of the last."""
    names, number = {}, -1
    for step in player.steps:
        number += len(step)
        names[number] = "points" if step[0].points else str(step[0])
    return names | {number + 1: NO_RULE[player.draws]}


def _ask(player: Player, batch: _regret.Games, board: Board) -> None:
    """Have a player that is not compiled choose its moves."""
    for place, own, other, roll in batch.asked():
        here = unchecked_board(own, other, board.rules)
        try:
            moves = checked_choices(player.name, player.choices(here, roll), here, roll)
        except InvalidPlayerError as error:
            game, ply = batch.where(place)
            raise InvalidPlayerError(f"game {game}, ply {ply}: {error}") from None
        batch.choose(place, [-1 if move.start is None else move.start for move in moves])
