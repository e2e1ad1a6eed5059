"""Start values (thesis, section 4.2): guessing a winning probability from how far both sides have to go.

The distance to finish of a side counts the squares its pieces still have to walk; a piece in the box also needs a 6.
The winning probability rises with the ratio of both sides' distances, from -1 (lost) to 1 (won), and a polynomial
fitted to it in a small game gives start values for the sweeps of a larger one.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from madn._core import Game
from madn.errors import PlanError
from madn.machine import chosen_threads
from madn.ranges import checked_float
from madn.rules import DIE, Rules
from madn.solver._thesis import run, start_values

Wins = NDArray[np.float64]
Distances = NDArray[np.int32]
Read: TypeAlias = Callable[[NDArray[np.int64]], Wins]  # the winning probabilities of positions, by ID
Guess: TypeAlias = Callable[[Distances, Distances], Wins]  # from the distances of the side to move and of the other
CHUNKS = {1: 20, 2: 5_000, 3: 200_000}  # positions in one averaged point of Figure 4.4, by pieces
DEGREE = 5
SLICE = 1 << 22  # positions at a time


def distances(states: NDArray[np.uint64], rules: Rules) -> Distances:
    """The distance to finish of each state (a whole mask): 0 finished, 190 with all four pieces in the box.

    The pieces must end on the finish squares, whichever takes which, so it is the sum over the finish squares minus the
    sum over the pieces; a boxed piece counts as standing 6 before the A-square.
    """
    S, P = rules.squares, rules.pieces
    goal = sum(range(S, S + P))
    total = np.full(len(states), goal + P * DIE, np.int32)
    for first in range(0, S + P, 8):  # eight squares at a time: the three-piece game has 145 million positions
        squares = np.arange(first, first + 8) + DIE
        table = (np.arange(256)[:, None] >> np.arange(8) & 1) @ squares
        total -= table.astype(np.int32)[(states >> np.uint64(first) & np.uint64(255)).astype(np.uint8)]
    return total


def ratios(own: Distances, other: Distances) -> Wins:
    """Formula (4.7): the distance-to-finish ratio of the side to move, from its and the other side's distance."""
    larger = np.maximum(own, other)
    return np.where(own >= other, other / larger - 1, 1 - own / larger)


@dataclass(frozen=True)
class Spread:
    """For each ratio that occurs, ascending: how many open positions have it, and their winning probabilities."""

    ratio: Wins
    count: NDArray[np.int64]
    least: Wins
    mean: Wins
    most: Wins

    def averaged(self, positions: int) -> tuple[Wins, Wins]:
        """Merge neighbouring ratios until each point has this many positions; return mean ratios and mean wins."""
        group = (np.cumsum(self.count) - self.count) // positions
        _, group = np.unique(group, return_inverse=True)
        weight = np.bincount(group, self.count)
        return (
            np.bincount(group, self.count * self.ratio) / weight,
            np.bincount(group, self.count * self.mean) / weight,
        )

    def polynomial(self, degree: int = DEGREE) -> Wins:
        """The coefficients, constant first, of the polynomial with the least squared error over all positions."""
        fitted = np.polynomial.polynomial.polyfit(self.ratio, self.mean, degree, w=np.sqrt(self.count))
        return np.asarray(fitted, np.float64)


def spread(rules: Rules, read: Read) -> Spread:
    """Collect the winning probabilities of all open positions by ratio; `read` may be a database's `win_many`."""
    game = Game(rules)
    size = int(distances(np.zeros(1, np.uint64), rules)[0]) + 1
    count = np.zeros(size * size, np.int64)
    total, least, most = np.zeros(size * size), np.full(size * size, np.inf), np.full(size * size, -np.inf)
    for ids, own, other in open_positions(game):
        pair = own.astype(np.int64) * size + other
        values = read(ids)
        count += np.bincount(pair, minlength=size * size)
        total += np.bincount(pair, values, minlength=size * size)
        np.minimum.at(least, pair, values)
        np.maximum.at(most, pair, values)
    pairs = np.flatnonzero(count)
    ratio, group = np.unique(
        np.round(ratios((pairs // size).astype(np.int32), (pairs % size).astype(np.int32)), 12), return_inverse=True
    )
    counts = np.bincount(group, count[pairs]).astype(np.int64)
    lowest, highest = np.full(len(ratio), np.inf), np.full(len(ratio), -np.inf)
    np.minimum.at(lowest, group, least[pairs])
    np.maximum.at(highest, group, most[pairs])
    return Spread(ratio, counts, lowest, np.bincount(group, total[pairs]) / counts, highest)


def open_positions(game: Game) -> Iterator[tuple[NDArray[np.int64], Distances, Distances]]:
    """The IDs of all positions in which the game goes on, slice by slice, with the distances of both sides."""
    S, done = np.uint64(game.rules.squares), np.uint64((1 << game.rules.pieces) - 1)
    for first in range(0, game.positions, SLICE):
        ids = np.arange(first, min(first + SLICE, game.positions))
        own, other = game.unrank_many(ids)
        here = (own >> S != done) & (other >> S != done)
        yield ids[here], distances(own[here], game.rules), distances(other[here], game.rules)


def balanced(polynomial: Wins) -> Wins:
    """The odd part of the polynomial, so that the guesses for either side to move add up to 1.

    Lost rolls tie the two values of a pair of states together. Guesses that do not add up to 1, as those that include
    the advantage of moving first, leave an error that shrinks by a factor of only 5/6 in each sweep where both sides
    wait for a 6.
    """
    odd = polynomial.copy()
    odd[::2] = 0
    odd[0] = 0.5
    return odd


def by_ratio(polynomial: Wins) -> Guess:
    """The guess of the thesis: a polynomial of the ratio, limited to 0 to 1."""

    def guess(own: Distances, other: Distances) -> Wins:
        return np.clip(np.polynomial.polynomial.polyval(ratios(own, other), polynomial), 0, 1)

    return guess


def guessed(rules: Rules, guess: Guess) -> Wins:
    """Start values by ID: a guess for every open position; finished games keep 1 and 0."""
    game = Game(rules)
    x = np.empty(game.positions)
    start_values(game, x, 0.5)
    for ids, own, other in open_positions(game):
        x[ids] = guess(own, other)
    return x


def sweeps(rules: Rules, x: Wins, tolerance: float = 1e-6, threads: int = 1) -> list[int]:
    """Sweep with the thesis' algorithm from start values x, in place; return the number of changes in each sweep.

    A change is a position whose value moved by more than the tolerance; the last sweep has none (Figure 5.1).
    """
    tolerance, threads = checked_float("tolerance", tolerance, 1e-15, 1, PlanError), chosen_threads(threads)
    game = Game(rules)
    changes: list[int] = []
    while not changes or changes[-1]:
        before = x.copy()
        run(game, x, 0, game.positions, threads, True)
        changes.append(int((np.abs(x - before) > tolerance).sum()))
    return changes
