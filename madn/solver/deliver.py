"""Delivering solved components to a receiver, from memory or from the scratch directory: values, best moves, counts."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn.board import Board
from madn.solver import _reorder
from madn.solver.best_moves import BestMoves, Window
from madn.solver.census import PARTS, Census
from madn.solver.components import Matrices, Solved
from madn.solver.footprint import can_stream, rows_at_hand
from madn.solver.graph import Pair
from madn.solver.id_order import Receiver, bands_in_room
from madn.solver.plan import BASE_MEMORY
from madn.solver.rows import WholeRows, row_values
from madn.solver.scratch import Scratch
from madn.solver.sides import TERMINAL
from madn.solver.zones import Zones

LEAST_ROOM = 1 << 22  # bytes
WHOLE = 16  # what would fit into the room this many times is loaded whole: reading many tiles takes time
ENCODING = 1 << 25  # bytes for blocks on their way into a database
VALUES = 0.2  # of the work, if best moves are found too: for the estimate of progress only


Words = NDArray[np.uint16]
WordsOf = Callable[[int, int, int], AbstractContextManager[Callable[[int, bool, Census | None], Words]]]


class Delivery:
    """Gives each solved component to a receiver once, and counts what a census asks for."""

    def __init__(self, scratch: Scratch, receiver: Receiver | None) -> None:
        self.scratch, self.plan, self.receiver = scratch, scratch.plan, receiver
        self.zones = Zones(self.plan.rules)
        self.representation = self.plan.representation
        self.at_hand: Solved = {}
        self.boards: dict[int, str] = {}  # by ID, the boards of the component whose values are reported
        self.wins: dict[str, float] = {}

    def pair(self, pair: Pair, at_hand: Solved, tell: Callable[[float], None]) -> dict[str, Any]:
        """Deliver a solved component, unless an earlier run did; return what was counted.

        What is `at_hand` in memory is not read from the scratch directory.
        """
        earlier = self.scratch.stored(pair)
        if earlier is not None:
            return earlier
        sides, census, done = _sides(pair), Census(), self.scratch.done(pair) or {}
        self.wins = dict(done["wins"])
        boards = [board for board in self.boards_of(pair) if str(board) not in self.wins]
        self.boards = {self.zones.game.rank(*board.masks): str(board) for board in boards}
        counted: dict[str, Any] = {"wins": self.wins}
        if done["choices"]:
            census.add(Census(**done["choices"]["census"]))
        self.at_hand = at_hand
        self._deliver(*sides[0], census, lambda part: tell(part / len(sides)))
        if len(sides) == 2:
            self._deliver(*sides[1], census, lambda part: tell((1 + part) / 2))
        self.at_hand = {}  # free the memory for the next component
        counted["census"] = asdict(census)
        if self.receiver:
            self.receiver.flush_to_disk()
        self.scratch.mark_stored(pair, counted)
        tell(1.0)
        return counted

    def has(self, pair: Pair) -> bool:
        """Whether the receiver has all positions of a component."""
        runs = [run for own, other in _sides(pair) for run in self.zones.runs_of(own, other)]
        return self.receiver is None or all(self.receiver.has(run.first, run.size) for run in runs)

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
                if self.plan.choices:
                    self.receiver.take_choices(run.first, run.size, run.first, np.zeros(run.size, np.uint16))
        self.receiver.flush()
        self.receiver.flush_to_disk()

    def boards_of(self, pair: Pair) -> list[Board]:
        """Those of the boards to report that are in this component."""
        squares = self.plan.rules.squares
        return [board for board in self.plan.boards() if {mask >> squares for mask in board.masks} == set(pair)]

    def _deliver(self, own: int, other: int, census: Census, tell: Callable[[float], None]) -> None:
        if self.plan.values or self.boards:
            self._deliver_values(own, other, census, tell)
        if not self.plan.best_moves:
            return
        if not can_stream(self.plan.rules, *self.scratch.pair_of(own, other)):
            self._deliver_words(own, other, self._words, census, tell)
        elif self.plan.choices:
            self._deliver_words(own, other, self._kept_words, None, tell)

    def _deliver_values(self, own: int, other: int, census: Census, tell: Callable[[float], None]) -> None:
        mine, theirs = self.scratch.sides[own], self.scratch.sides[other]
        counts, share = np.zeros(PARTS, np.int64), VALUES if self.plan.best_moves else 1.0
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
                del band, part  # free their memory before the next band is made
        census.histogram = [a + int(b) for a, b in zip(census.histogram, counts, strict=True)]

    def _deliver_words(
        self, own: int, other: int, source: WordsOf, census: Census | None, tell: Callable[[float], None]
    ) -> None:
        mine, theirs = self.scratch.sides[own], self.scratch.sides[other]
        receiver, room, classes = self.receiver, self._room(own, other, census is not None), len(mine.class_start) - 1
        with source(own, other, room) as words_of:
            if not receiver or not self.plan.choices:
                for number in range(classes):
                    words_of(number, True, census)
                    tell(VALUES + (1 - VALUES) * number / classes)
                return
            counting = census
            for band in bands_in_room(self.zones, mine, theirs, np.uint16, room):
                for number in range(classes):
                    wanted = counting is not None or band.wants(number)
                    band.put(number, words_of(number, wanted, counting), self.plan.threads)
                    tell(VALUES + (1 - VALUES) * band.done(number + 1))
                counting = None  # the next band goes through the same rows
                for part in band.parts():
                    receiver.take_choices(part.run.first, part.run.size, part.first, part.values)
                receiver.flush()
                del band, part  # as above

    @contextmanager
    def _kept_words(self, own: int, other: int, _room: int) -> Iterator[Callable[[int, bool, Census | None], Words]]:
        """Give the best moves of a class as they were found when the component was solved."""
        words = np.empty(row_values(self.scratch.sides[own], self.scratch.sides[other]), np.uint16)
        file = self.scratch.open_choices(self.scratch.pair_of(own, other))
        assert file is not None
        with file, ThreadPoolExecutor(self.plan.threads) as pool:
            rows = WholeRows(file, own, pool)

            def words_of(number: int, wanted: bool, census: Census | None) -> Words:
                if wanted:
                    rows.load(number, 0, words, None)
                return words

            yield words_of

    @contextmanager
    def _words(self, own: int, other: int, room: int) -> Iterator[Callable[[int, bool, Census | None], Words]]:
        """Give the best moves of a class, if wanted, as words of 2 bits a roll; classes must come in order."""
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

            def words_of(number: int, wanted: bool, census: Census | None) -> Words:
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
        """Give the rows of a class with the own side to move."""
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
        """How many bytes may be used for positions in the order of their IDs: most of what is left.

        An eighth is left for what the allocator keeps of the blocks that threads encode: without it, the four-piece
        game took 22.4 GB where 21.0 were planned.
        """
        taken = rows_at_hand(self.plan.rules, own, other, census, self.plan.threads) * self.representation.itemsize
        held = sum(matrices.nbytes for matrices in self.at_hand.values())
        left = self.plan.memory_bytes - BASE_MEMORY - ENCODING - held - taken
        return max(LEAST_ROOM, left // 8 * 7)


def _sides(pair: Pair) -> list[Pair]:
    """A component seen from either side, or only once if both are alike."""
    return [pair] if pair[0] == pair[1] else [pair, pair[::-1]]
