"""Delivering a solved component: its positions in the order of their IDs, as many at a time as memory allows."""

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from madn.solver import _reorder
from madn.solver.sides import Side
from madn.solver.zones import Run, Zones

BATCH = 1 << 20  # about how many positions always go together, so that the order does not depend on the memory


class Receiver(Protocol):
    """Takes what is solved. Positions of a run of IDs come in ascending order, but runs are interleaved."""

    def has(self, first_of_run: int, size_of_run: int) -> bool:
        """Whether all positions of a run were taken, now or by an earlier process."""

    def take(self, first_of_run: int, size_of_run: int, first: int, values: NDArray[Any]) -> None:
        """Take the values of the IDs from `first` on, in stored units; they do not change until `flush`."""

    def take_choices(self, first_of_run: int, size_of_run: int, first: int, words: NDArray[np.uint16]) -> None:
        """Take the best moves of the IDs from `first` on: the number of the move, 2 bits a roll, roll 1 lowest."""

    def flush(self) -> None:
        """Finish with all the arrays that were taken: from now on they may change."""

    def flush_to_disk(self) -> None:
        """Wait until all that is stored is on disk; the values that it came from may then be removed."""


class Batch(NamedTuple):
    """Own states with `pieces` pieces on the main field whose combinations have the ranks first..end-1."""

    pieces: int
    first: int
    end: int


class Part(NamedTuple):
    """Consecutive positions of a run, from the ID `first` on."""

    run: Run
    first: int
    values: NDArray[Any]


class Band:
    """Room for some batches of own states, and where their rows belong in it.

    `before` is the fraction of all bands that was done before this one, `share` the fraction that this one is.
    """

    def __init__(
        self, zones: Zones, mine: Side, theirs: Side, batches: list[Batch], dtype: Any, before: float, share: float
    ) -> None:
        self.zones, self.mine, self.theirs, self.batches = zones, mine, theirs, batches
        self.before, self.share = before, share
        S = zones.rules.squares
        sections = [zones.order(theirs, m) for m in range(theirs.open_pieces + 1)]
        self.columns = np.concatenate(sections)
        self.masks = np.ascontiguousarray(theirs.masks[self.columns])
        self.section = np.concatenate([[0], np.cumsum([len(s) for s in sections])]).astype(np.int32)
        self.place = np.full((mine.size, len(sections)), -1, np.int64)
        self.begin: dict[tuple[Batch, int], int] = {}
        total = 0
        for batch in batches:
            states = zones.order(mine, batch.pieces)[batch.first : batch.end]
            for m in range(len(sections)):
                width = math.comb(S - batch.pieces, m)
                self.begin[batch, m] = total
                self.place[states, m] = total + np.arange(len(states)) * width
                total += len(states) * width
        self.values = np.empty(total, dtype)

    def done(self, number: int) -> float:
        """The fraction of all bands that is done once this many classes of own states have been put in."""
        return self.before + self.share * number / (len(self.mine.class_start) - 1)

    def wants(self, number: int) -> bool:
        """Whether rows of a class of own states belong here."""
        begin, end = self.mine.class_start[number : number + 2]
        return bool((self.place[begin:end, 0] >= 0).any())

    def put(self, number: int, rows: NDArray[Any], threads: int) -> None:
        """Copy what belongs here from the rows of a class of own states."""
        begin, end = (int(n) for n in self.mine.class_start[number : number + 2])
        wanted = np.flatnonzero(self.place[begin:end, 0] >= 0).astype(np.int32)
        if len(wanted):
            _reorder.place_rows(
                rows, self.theirs.size, wanted, self.mine.facing[begin + wanted], self.columns, self.masks,
                self.section, self.place[begin + wanted], self.values, threads,
            )  # fmt: skip

    def parts(self) -> Iterator[Part]:
        """The positions that were put in."""
        runs = self.zones.runs_of(self.mine.finish, self.theirs.finish)
        for batch, run in itertools.product(self.batches, runs):
            if run.own_pieces == batch.pieces:
                width, begin = self.zones.width(run), self.begin[batch, run.other_pieces]
                values = self.values[begin : begin + (batch.end - batch.first) * width]
                yield Part(run, run.first + batch.first * width, values)


def batches_of(zones: Zones, mine: Side, theirs: Side) -> list[Batch]:
    """All own states, in batches by the rank of their combination."""
    S = zones.rules.squares
    batches = []
    for m in range(min(mine.open_pieces, S) + 1):
        states = math.comb(S, m)
        step = max(1, BATCH // _length(zones, theirs, m))
        batches += [Batch(m, first, min(first + step, states)) for first in range(0, states, step)]
    return batches


def _length(zones: Zones, theirs: Side, pieces: int) -> int:
    """The number of positions of an own state with this many pieces on the main field."""
    return sum(math.comb(zones.rules.squares - pieces, k) for k in range(theirs.open_pieces + 1))


def bands(zones: Zones, theirs: Side, batches: list[Batch], positions: int) -> Iterator[list[Batch]]:
    """Cut the batches into bands of at most about this many positions.

    There are as few bands as that allows, of about the same size: the largest decides how much memory they take.
    """
    sizes = [(batch.end - batch.first) * _length(zones, theirs, batch.pieces) for batch in batches]
    whole = sum(sizes)
    most = min(positions, whole // math.ceil(whole / positions) + BATCH)
    band: list[Batch] = []
    filled = 0
    for batch, size in zip(batches, sizes, strict=True):
        if band and filled + size > most:
            yield band
            band, filled = [], 0
        band.append(batch)
        filled += size
    yield band


def bands_in_room(zones: Zones, mine: Side, theirs: Side, dtype: Any, room: int) -> Iterator[Band]:
    """Bands of about `room` bytes, one after the other, for all positions of a pair with one side to move.

    Each band must be given every row that it wants, so all rows are gone through once for each band.
    """
    cuts = list(bands(zones, theirs, batches_of(zones, mine, theirs), room // np.dtype(dtype).itemsize))
    for number, batches in enumerate(cuts):
        yield Band(zones, mine, theirs, batches, dtype, number / len(cuts), 1 / len(cuts))
