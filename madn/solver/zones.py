"""The thesis' numbering seen from the solver: pairs of finish zones, and the order of states within them."""

import math
from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from madn._core import Game
from madn.rules import Rules
from madn.solver.sides import Side


class Run(NamedTuple):
    """IDs that follow each other: one profile, one pair of finish zones; all own states, each with all others."""

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
        self._orders: dict[tuple[int, int], NDArray[np.int32]] = {}
        self._zones = {
            k: sorted(
                (f for f in range(1 << rules.pieces) if f.bit_count() == k),
                key=lambda f: [f >> i & 1 for i in range(rules.pieces)],
            )
            for k in range(rules.pieces + 1)
        }

    def run(self, id: int) -> Run:
        """The run that an ID is in."""
        profile = self.game.profile(id)
        runs = self._runs(profile)
        count = self.rules.profile_size(*profile) // len(runs)
        return self._run(profile, (id - self.game.first(*profile)) // count, runs, count)

    def run_of(self, own: int, other: int, own_pieces: int, other_pieces: int) -> Run:
        """The run of a pair of finish zones with so many pieces on the main field."""
        f1, f2 = own.bit_count(), other.bit_count()
        profile = own_pieces + f1, f1, other_pieces + f2, f2
        runs = self._runs(profile)
        return self._run(profile, runs.index((own, other)), runs, self.rules.profile_size(*profile) // len(runs))

    def runs_of(self, own: int, other: int) -> list[Run]:
        """All runs of a pair of finish zones that have positions, the side with the first one to move."""
        open_own, open_other = (self.rules.pieces - zone.bit_count() for zone in (own, other))
        every = [self.run_of(own, other, m1, m2) for m1 in range(open_own + 1) for m2 in range(open_other + 1)]
        return [run for run in every if run.size]

    def runs(self) -> Iterator[Run]:
        """All runs, by ascending ID."""
        for profile in self.rules.profiles():
            runs = self._runs(profile)
            for number in range(len(runs)):
                yield self._run(profile, number, runs, self.rules.profile_size(*profile) // len(runs))

    def _runs(self, profile: tuple[int, int, int, int]) -> list[tuple[int, int]]:
        _, f1, _, f2 = profile
        return [(own, other) for own in self._zones[f1] for other in self._zones[f2]]

    def _run(self, profile: tuple[int, int, int, int], number: int, runs: list[tuple[int, int]], count: int) -> Run:
        p1, f1, p2, f2 = profile
        return Run(self.game.first(*profile) + number * count, count, *runs[number], p1 - f1, p2 - f2)

    def ranges(self, pairs: Collection[tuple[int, int]]) -> list[tuple[int, int]]:
        """The IDs of all positions with one of these pairs of finish zones, as (first, count), ascending.

        The positions in which one side of such a pair has won belong to them.
        """
        full = (1 << self.rules.pieces) - 1
        wanted = {frozenset(pair) for pair in pairs}
        wanted |= {frozenset((full, zone)) for pair in pairs for zone in pair}
        found: list[tuple[int, int]] = []
        for run in self.runs():
            if run.size == 0 or frozenset((run.own, run.other)) not in wanted:
                continue
            if found and sum(found[-1]) == run.first:
                found[-1] = found[-1][0], found[-1][1] + run.size
            else:
                found.append((run.first, run.size))
        return found

    def order(self, side: Side, pieces: int) -> NDArray[np.int32]:
        """The states of a side with so many pieces on the main field, by the rank of their combination."""
        key = side.finish, pieces
        if key not in self._orders:
            S = self.rules.squares
            states = np.flatnonzero(np.bitwise_count(side.masks) == pieces)
            mirrored = np.zeros(len(states), np.uint64)  # square s is position S-1-s of the string
            for q in range(S):
                mirrored |= (side.masks[states] >> np.uint64(q) & np.uint64(1)) << np.uint64(S - 1 - q)
            self._orders[key] = states[np.argsort(mirrored)].astype(np.int32)
        return self._orders[key]

    def width(self, run: Run) -> int:
        """How many positions of a run share an own state."""
        return math.comb(self.rules.squares - run.own_pieces, run.other_pieces)
