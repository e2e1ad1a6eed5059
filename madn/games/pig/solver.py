"""The optimal play of both players, and exact results of any strategy against any other."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from madn import machine
from madn.errors import RulesMismatchError
from madn.games.pig._pig import Kernel
from madn.games.pig.rules import Pig
from madn.games.pig.strategy import Strategy
from madn.ranges import checked_type

Action = Literal["roll", "hold"]
Progress = Callable[[float, str], None]
Values = NDArray[np.float64]

TIE = 1e-13  # rolling and holding count as equal if they differ by less than this, relative to the value
WORTH_THREADS = 300  # the target from which a solve takes more than half a second


@dataclass(frozen=True, slots=True)
class Answer:
    """The value of a state, of rolling and of holding (None if that is not allowed), and the best action.

    If both are worth the same, the action is to roll.
    """

    value: float
    roll: float | None
    hold: float | None
    action: Action


class Turn(NamedTuple):
    """A turn: an entry for 0, 1, 2, ... points in hand, up to one point before the target.

    Holding with nothing in hand is not an action, so the first value of holding is that of losing the turn.
    """

    value: Values
    roll: Values  # value of rolling
    hold: Values  # value of holding
    holds: NDArray[np.bool_]  # whether holding is better


@dataclass(frozen=True)
class Solution:
    """Optimal play of both players.

    `values[own, other]` is for the player who begins a turn: its probability of winning, or its expected payment in
    the variant `difference`. `after[other, own]` is for the player who has just passed the die on.
    """

    game: Pig
    values: Values
    after: Values
    residual: float  # the largest difference between a value and its recomputation, relative to the largest payoff
    smallest_gap: float  # between rolling and holding, over all states with a choice that are not ties
    smallest_gap_state: tuple[int, int, int]
    ties: int  # states in which rolling and holding are worth the same
    seconds: float
    threads: int

    @property
    def start(self) -> float:
        """The value of the game for the player who begins."""
        return float(self.values[0, 0])

    @property
    def states(self) -> int:
        """States of one player with a choice."""
        return self.game.states

    def value(self, own: int, other: int, turn: int = 0) -> float:
        """The value of a state for the player who has the die and `turn` points in hand, and may still roll or hold."""
        return self.ask(own, other, turn).value

    def win(self, own: int, other: int, turn: int = 0) -> float:
        """The probability that the player who has the die wins; not for the variant `difference`."""
        if self.game.variant == "difference":
            raise RulesMismatchError("the variant difference has no winning probabilities; use value()")
        return self.value(own, other, turn)

    def action(self, own: int, other: int, turn: int) -> Action:
        """What to do in a state."""
        return self.ask(own, other, turn).action

    def ask(self, own: int, other: int, turn: int = 0) -> Answer:
        """The value of a state, what each action is worth, and which is best."""
        self.game.check_state(own, other, turn)
        if own + turn >= self.game.target:
            won = float(self.game.target - other) if self.game.variant == "difference" else 1.0
            return Answer(won, None, won, "hold")
        here = self.turn(own, other)
        roll = float(here.roll[turn])
        if turn == 0:
            return Answer(float(self.values[own, other]), roll, None, "roll")
        action: Action = "hold" if here.holds[turn] else "roll"
        return Answer(float(here.value[turn]), roll, float(here.hold[turn]), action)

    def turn(self, own: int, other: int) -> Turn:
        """The turn at these scores, for every number of points in hand."""
        self.game.check_state(own, other, 0)
        value, roll, holds = _kernel(self.game).turn(self.values, self.after, TIE, own, other)
        return Turn(value, roll, self.after[other, own:], holds)

    def table(self) -> Iterator[dict[str, NDArray[Any]]]:
        """Every state and what to do in it, as columns; each item covers one own score.

        `roll` and `hold` are what these actions are worth; holding with nothing in hand is not an action and gets NaN.
        """
        for own in range(self.game.target):
            turns = [self.turn(own, other) for other in range(self.game.target)]
            points = len(turns[0].value)
            hold = np.concatenate([turn.hold for turn in turns])
            hold[::points] = np.nan
            value = np.concatenate([turn.value for turn in turns])
            value[::points] = self.values[own]
            yield {
                "own": np.full(len(turns) * points, own, np.int16),
                "other": np.repeat(np.arange(len(turns), dtype=np.int16), points),
                "turn": np.tile(np.arange(points, dtype=np.int16), len(turns)),
                "value" if self.game.variant == "difference" else "win": value,
                "roll": np.concatenate([turn.roll for turn in turns]),
                "hold": hold,
                "action": np.where(np.concatenate([turn.holds for turn in turns]) & ~np.isnan(hold), "hold", "roll"),
            }

    @cached_property
    def strategy(self) -> Strategy:
        """The best decisions; a tie is a roll."""
        return _greedy(self.game, self.values, self.after, self.threads)


def solve(game: Pig, threads: int | None = None, progress: Progress | None = None) -> Solution:
    """Solve a game: the optimal play of both players."""
    began = time.perf_counter()
    kernel, n = _kernel(game), game.target
    threads = _threads(game, threads)
    values, after = np.zeros((2, n, n))
    for wave in range(kernel.waves - 1, -1, -1):
        kernel.solve(values, after, wave, threads)
        if progress:  # time is spent on turn scores, most of which belong to low scores
            progress((1 - wave / kernel.waves) ** 3, "")
    values.flags.writeable = after.flags.writeable = False
    residual, gap, where, ties = 0.0, np.inf, (0, 0, 0), 0
    for first in range(0, n, 50):  # in parts, so that Ctrl-C is noticed
        worst, least, *state, equal = kernel.check_rows(values, after, TIE, first, min(n, first + 50), threads)
        residual, ties = max(residual, worst / game.largest_payoff), ties + equal
        if least < gap:
            gap, where = least, (state[0], state[1], state[2])
    return Solution(game, values, after, residual, gap, where, ties, time.perf_counter() - began, threads)


@dataclass(frozen=True)
class Duel:
    """The exact result of one strategy against another, for the first of the two.

    `values[own, other]` applies when it begins a turn, `waiting[other, own]` when the other does.
    """

    game: Pig
    values: Values
    waiting: Values
    endless: float  # probability that the game never ends, averaged over who begins

    @property
    def starting(self) -> float:
        """The value of the game when the first strategy begins."""
        return float(self.values[0, 0])

    @property
    def replying(self) -> float:
        """The value of the game when the second strategy begins."""
        return float(self.waiting[0, 0])

    @property
    def average(self) -> float:
        """The value of the game when a fair coin says who begins."""
        return (self.starting + self.replying) / 2


def duel(first: Strategy, second: Strategy, threads: int | None = None) -> Duel:
    """What the first strategy is worth against the second at every pair of scores, computed rather than simulated."""
    if checked_type("first", first, Strategy).game != checked_type("second", second, Strategy).game:
        raise RulesMismatchError(f"the strategies are for different games: {first.game} and {second.game}")
    game = first.game
    values, waiting = _meet(first, second, (1, 0, 0), threads)
    endless = 0.0
    if game.dead_scores():
        rolls, waits = _meet(first, second, (0, 0, 1), threads)
        endless = float(rolls[0, 0] + waits[0, 0]) / 2
    return Duel(game, values, waiting, endless)


def best_response(strategy: Strategy, threads: int | None = None) -> Strategy:
    """The strategy that does best against this one, from every state."""
    _, waiting = _meet(None, checked_type("strategy", strategy, Strategy), (1, 0, 0), threads)
    return _greedy(strategy.game, None, waiting, _threads(strategy.game, threads))


def fewest_turns(game: Pig) -> tuple[Strategy, Values]:
    """The strategy that reaches the target in the fewest turns on average, and that average from each score.

    It ignores the other player. From a score that cannot reach the target the average is infinite.
    """
    turns, holds = _kernel(game).fewest_turns()
    return Strategy.table(game, holds[:, None, :]), turns


def _meet(
    first: Strategy | None, second: Strategy, payoffs: tuple[float, float, float], threads: int | None
) -> tuple[Values, Values]:
    """What `first` (if None, the best reply) gets, given the payoffs for a win, a loss and a game without end."""
    game, bits = second.game, None if first is None else first.bits
    kernel, workers, n = _kernel(game), _threads(game, threads), game.target
    values, waiting = np.zeros((2, n, n))
    for wave in range(kernel.waves - 1, -1, -1):
        kernel.meet(values, waiting, bits, second.bits, *payoffs, wave, workers)
    return values, waiting


def _greedy(game: Pig, values: Values | None, after: Values, threads: int) -> Strategy:
    kernel, n = _kernel(game), game.target
    bits = np.empty((n, n, (n + 7) // 8), np.uint8)
    for own in range(n):
        kernel.decide(values, after, TIE, bits, own, threads)
    return Strategy(game, bits)


def _kernel(game: Pig) -> Kernel:
    return _kernel_of(checked_type("game", game, Pig))


@lru_cache(maxsize=8)
def _kernel_of(game: Pig) -> Kernel:
    dead = set(game.dead_scores())
    flags = [score in dead for score in range(game.target)]
    exact, paid = game.variant == "exact", game.variant == "difference"
    return Kernel(game.target, game.faces, game.losing_face, exact, paid, game.mercy, flags)


def _threads(game: Pig, threads: int | None) -> int:
    """The number asked for; by default 1 for a short game, which is over before a second thread could help."""
    return 1 if threads is None and game.target < WORTH_THREADS else machine.chosen_threads(threads)
