"""Delivering solved components to a receiver, from memory or from the scratch directory: values, best moves, counts."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn.board import Board
from madn.errors import ResourceError
from madn.solver import _reorder
from madn.solver.best_moves import BestMoves, Window
from madn.solver.census import PARTS, Census
from madn.solver.components import Matrices, Solved
from madn.solver.footprint import rows_at_hand
from madn.solver.graph import Pair
from madn.solver.id_order import Receiver, bands_in_room
from madn.solver.plan import BASE_MEMORY
from madn.solver.rows import WholeRows, row_values
from madn.solver.scratch import Scratch
from madn.solver.sides import TERMINAL
from madn.solver.zones import Zones

LEAST_ROOM = 1 << 22  # bytes
WHOLE = 16  # as often must a component fit into the room to be loaded whole, and its exits: many tiles cost time
ENCODING = 1 << 25  # bytes for blocks on their way into a database
VALUES = 0.2  # of the work when choices are counted too: for the estimate of progress only


class Delivery:
    """Gives each solved component to a receiver once, and counts what a census asks for."""

    def __init__(self, scratch: Scratch, receiver: Receiver | None) -> None:
        self.scratch, self.plan, self.receiver = scratch, scratch.plan, receiver
        self.zones = Zones(self.plan.rules)
        self.representation = self.plan.representation
        self.at_hand: Solved = {}
        self.boards: dict[int, str] = {}  # those of the component whose values are reported, by ID
        self.wins: dict[str, float] = {}

    def pair(self, pair: Pair, at_hand: Solved, tell: Callable[[float], None]) -> dict[str, Any]:
        """Deliver a component that is solved, unless an earlier run did; return what is known of it then.

        What is `at_hand`, in memory, is not read from the scratch directory.
        """
        sides = [pair] if pair[0] == pair[1] else [pair, pair[::-1]]
        runs = [run for own, other in sides for run in self.zones.runs_of(own, other)]
        earlier = self.scratch.stored(pair)
        if earlier is not None:
            if self.receiver and not all(self.receiver.has(run.first, run.size) for run in runs):
                raise ResourceError(
                    f"{self.scratch.directory}: its values were delivered to a database that is no longer there; "
                    "begin again in an empty directory"
                )
            return earlier
        self.boards = {self.zones.game.rank(*board.masks): str(board) for board in self._boards(pair)}
        self.wins = {}
        counted: dict[str, Any] = {"wins": self.wins}
        if self.receiver or self.plan.census or self.boards:
            census = Census()
            self.at_hand = at_hand
            self._deliver(*sides[0], census, lambda part: tell(part / len(sides)))
            if len(sides) == 2:
                self._deliver(*sides[1], census, lambda part: tell((1 + part) / 2))
            self.at_hand = {}  # the memory is for the next component
            counted["census"] = asdict(census)
        self.scratch.mark_stored(pair, counted)
        tell(1.0)
        return counted

    def won(self) -> None:
        """Deliver the positions in which a side has won."""
        if self.receiver is None:
            return
        full = (1 << self.plan.rules.pieces) - 1
        zones = sorted({zone for pair in self.plan.pairs for zone in pair})
        for own, other in [(full, zone) for zone in zones] + [(zone, full) for zone in zones]:
            for run in self.zones.runs_of(own, other):
                values = self.representation.won(run.size, own == full)
                self.receiver.take(run.first, run.size, run.first, values)
                if self.receiver.wants_choices:
                    self.receiver.take_choices(run.first, run.size, run.first, np.zeros(run.size, np.uint16))
        self.receiver.flush()

    def _boards(self, pair: Pair) -> list[Board]:
        """The boards that are reported, as far as they are in this component."""
        squares = self.plan.rules.squares
        return [board for board in self.plan.boards() if {mask >> squares for mask in board.masks} == set(pair)]

    def _deliver(self, own: int, other: int, census: Census, tell: Callable[[float], None]) -> None:
        mine, theirs = self.scratch.sides[own], self.scratch.sides[other]
        counts, share = np.zeros(PARTS, np.int64), VALUES if self.plan.census else 1.0
        representation, room = self.representation, self._room(own, other, False)
        with self._rows(own, other, room) as load:
            for band in bands_in_room(self.zones, mine, theirs, representation.dtype, room):
                for number in range(len(mine.class_start) - 1):
                    if band.wants(number):
                        band.put(number, load(number), self.plan.threads)
                    tell(share * band.done(number + 1))
                for part in band.parts():
                    if representation.shift:
                        part.values[:] += representation.shift
                    for id, board in self.boards.items():
                        if part.first <= id < part.first + len(part.values):
                            self.wins[board] = representation.probability(float(part.values[id - part.first]))
                    census.positions += len(part.values)
                    _reorder.count_values(part.values, counts)
                    if self.receiver:
                        self.receiver.take(part.run.first, part.run.size, part.first, part.values)
                if self.receiver:
                    self.receiver.flush()
                del band, part  # their memory is free before the next is made
        census.histogram = [a + int(b) for a, b in zip(census.histogram, counts, strict=True)]
        if self.plan.census:
            self._deliver_words(own, other, census, tell)

    def _deliver_words(self, own: int, other: int, census: Census, tell: Callable[[float], None]) -> None:
        mine, theirs = self.scratch.sides[own], self.scratch.sides[other]
        receiver, room, classes = self.receiver, self._room(own, other, True), len(mine.class_start) - 1
        with self._words(own, other, room) as words_of:
            if not receiver or not receiver.wants_choices:
                for number in range(classes):
                    words_of(number, True, census)
                    tell(VALUES + (1 - VALUES) * number / classes)
                return
            counting: Census | None = census
            for band in bands_in_room(self.zones, mine, theirs, np.uint16, room):
                for number in range(classes):
                    wanted = counting is not None or band.wants(number)
                    band.put(number, words_of(number, wanted, counting), self.plan.threads)
                    tell(VALUES + (1 - VALUES) * band.done(number + 1))
                counting = None  # each band has all rows
                for part in band.parts():
                    receiver.take_choices(part.run.first, part.run.size, part.first, part.values)
                receiver.flush()
                del band, part  # as above

    @contextmanager
    def _words(self, own: int, other: int, room: int) -> Iterator[Callable[[int, bool, Census | None], NDArray[Any]]]:
        """Gives the best moves of a class, if wanted, as words of 2 bits a roll; classes must come in order."""
        mine, theirs, threads = self.scratch.sides[own], self.scratch.sides[other], self.plan.threads
        words = np.empty(row_values(mine, theirs), np.uint16)
        windows: list[Window] = []
        sources: list[Matrices | Window] = []
        with ExitStack() as stack:
            for zone in (own, *mine.moves.exits):
                won = Matrices.won(theirs.size, self.representation) if zone == TERMINAL else None
                rows = won or self._matrices(zone, other, room)
                if rows is None:
                    windows.append(Window(stack.enter_context(self._whole_rows(zone, other))))
                sources.append(rows or windows[-1])
            here, *exits = ((rows.L, rows.R, rows.start) for rows in sources)
            best = BestMoves(mine, theirs, *here, exits, self.representation)

            def words_of(number: int, wanted: bool, census: Census | None) -> NDArray[Any]:
                for window in windows:
                    window.load(number)
                best.fill_captures(number, threads)
                if wanted:
                    found = best.choose(number, threads, words)
                    if census:
                        census.add(found)
                return words

            yield words_of

    @contextmanager
    def _rows(self, own: int, other: int, room: int) -> Iterator[Callable[[int], NDArray[Any]]]:
        """Gives the rows of a class with the own side to move."""
        mine, theirs = self.scratch.sides[own], self.scratch.sides[other]
        matrices = self._matrices(own, other, room)
        if matrices is not None:
            whole = matrices.L
            yield lambda number: whole[mine.class_start[number] * theirs.size :]
            return
        here = np.empty(row_values(mine, theirs), self.representation.dtype)
        with self._whole_rows(own, other) as rows:

            def load(number: int) -> NDArray[Any]:
                rows.load(number, 0, here, None)
                return here

            yield load

    @contextmanager
    def _whole_rows(self, own: int, other: int) -> Iterator[WholeRows]:
        pair = self.scratch.pair_of(own, other)
        with self.scratch.open(pair) as file, ThreadPoolExecutor(self.plan.threads) as pool:
            yield WholeRows(file, own, pool)

    def _matrices(self, own: int, other: int, room: int) -> Matrices | None:
        """All rows, if they are at hand or small enough to be loaded whole."""
        size = self.scratch.sides[own].size * self.scratch.sides[other].size
        if (own, other) in self.at_hand or WHOLE * size * self.representation.itemsize > room:
            return self.at_hand.get((own, other))
        return self.scratch.load(own, other)

    def _room(self, own: int, other: int, census: bool) -> int:
        """Bytes for positions in the order of their IDs: most of what is left.

        An eighth is for what the allocator keeps of the blocks that threads encode: with all of it, the four-piece game
        took 22.4 GB where 21.0 were planned.
        """
        taken = rows_at_hand(self.plan.rules, own, other, census, self.plan.threads) * self.representation.itemsize
        held = sum(matrices.nbytes for matrices in self.at_hand.values())
        left = self.plan.memory_bytes - BASE_MEMORY - ENCODING - held - taken
        return max(LEAST_ROOM, left // 8 * 7)
