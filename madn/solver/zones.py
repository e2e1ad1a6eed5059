"""The thesis' numbering seen from the solver: pairs of finish zones, and the order of states within them."""

import math
from bisect import bisect_right
from collections.abc import Collection, Iterator
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from madn._core import Game
from madn.rules import Rules
from madn.solver.sides import Side


class Run(NamedTuple):
    """Consecutive IDs of one profile and one pair of finish zones: all own states, each with all other states."""

    first: int
    size: int
    own: int
    other: int
    own_pieces: int  # on the main field
    other_pieces: int


class Zones:
    """Where the positions of each pair of finish zones are in the numbering."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.game = Game(rules)
        self.runs = list(_all_runs(rules))
        self.order = cache(self._order)

    def run(self, id: int) -> Run:
        """The run that has an ID."""
        return self.runs[bisect_right(self.runs, id, key=lambda run: run.first) - 1]

    def runs_of(self, own: int, other: int) -> list[Run]:
        """All runs of a pair of finish zones, the side with the first one to move."""
        return [run for run in self.runs if (run.own, run.other) == (own, other)]

    def ranges(self, pairs: Collection[tuple[int, int]]) -> list[tuple[int, int]]:
        """The IDs of all positions with one of these pairs of finish zones, as (first, count), ascending.

        They include the positions in which one side of such a pair has won.
        """
        full = (1 << self.rules.pieces) - 1
        wanted = {frozenset(pair) for pair in pairs}
        wanted |= {frozenset((full, zone)) for pair in pairs for zone in pair}
        found: list[tuple[int, int]] = []
        for run in self.runs:
            if frozenset((run.own, run.other)) not in wanted:
                continue
            if found and sum(found[-1]) == run.first:
                found[-1] = found[-1][0], found[-1][1] + run.size
            else:
                found.append((run.first, run.size))
        return found

    def _order(self, side: Side, pieces: int) -> NDArray[np.int32]:
        """The states of a side with this many pieces on the main field, by the rank of their combination."""
        S = self.rules.squares
        states = np.flatnonzero(np.bitwise_count(side.masks) == pieces)
        mirrored = np.zeros(len(states), np.uint64)  # square s is place S-1-s of the string
        for q in range(S):
            mirrored |= (side.masks[states] >> np.uint64(q) & np.uint64(1)) << np.uint64(S - 1 - q)
        return states[np.argsort(mirrored)].astype(np.int32)

    def width(self, run: Run) -> int:
        """How many positions of a run share an own state."""
        return math.comb(self.rules.squares - run.own_pieces, run.other_pieces)


def _all_runs(rules: Rules) -> Iterator[Run]:
    """All runs, by ascending ID."""
    pieces = range(rules.pieces)
    zones = sorted(range(1 << rules.pieces), key=lambda zone: [zone >> i & 1 for i in pieces])
    of_size = [[zone for zone in zones if zone.bit_count() == k] for k in (*pieces, rules.pieces)]
    first = 0
    for p1, f1, p2, f2 in rules.profiles():
        pairs = list(product(of_size[f1], of_size[f2]))
        size = rules.profile_size(p1, f1, p2, f2) // len(pairs)
        for own, other in pairs:
            yield Run(first, size, own, other, p1 - f1, p2 - f2)
            first += size
