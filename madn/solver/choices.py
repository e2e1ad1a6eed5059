"""The best moves of a solved component on disk, row after row, and what they are worth."""

from collections.abc import Callable
from contextlib import ExitStack

import numpy as np
from numpy.typing import NDArray

from madn.board import Board
from madn.solver.best import BestMoves, Captures, Figures
from madn.solver.census import Census
from madn.solver.components import HALF, Matrices, whole_exit
from madn.solver.footprint import WINDOW
from madn.solver.kernels import census as kernels
from madn.solver.rows import WholeRows, row_values
from madn.solver.sides import TERMINAL, Side


def _fill(rows: "Window | Whole", captures: Captures, columns: int, first: int, end: int, threads: int) -> None:
    """Put into the slots of rows first..end-1 that are no position what comes of a capture there."""
    kernels.fill_captures(rows.L, rows.R, rows.start, rows.side.turned, *captures, columns, first, end, threads)


class Window:
    """Rows of a class and of the six before it, either side to move."""

    def __init__(self, rows: WholeRows, captures: Captures | None, threads: int) -> None:
        self.rows, self.captures, self.threads, self.side = rows, captures, threads, rows.side
        width = rows.others.size
        self.room = row_values(self.side, rows.others)
        self.start = np.zeros(self.side.size, np.int64)
        for number in range(len(self.side.class_start) - 1):
            begin, end = (int(n) for n in self.side.class_start[number : number + 2])
            self.start[begin:end] = number % WINDOW * self.room + np.arange(end - begin) * width
        self.L, self.R = (np.zeros(WINDOW * self.room, rows.file.dtype) for _ in range(2))

    def load(self, number: int) -> None:
        """Bring in the rows of a class, in the place of the class seven before."""
        if number < len(self.side.class_start) - 1:
            self.rows.load(number, number % WINDOW * self.room, self.L, self.R)
            if self.captures:
                first, end = (int(n) for n in self.side.class_start[number : number + 2])
                _fill(self, self.captures, self.rows.others.size, first, end, self.threads)


class Whole:
    """All rows of a component, either side to move."""

    def __init__(self, side: Side, others: Side, matrices: Matrices, captures: Captures | None, threads: int) -> None:
        self.side, self.L, self.R, self.start = side, matrices.L, matrices.R, matrices.start
        if captures:
            _fill(self, captures, others.size, 0, side.size, threads)

    def load(self, number: int) -> None:
        """Everything is here."""


class Choices:
    """Best moves of one side of a component: words of 2 bits a roll, for the rows of class after class."""

    def __init__(
        self,
        mine: Side,
        theirs: Side,
        representation: str,
        rows_of: Callable[[ExitStack, int, int, Captures | None], Window | Whole],
        threads: int,
    ) -> None:
        self.mine, self.theirs, self.representation, self.threads = mine, theirs, representation, threads
        self.stack = ExitStack()
        self.here = rows_of(self.stack, mine.finish, theirs.finish, Captures.of(theirs))
        self.beyond = [  # a move into the finish zone captures nothing
            rows_of(self.stack, zone, theirs.finish, None) for zone in mine.moves.exits if zone != TERMINAL
        ]
        won = whole_exit(TERMINAL, theirs.finish, theirs.size, representation, {})
        led_to = iter(self.beyond)
        exits = [won if zone == TERMINAL else next(led_to) for zone in mine.moves.exits]
        here = self.here
        self.best = BestMoves(mine, theirs, here.L, here.R, here.start, [(x.L, x.R, x.start) for x in exits])
        self.words = np.empty(row_values(mine, theirs), np.uint16)

    def close(self) -> None:
        """Let go of the files."""
        self.stack.close()

    def rows(self, number: int, wanted: bool, census: Census | None) -> NDArray[np.uint16]:
        """The words of a class of own states; classes must come in order. A census counts them."""
        for rows in (self.here, *self.beyond):
            rows.load(number)
        if wanted:
            found = self.best.choose(number, self.threads, self.words)
            if census:
                self._count(census, found)
        return self.words

    def _count(self, census: Census, found: Figures) -> None:
        unit = 2.0 * HALF[self.representation]
        new = Census(decisions=found.decisions, unique=found.unique, cost=found.margins / unit)
        margin, row, column, roll = found.margin
        if margin > 0:
            squares = self.mine.rules.squares
            own, other = (
                int(side.masks[state]) | side.finish << squares
                for side, state in ((self.mine, row), (self.theirs, column))
            )
            new.largest_cost = margin / unit
            new.largest_cost_board, new.largest_cost_roll = str(Board.from_masks(own, other, self.mine.rules)), roll
        census.add(new)
