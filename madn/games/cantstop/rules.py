"""The rules of two-player Can't Stop, and how many components and positions a game has.

Four dice are paired in one of three ways. Both sums are played if possible, otherwise the one that can be; with one
marker left and two sums that each need a new one, the player chooses. A double moves two steps, or one if only one is
left. A turn has at most three markers, including those that have reached the top. A marker may stand on a square that
the opponent holds, but the player may not stop while one does. If no sum can be played, the turn is lost.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product

from madn.errors import InvalidRulesError
from madn.ranges import checked_int

MARKERS = 3
MIN_SIDES, MAX_SIDES = 2, 6
LONGEST = 15  # steps of a column: the kernels keep a square in four bits

Pairing = tuple[int, int]


@dataclass(frozen=True, slots=False)
class CantStop:
    """A board: sides of the dice, steps of the shortest column, difference between neighbours, columns to win."""

    sides: int = 3
    shortest: int = 3
    difference: int = 2
    to_win: int = 3

    def __post_init__(self) -> None:
        ranges = {"sides": (MIN_SIDES, MAX_SIDES), "shortest": (1, LONGEST), "difference": (0, LONGEST)}
        for name, (low, high) in (ranges | {"to_win": (1, 2 * MAX_SIDES - 1)}).items():
            object.__setattr__(self, name, checked_int(name, getattr(self, name), low, high, InvalidRulesError))
        longest = self.shortest + self.difference * (self.sides - 1)
        if longest > LONGEST:
            raise InvalidRulesError(f"the longest column would have {longest} steps; at most {LONGEST} are possible")
        if self.to_win > self.sides:
            raise InvalidRulesError(
                f"ill-posed: all {2 * self.sides - 1} columns can be closed without a winner; "
                f"to_win must be at most {self.sides}, not {self.to_win} ({self.components:,} components)"
            )

    def __str__(self) -> str:
        plain = f"({self.sides},{self.shortest})"
        other = [f"difference {self.difference}"] * (self.difference != 2)
        other += [f"{self.to_win} columns to win"] * (self.to_win != 3)
        return ", ".join([plain, *other])

    @property
    def columns(self) -> int:
        """How many columns there are: one for each sum of two dice."""
        return 2 * self.sides - 1

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """The steps to the top of each column, from the sum 2 on."""
        middle = self.sides - 1
        return tuple(self.shortest + self.difference * (middle - abs(c - middle)) for c in range(self.columns))

    @cached_property
    def rolls(self) -> tuple[tuple[int, tuple[Pairing, ...]], ...]:
        """The different rolls: how many of the sides**4 are alike, and the pairs of columns (from 0) they give."""
        found: Counter[tuple[Pairing, ...]] = Counter()
        for dice in product(range(self.sides), repeat=4):
            found[pairings(dice)] += 1
        return tuple((count, pairs) for pairs, count in sorted(found.items()))

    def splits(self, closed: int) -> range:
        """The numbers of columns a player may have won when `closed` are closed and nobody has won."""
        return range(max(0, closed - self.to_win + 1), min(self.to_win - 1, closed) + 1)

    @cached_property
    def components(self) -> int:
        """Components as the paper counts them: disregarding who owns closed columns, and mirrored ones once."""
        return self._counted(0) // 2

    @cached_property
    def positions(self) -> int:
        """Positions as the paper counts them: marker placements of both players, and 2 for each finished index."""
        return self._counted(MARKERS) + 2 * self._finished()

    def _counted(self, markers: int) -> int:
        """Placements of at most this many markers of one player, in all components plus the symmetric ones again."""
        every = [(length, 1) for length in self.lengths]
        mirrored = [(self.lengths[self.sides - 1], 1), *((length, 2) for length in self.lengths[: self.sides - 1])]
        return sum(
            ways * len(self.splits(closed))
            for groups in (every, mirrored)
            for closed, ways in _placements(groups, markers).items()
        )

    def _finished(self) -> int:
        """Indices in which a player has won enough columns, distinguishing owners and counting mirrored ones twice."""
        total = 0
        for closed, ways in _placements([(length, 1) for length in self.lengths], 0).items():
            open_game = sum(math.comb(closed, won) for won in self.splits(closed))
            total += ways * (2**closed - open_game)
        return total


def pairings(dice: Iterable[int]) -> tuple[Pairing, ...]:
    """The different pairs of sums of four dice, each ascending."""
    a, b, c, d = dice
    pairs = {(a + b, c + d), (a + c, b + d), (a + d, b + c)}
    return tuple(sorted({(min(pair), max(pair)) for pair in pairs}))


@cache
def _legal_squares(length: int) -> tuple[int, ...]:
    """The steps left to one player, over all legal pairs of squares in an open column."""
    return tuple(length - x for x in range(length) for y in range(length) if x != y or x == 0)


def _placements(groups: Iterable[tuple[int, int]], most: int) -> Counter[int]:
    """Placements of at most `most` markers of one player, by the number of closed columns.

    A group is a length and the number of columns of that length (one, or two that mirror each other) in the same state.
    """
    ways = Counter({(0, 0): 1})  # (closed columns, markers): how many
    for length, size in groups:
        factor = Counter({(size, 0): 1})
        for left, markers in product(_legal_squares(length), range(size + 1)):
            factor[0, markers] += math.comb(size, markers) * left**markers
        longer: Counter[tuple[int, int]] = Counter()
        for ((closed, used), count), ((more_closed, more_used), more) in product(ways.items(), factor.items()):
            if used + more_used <= most:
                longer[closed + more_closed, used + more_used] += count * more
        ways = longer
    by_closed: Counter[int] = Counter()
    for (closed, _), count in ways.items():
        by_closed[closed] += count
    return by_closed
