"""Handing solved components to the database: process 0 puts them in the order of IDs, the others send their tiles."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from madn.board import Board
from madn.solver.cluster.parts import Parts, Wanted
from madn.solver.cluster.processes import Processes
from madn.solver.deliver import ENCODING, LEAST_ROOM
from madn.solver.graph import Pair
from madn.solver.id_order import Band, Receiver, bands_in_room
from madn.solver.numbers import Values
from madn.solver.sides import Side
from madn.solver.zones import Zones

TOGETHER = 1 << 22  # about how many values are gathered at a time


class ClusterDelivery:
    """Gives each solved component to a receiver, which process 0 has; `room` is the memory for that, in bytes."""

    def __init__(self, parts: Parts, processes: Processes, receiver: Receiver | None, room: int) -> None:
        self.parts, self.processes, self.receiver, self.room = parts, processes, receiver, room
        self.plan = parts.plan
        self.zones = Zones(self.plan.rules)

    def has(self, pair: Pair) -> bool:
        """Whether the receiver has all positions of a component."""
        runs = [run for own, other in _sides(pair) for run in self.zones.runs_of(own, other)]
        return self.receiver is None or all(self.receiver.has(run.first, run.size) for run in runs)

    def pair(self, pair: Pair) -> dict[str, Any]:
        """Deliver a component; process 0 returns the values of the boards that are reported."""
        wins: dict[str, float] = {}
        squares = self.plan.rules.squares
        boards = [board for board in self.plan.boards() if {mask >> squares for mask in board.masks} == set(pair)]
        for own, other in _sides(pair):
            if self.processes.number == 0:
                self._collect(own, other, {self.zones.game.rank(*board.masks): board for board in boards}, wins)
            else:
                while wanted := self.processes.first(None):
                    self._rows(own, other, range(*wanted))
        if self.receiver:
            self.receiver.flush_to_disk()
        return {"wins": wins}

    def won(self) -> None:
        """Deliver the positions in which a side has won."""
        if self.receiver is None:
            return
        full = (1 << self.plan.rules.pieces) - 1
        zones = sorted({zone for pair in self.plan.pairs for zone in pair})
        for own, other in [(full, zone) for zone in zones] + [(zone, full) for zone in zones]:
            for run in self.zones.runs_of(own, other):
                values = self.plan.representation.won(run.size, own == full)
                self.receiver.take(run.first, run.size, run.first, values)
        self.receiver.flush()
        self.receiver.flush_to_disk()

    def _collect(self, own: int, other: int, boards: dict[int, Board], wins: dict[str, float]) -> None:
        mine, theirs = self.parts.sides[own], self.parts.sides[other]
        representation = self.plan.representation
        rows = max(TOGETHER, int(np.diff(mine.class_start).max()) * theirs.size)  # values at a time
        left = self.room - ENCODING - rows * representation.itemsize
        room = max(LEAST_ROOM, left // 8 * 7)  # an eighth is for what the allocator keeps, as on one computer
        for band in bands_in_room(self.zones, mine, theirs, representation.dtype, room):
            for classes in self._classes(band, mine, theirs):
                self.processes.first((classes.start, classes.stop))
                values = self._rows(own, other, classes)
                assert values is not None
                for number in classes:
                    first = int(mine.class_start[number] - mine.class_start[classes.start])
                    band.put(number, values[first * theirs.size :], self.plan.threads)
            for part in band.parts():
                if representation.shift:
                    part.values[:] += representation.shift
                for id, board in boards.items():
                    if part.first <= id < part.first + len(part.values):
                        wins[str(board)] = representation.probability(float(part.values[id - part.first]))
                if self.receiver:
                    self.receiver.take(part.run.first, part.run.size, part.first, part.values)
            if self.receiver:
                self.receiver.flush()
            del band, part  # free their memory before the next band is made
        self.processes.first(())

    def _classes(self, band: Band, mine: Side, theirs: Side) -> Iterator[range]:
        """The classes of rows that a band wants, or that lie between those: a few at a time."""
        wanted = [number for number in range(len(mine.class_start) - 1) if band.wants(number)]
        while wanted:
            first, begin = wanted[0], mine.class_start[wanted[0]]
            most = max(1, TOGETHER // theirs.size)
            count = sum(1 for number in wanted[1:] if mine.class_start[number + 1] - begin <= most)
            yield range(first, wanted[count] + 1)
            wanted = wanted[count + 1 :]

    def _rows(self, own: int, other: int, classes: range) -> Values | None:
        """Gather the rows of some classes, own side to move, in process 0; all processes take part."""
        columns = range(len(self.parts.sides[other].class_start) - 1)
        wanted = Wanted(own, other, classes, columns, both=False)
        matrices = self.parts.gather([wanted])
        return matrices.L if matrices else None


def _sides(pair: Pair) -> list[Pair]:
    """A component seen from either side, or only once if both are alike."""
    return [pair] if pair[0] == pair[1] else [pair, pair[::-1]]
