"""Handing solved components over from the scratch directory: values, best moves, counts."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn import _readout
from madn.errors import ResourceError
from madn.solver.census import PARTS, Census
from madn.solver.components import DTYPE, HALF
from madn.solver.delivery import Band, Part, Receiver, deliver
from madn.solver.footprint import rows_at_hand
from madn.solver.plan import BASE_MEMORY, ITEM
from madn.solver.rows import WholeRows, row_values
from madn.solver.scratch import Scratch
from madn.solver.zones import Run, Zones

LEAST_ROOM = 1 << 22  # bytes


class HandOver:
    """Gives each solved component to a receiver once, and counts what a census asks for."""

    def __init__(self, scratch: Scratch, receiver: Receiver | None) -> None:
        self.scratch, self.plan, self.receiver = scratch, scratch.plan, receiver
        self.zones = Zones(self.plan.rules)
        self.shift = 0.5 if self.plan.representation == "float64" else 0.0
        self.unit = 2.0 * HALF[self.plan.representation]

    def pair(self, pair: tuple[int, int], tell: Callable[[float], None]) -> dict[str, Any]:
        """Hand over a component that is solved, unless an earlier run did; return what is known of it then."""
        sides = [pair] if pair[0] == pair[1] else [pair, pair[::-1]]
        runs = [run for own, other in sides for run in self.zones.runs_of(own, other)]
        earlier = self.scratch.stored(pair)
        if earlier is not None:
            if self.receiver and not all(self.receiver.has(run.first, run.size) for run in runs):
                raise ResourceError(
                    f"{self.scratch.directory}: values were handed over to a database that is not there any more; "
                    "begin again in an empty directory"
                )
            tell(1.0)
            return earlier
        counted: dict[str, Any] = {"wins": self._wins(pair)}
        if self.receiver or self.plan.census:
            census = Census()
            for turn, (own, other) in enumerate(sides):
                self._hand_over(own, other, census, lambda part, turn=turn: tell((turn + part) / len(sides)))
            counted["census"] = census.written()
        self.scratch.mark_stored(pair, counted)
        tell(1.0)
        return counted

    def won(self) -> None:
        """Hand over the positions in which a side has won."""
        if self.receiver is None:
            return
        full = (1 << self.plan.rules.pieces) - 1
        zones = sorted({zone for pair in self.plan.pairs for zone in pair})
        for own, other in [(full, zone) for zone in zones] + [(zone, full) for zone in zones]:
            for run in self.zones.runs_of(own, other):
                half = HALF[self.plan.representation] if own == full else -HALF[self.plan.representation]
                values = np.full(run.size, self.shift + half, DTYPE[self.plan.representation])
                self.receiver.take(run.first, run.size, run.first, values)
                if self.receiver.wants_choices:
                    self.receiver.take_choices(run.first, run.size, run.first, np.zeros(run.size, np.uint16))
        self.receiver.settle()

    def _wins(self, pair: tuple[int, int]) -> dict[str, float]:
        """The winning probabilities of the boards that are reported, as far as they are in this component."""
        squares = self.plan.rules.squares
        boards = [board for board in self.plan.boards() if {mask >> squares for mask in board.masks} == set(pair)]
        return {str(board): 0.5 + self.scratch.value(board) / self.unit for board in boards}

    def _hand_over(self, own: int, other: int, census: Census, tell: Callable[[float], None]) -> None:
        mine, theirs = self.scratch.sides[own], self.scratch.sides[other]
        counts = np.zeros(PARTS, np.int64)

        def values(part: Part) -> None:
            if self.shift:
                part.values[:] += self.shift
            census.positions += len(part.values)
            _readout.count_values(part.values, counts)
            if self.receiver:
                self.receiver.take(part.run.first, part.run.size, part.first, part.values)

        dtype = DTYPE[self.plan.representation]
        settle = self.receiver.settle if self.receiver else lambda: None
        room = self._room(own, other, False)
        with self._rows(own, other, room) as load:

            def value_rows(band: Band) -> Iterator[NDArray[Any]]:
                for number in range(len(mine.class_start) - 1):
                    yield load(number) if band.wants(number) else np.empty(0, dtype)
                    tell(0.5 * number / len(mine.class_start))

            deliver(self.zones, mine, theirs, value_rows, dtype, room, self.plan.threads, values, settle)
        census.histogram = [a + int(b) for a, b in zip(census.histogram, counts, strict=True)]

    @contextmanager
    def _rows(self, own: int, other: int, room: int) -> Iterator[Callable[[int], NDArray[Any]]]:
        """Gives the rows of a class with the own side to move. Small components are loaded whole: tiles cost time."""
        mine, theirs = self.scratch.sides[own], self.scratch.sides[other]
        dtype = np.dtype(DTYPE[self.plan.representation])
        if 8 * mine.size * theirs.size * dtype.itemsize <= room:
            whole = self.scratch.load(own, other).L
            yield lambda number: whole[mine.class_start[number] * theirs.size :]
            return
        here = np.empty(row_values(mine, theirs), dtype)
        file = self.scratch.open(self._stored_as(own, other))
        with ThreadPoolExecutor(self.plan.threads) as pool:
            rows = WholeRows(file, own, pool)

            def load(number: int) -> NDArray[Any]:
                rows.load(number, 0, here, None)
                return here

            yield load
        file.close()

    def _room(self, own: int, other: int, census: bool) -> int:
        """Bytes for positions in the order of their IDs."""
        taken = rows_at_hand(self.plan.rules, own, other, census) * ITEM[self.plan.representation]
        return max(LEAST_ROOM, self.plan.memory_bytes - BASE_MEMORY - taken)

    def _stored_as(self, own: int, other: int) -> tuple[int, int]:
        return next(pair for pair in self.scratch.pairs if set(pair) == {own, other})
