"""The best moves of a solved component, row after row, and what they are worth."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from madn.board import Board
from madn.solver import kernels
from madn.solver.census import Census
from madn.solver.components import Matrices
from madn.solver.footprint import WINDOW
from madn.solver.numbers import Representation, Values
from madn.solver.rows import WholeRows, row_values
from madn.solver.sides import TERMINAL, Side
from madn.solver.tables import landing_squares, option_offsets


class Margin(NamedTuple):
    """Best less second-best of a decision, and which one; -1 if there is none."""

    value: float
    row: int
    column: int
    roll: int


class Figures(NamedTuple):
    """What was found in some rows, over their positions with the row player to move; values are in stored units.

    A decision is a position and a roll with at least two moves; it is unique if no other move is within the tie of the
    best. A margin is the best less the second-best: `margins` is the sum of all of them, `margin` the largest.
    """

    decisions: int
    unique: int
    margins: float  # an exact integer for fixed32
    margin: Margin

    def merged(self, later: "Figures") -> "Figures":
        """Of these rows and later ones; of equal extremes the earlier is kept."""
        return Figures(
            self.decisions + later.decisions,
            self.unique + later.unique,
            self.margins + later.margins,
            later.margin if later.margin.value > self.margin.value else self.margin,
        )


class Captures(NamedTuple):
    """For each square q: the states `holder[first[q]:first[q + 1]]` hold it, and are `captured` without that piece."""

    first: NDArray[np.int32]
    holder: NDArray[np.int32]
    captured: NDArray[np.int32]

    @classmethod
    def of(cls, side: Side) -> "Captures":
        """The table of a side."""
        first, holder, captured = [0], [], []
        for with_piece in side.boxed_with.T:
            order = np.argsort(with_piece)[np.count_nonzero(with_piece < 0) :]  # ascending; -1: no such state
            holder.append(with_piece[order])
            captured.append(side.boxed[order])
            first.append(first[-1] + len(order))
        return cls(np.array(first, np.int32), np.concatenate(holder), np.concatenate(captured))


class BestMoves:
    """A pair of finish zones in the view of the row player, whose strips are looked at one after the other.

    `start` says where each row begins in L and R, `exits` are (L, R, start) for each finish zone that the row player
    can move to, in the order of `rows.moves.exits`: whole rows, in which every column is present. Only the rows of a
    strip and of the six before it need to be there.
    """

    def __init__(
        self,
        rows: Side,
        columns: Side,
        L: Values,
        R: Values,
        start: NDArray[np.int64],
        exits: list[tuple[Values, Values, NDArray[np.int64]]],
        representation: Representation,
    ) -> None:
        self.rows, self.columns, self.L, self.R, self.start = rows, columns, L, R, start
        self.captures = Captures.of(columns)
        self.bases = [(L, R), *((left, right) for left, right, _ in exits)]
        self.offsets = option_offsets(rows, start, [begins for _, _, begins in exits])
        self.lands = landing_squares(rows, facing=True) if rows.rules.must_capture else None
        self.tie = representation.tie

    def fill_captures(self, strip: int, threads: int) -> None:
        """Fill the slots of a strip in which both stand on one square, as the moves of later strips want them."""
        first, end = self.rows.class_start[strip : strip + 2]
        kernels.FILL_CAPTURES[kernels.build](
            self.L, self.R, self.start, self.rows.facing, *self.captures, self.columns.size, first, end, threads
        )

    def choose(self, strip: int, threads: int, words: NDArray[np.uint16] | None = None) -> Figures:
        """The figures of a strip, and its choices: 2 bits for each roll, a word for each row and column."""
        first, end = self.rows.class_start[strip : strip + 2]
        moves = self.rows.moves
        decisions, unique, margins, margin = kernels.CHOOSE[kernels.build](
            self.bases, self.start, self.rows.facing, moves.first, moves.kind, self.offsets, self.lands,
            self.columns.masks, first, end, self.tie, threads, words,
        )  # fmt: skip
        return Figures(decisions, unique, margins, Margin(*margin))


def _fill(rows: "Window | Whole", captures: Captures, columns: int, first: int, end: int, threads: int) -> None:
    """Put into the slots of rows first..end-1 that are no position what comes of a capture there."""
    kernels.FILL_CAPTURES[kernels.build](
        rows.L, rows.R, rows.start, rows.side.facing, *captures, columns, first, end, threads
    )


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


class MoveWords:
    """The best moves of one side of a component as words of 2 bits a roll, for the rows of class after class."""

    def __init__(
        self,
        mine: Side,
        theirs: Side,
        representation: Representation,
        rows_of: Callable[[ExitStack, int, int, Captures | None], Window | Whole],
        threads: int,
    ) -> None:
        self.mine, self.theirs, self.representation, self.threads = mine, theirs, representation, threads
        self.stack = ExitStack()
        self.here = here = rows_of(self.stack, mine.finish, theirs.finish, Captures.of(theirs))
        self.exits: list[Window | Whole] = []  # a move into the finish zone captures nothing
        bases: list[tuple[Values, Values, NDArray[np.int64]]] = []
        for zone in mine.moves.exits:
            if zone == TERMINAL:
                won = Matrices.won(theirs.size, representation)
                bases.append((won.L, won.R, won.start))
            else:
                rows = rows_of(self.stack, zone, theirs.finish, None)
                self.exits.append(rows)
                bases.append((rows.L, rows.R, rows.start))
        self.best = BestMoves(mine, theirs, here.L, here.R, here.start, bases, representation)
        self.words = np.empty(row_values(mine, theirs), np.uint16)

    def close(self) -> None:
        """Let go of the files."""
        self.stack.close()

    def rows(self, number: int, wanted: bool, census: Census | None) -> NDArray[np.uint16]:
        """The words of a class of own states; classes must come in order. A census counts them."""
        for rows in (self.here, *self.exits):
            rows.load(number)
        if wanted:
            found = self.best.choose(number, self.threads, self.words)
            if census:
                self._count(census, found)
        return self.words

    def _count(self, census: Census, found: Figures) -> None:
        unit = self.representation.unit
        new = Census(decisions=found.decisions, unique=found.unique, cost=found.margins / unit)
        margin, row, column, roll = found.margin
        if margin > 0:
            board = Board.from_masks(self.mine.whole_mask(row), self.theirs.whole_mask(column), self.mine.rules)
            new.largest_cost, new.largest_cost_board, new.largest_cost_roll = margin / unit, str(board), roll
        census.add(new)
