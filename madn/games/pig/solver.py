"""Pig, the dice race for two: solved exactly, for every state; any policy against any other.

In a turn a player rolls as often as it likes. The losing face ends the turn and its points are lost; holding adds them
to the player's score. `Pig` are the rules, `solve` gives the optimal play of both players, `duel` the exact result of
one `Policy` against another, `best_response` the best policy against a given one. docs/pig.md explains the method.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from madn.errors import InvalidBoardError, InvalidRulesError, RulesMismatchError
from madn.games.pig._pig import LIMITS, Kernel
from madn.machine import usable_threads

Variant = Literal["classic", "exact", "difference"]
Action = Literal["roll", "hold"]
Progress = Callable[[float, str], None]

MOST_TARGET, MOST_FACES = LIMITS
TIE = 1e-13  # closer than this, relative to the value, rolling and holding are equal

WORTH_THREADS = 300  # the target from which a solve takes more than half a second


@dataclass(frozen=True, slots=True)
class Pig:
    """The rules. `Pig()` is the game to 200 with a die of six faces whose ace loses the turn.

    Variants: `classic`, the first to reach the target wins; `exact`, it must be reached exactly, and a roll past
    it loses the turn; `difference`, as classic, and the winner is paid what the loser lacks to the target.
    With `mercy` the losing face scores one point.
    """

    target: int = 200
    faces: int = 6
    losing_face: int = 1
    variant: Variant = "classic"
    mercy: bool = False

    def __post_init__(self) -> None:
        for name in ("target", "faces", "losing_face"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool):
                raise InvalidRulesError(f"{name.replace('_', ' ')} must be a whole number, not {value!r}")
        if not 2 <= self.target <= MOST_TARGET:
            raise InvalidRulesError(f"target must be 2 to {MOST_TARGET}, not {self.target}")
        if not 2 <= self.faces <= MOST_FACES:
            raise InvalidRulesError(f"faces must be 2 to {MOST_FACES}, not {self.faces}")
        if not 1 <= self.losing_face <= self.faces:
            raise InvalidRulesError(f"losing face must be a face of the die, 1 to {self.faces}, not {self.losing_face}")
        if self.variant not in get_args(Variant):
            raise InvalidRulesError(f"variant must be one of {', '.join(get_args(Variant))}, not {self.variant!r}")

    @property
    def states(self) -> int:
        """States of one player with a choice: own and other score below the target, turn score from 1 to what
        is missing less 1. Some cannot be reached, such as a turn score of 1 where the 1 loses the turn."""
        return self.target * self.target * (self.target - 1) // 2

    @property
    def largest_payoff(self) -> int:
        """The most that can be won: 1, or the target where the difference is paid."""
        return self.target if self.variant == "difference" else 1

    def dead_scores(self) -> tuple[int, ...]:
        """Own scores from which the target can never be reached; there are none but in the exact variant.

        Two players with dead scores play for ever; that is a game nobody wins, worth 0 to both.
        """
        if self.variant != "exact" or self.mercy:
            return ()
        steps = [face for face in range(1, self.faces + 1) if face != self.losing_face]
        alive = {self.target}
        for score in range(self.target - 1, -1, -1):
            if any(score + step in alive for step in steps):
                alive.add(score)
        return tuple(score for score in range(self.target) if score not in alive)

    def check_state(self, own: int, other: int, turn: int) -> None:
        """Raise `InvalidBoardError` for what is not a state of the player who has the die."""
        for name, value in (("own score", own), ("other score", other)):
            if not 0 <= value < self.target:
                raise InvalidBoardError(f"state {own},{other},{turn}: the {name} must be 0 to {self.target - 1}")
        last = self.target if self.variant == "exact" else self.target + self.faces - 1
        if not 0 <= turn <= last - own:
            raise InvalidBoardError(f"state {own},{other},{turn}: the turn score must be 0 to {last - own}")

    def _kernel(self) -> Kernel:
        dead = set(self.dead_scores())
        flags = [score in dead for score in range(self.target)]
        exact, paid = self.variant == "exact", self.variant == "difference"
        return Kernel(self.target, self.faces, self.losing_face, exact, paid, self.mercy, flags)


WUBBEL = Pig(target=50, losing_face=6)


class Policy:
    """What one player does in each state: hold or roll. A game forces both where there is no choice."""

    def __init__(self, game: Pig, bits: NDArray[np.uint8]) -> None:
        """Decisions as bits: `bits[own, other]`, bit t (the lowest first) says to hold with t points."""
        shape = (game.target, game.target, (game.target + 7) // 8)
        if bits.shape != shape or bits.dtype != np.uint8:
            raise InvalidRulesError(f"decisions of this game have shape {shape} and type uint8")
        self.game = game
        self.bits = np.ascontiguousarray(bits)

    @classmethod
    def table(cls, game: Pig, holds: ArrayLike) -> "Policy":
        """Hold where `holds[own, other, turn]` is true; axes of length 1 stand for all scores."""
        return cls._from_rows(game, _spread(game, holds, 3).astype(bool, copy=False).__getitem__)

    @classmethod
    def hold_at(cls, game: Pig, points: ArrayLike) -> "Policy":
        """Hold with this many points or more: one number, or `points[own, other]`."""
        thresholds, turns = _spread(game, points, 2), np.arange(game.target)
        return cls._from_rows(game, lambda own: turns >= thresholds[own][:, None])

    @classmethod
    def _from_rows(cls, game: Pig, row: Callable[[int], NDArray[np.bool_]]) -> "Policy":
        # A row at a time: the decisions of a game to 1000 are 119 MiB as bits, eight times that as bytes.
        return cls(game, np.stack([np.packbits(row(own), axis=-1, bitorder="little") for own in range(game.target)]))

    def holds(self, own: int, other: int, turn: int) -> bool:
        """Whether the player holds in this state."""
        self.game.check_state(own, other, turn)
        if turn == 0 or own + turn >= self.game.target:
            return turn > 0
        return bool(self.bits[own, other, turn >> 3] >> (turn & 7) & 1)

    def decisions(self, own: int, other: int) -> NDArray[np.bool_]:
        """Whether it holds with 0, 1, 2, ... points, up to one less than are missing to the target."""
        bits = np.unpackbits(self.bits[own, other], bitorder="little")[: self.game.target - own].astype(bool)
        bits[0] = False
        return bits

    def __eq__(self, other: object) -> bool:
        """Whether it is the same in every state where there is a choice."""
        if not isinstance(other, Policy) or self.game != other.game:
            return NotImplemented
        n = self.game.target
        choice = np.arange(n) < n - np.arange(n)[:, None]
        choice[:, 0] = False
        masks = np.packbits(choice, axis=-1, bitorder="little")
        return all(not ((self.bits[own] ^ other.bits[own]) & masks[own]).any() for own in range(n))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Policy for {self.game}>"


def _spread(game: Pig, values: ArrayLike, axes: int) -> NDArray[np.generic]:
    array = np.asarray(values)
    try:
        return np.broadcast_to(array, (game.target,) * axes)
    except ValueError:
        raise InvalidRulesError(f"an array of shape {array.shape} does not fit a game to {game.target}") from None


@dataclass(frozen=True, slots=True)
class Answer:
    """A state: its value, the values of rolling and holding (None where it is not allowed), and the best action.

    Between equal values the action is to roll.
    """

    value: float
    roll: float | None
    hold: float | None
    action: Action


class Turn(NamedTuple):
    """A turn: an entry for 0, 1, 2, ... points in hand, up to one point before the target.

    Holding with nothing in hand is not an action: the first value of holding is that of losing the turn.
    """

    value: NDArray[np.float64]
    roll: NDArray[np.float64]  # value of rolling
    hold: NDArray[np.float64]  # value of holding
    holds: NDArray[np.bool_]  # whether holding is better


@dataclass(frozen=True)
class Solution:
    """Optimal play of both players.

    `values[own, other]` is for the player who begins a turn: the probability to win, or what it is expected to be
    paid in the variant `difference`. `after[other, own]` is for the player who has just handed over the die.
    """

    game: Pig
    values: NDArray[np.float64]
    after: NDArray[np.float64]
    residual: (
        float  # the largest difference between a value and what the rules make of the others, of the largest payoff
    )
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
        """The value of a state for the player who has the die, `turn` points in hand and both actions open."""
        return self.ask(own, other, turn).value

    def win(self, own: int, other: int, turn: int = 0) -> float:
        """The probability that the player who has the die wins; not for the variant `difference`."""
        if self.game.variant == "difference":
            raise RulesMismatchError("the variant difference has values, not winning probabilities: ask value()")
        return self.value(own, other, turn)

    def action(self, own: int, other: int, turn: int) -> Action:
        """What to do in a state."""
        return self.ask(own, other, turn).action

    def ask(self, own: int, other: int, turn: int = 0) -> Answer:
        """All there is to know about a state."""
        self.game.check_state(own, other, turn)
        if own + turn >= self.game.target:
            won = float(self.game.target - other) if self.game.variant == "difference" else 1.0
            return Answer(won, None, won, "hold")
        whole = self.turn(own, other)
        roll = float(whole.roll[turn])
        if turn == 0:
            return Answer(float(self.values[own, other]), roll, None, "roll")
        action: Action = "hold" if whole.holds[turn] else "roll"
        return Answer(float(whole.value[turn]), roll, float(whole.hold[turn]), action)

    def turn(self, own: int, other: int) -> Turn:
        """A whole turn at these scores."""
        self.game.check_state(own, other, 0)
        length = self.game.target - own
        value, roll, holds = np.empty(length), np.empty(length), np.empty(length, np.uint8)
        self.game._kernel().turn(self.values, self.after, TIE, own, other, value, roll, holds)
        return Turn(value, roll, self.after[other, own:], holds.astype(bool))

    @cached_property
    def policy(self) -> Policy:
        """The best decisions; a tie is a roll."""
        return _greedy(self.game, self.values, self.after, self.threads)


def solve(game: Pig, threads: int | None = None, progress: Progress | None = None) -> Solution:
    """Solve a game: the optimal play of both players."""
    began = time.perf_counter()
    threads = _threads(game, threads)
    kernel, n = game._kernel(), game.target
    values, after = np.zeros((2, n, n))
    for wave in range(kernel.waves - 1, -1, -1):
        kernel.solve(values, after, wave, threads)
        if progress:  # the time is that of the turn scores; most are at low scores
            progress((1 - wave / kernel.waves) ** 3, "")
    values.flags.writeable = after.flags.writeable = False
    residual, gap, where, ties = 0.0, np.inf, (0, 0, 0), 0
    for first in range(0, n, 50):  # in parts, so that Ctrl-C is heard
        worst, least, *state, equal = kernel.check_rows(values, after, TIE, first, min(n, first + 50), threads)
        residual, ties = max(residual, worst / game.largest_payoff), ties + equal
        if least < gap:
            gap, where = least, (state[0], state[1], state[2])
    return Solution(game, values, after, residual, gap, where, ties, time.perf_counter() - began, threads)


@dataclass(frozen=True)
class Duel:
    """One policy against another, exactly, for the first of the two.

    `values[own, other]` is when it begins a turn, `waiting[other, own]` when the other does.
    """

    game: Pig
    values: NDArray[np.float64]
    waiting: NDArray[np.float64]
    endless: float  # probability that the game never ends, averaged over who begins

    @property
    def starting(self) -> float:
        """The value of the game when the first policy begins."""
        return float(self.values[0, 0])

    @property
    def replying(self) -> float:
        """The value of the game when the second policy begins."""
        return float(self.waiting[0, 0])

    @property
    def average(self) -> float:
        """The value of the game when a fair coin says who begins."""
        return (self.starting + self.replying) / 2


def duel(first: Policy, second: Policy, threads: int | None = None) -> Duel:
    """Compute what the first policy wins against the second: no simulation, the value at every pair of scores."""
    if first.game != second.game:
        raise RulesMismatchError(f"the policies are for different games: {first.game} and {second.game}")
    game = first.game
    values, waiting = _meet(game, first.bits, second.bits, (1, 0, 0), threads)
    endless = 0.0
    if game.dead_scores():
        rolls, waits = _meet(game, first.bits, second.bits, (0, 0, 1), threads)
        endless = float(rolls[0, 0] + waits[0, 0]) / 2
    return Duel(game, values, waiting, endless)


def best_response(policy: Policy, threads: int | None = None) -> Policy:
    """The policy that does best against this one, from every state."""
    _, waiting = _meet(policy.game, None, policy.bits, (1, 0, 0), threads)
    return _greedy(policy.game, None, waiting, _threads(policy.game, threads))


def fewest_turns(game: Pig) -> tuple[Policy, NDArray[np.float64]]:
    """The policy that reaches the target in the fewest turns on average, and how many those are from each score.

    It does not look at the other player. From a score that cannot reach the target they are infinite.
    """
    turns = np.empty(game.target)
    bits = np.zeros((game.target, (game.target + 7) // 8), np.uint8)
    game._kernel().fewest_turns(turns, bits)
    return Policy(game, np.repeat(bits[:, None, :], game.target, axis=1)), turns


def _meet(
    game: Pig,
    first: NDArray[np.uint8] | None,
    second: NDArray[np.uint8],
    payoffs: tuple[float, float, float],
    threads: int | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    kernel, workers, n = game._kernel(), _threads(game, threads), game.target
    values, waiting = np.zeros((2, n, n))
    for wave in range(kernel.waves - 1, -1, -1):
        kernel.meet(values, waiting, first, second, *payoffs, wave, workers)
    return values, waiting


def _greedy(game: Pig, values: NDArray[np.float64] | None, after: NDArray[np.float64], threads: int) -> Policy:
    kernel, n = game._kernel(), game.target
    bits = np.empty((n, n, (n + 7) // 8), np.uint8)
    for own in range(n):
        kernel.decide(values, after, TIE, bits, own, threads)
    return Policy(game, bits)


def _threads(game: Pig, threads: int | None) -> int:
    """As many as are asked for. A short game is done sooner than threads have waited for each other."""
    if threads is not None and threads < 1:
        raise InvalidRulesError(f"threads must be at least 1, not {threads}")
    return threads or (1 if game.target < WORTH_THREADS else usable_threads())
