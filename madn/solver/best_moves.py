"""The best moves of a solved component, row after row, and what they are worth."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from madn.board import Board
from madn.solver import kernels
from madn.solver.census import Census
from madn.solver.footprint import WINDOW
from madn.solver.numbers import Representation, Values
from madn.solver.rows import WholeRows
from madn.solver.sides import Side
from madn.solver.strips import slot_starts
from madn.solver.tables import landing_squares, option_offsets


class Captures(NamedTuple):
    """For each square q: the states `holder[first[q]:first[q + 1]]` hold it, and become `captured` without it."""

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
    """Finds the best moves of a pair of finish zones in the view of the row player, one strip after the other.

    `start` says where each row begins in L and R; `exits` has (L, R, start) for each finish zone that the row player
    can move to, in the order of `rows.moves.exits`. All rows have every column. Only the rows of the current strip and
    of the six before it need to be in memory.
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
        self.representation = representation

    def fill_captures(self, strip: int, threads: int) -> None:
        """Fill the slots of a strip where both sides share a square, as the moves of later strips need them."""
        first, end = self.rows.class_start[strip : strip + 2]
        kernels.FILL_CAPTURES[kernels.best_moves_build](
            self.L, self.R, self.start, self.rows.facing, *self.captures, self.columns.size, first, end, threads
        )

    def choose(self, strip: int, threads: int, words: NDArray[np.uint16] | None = None) -> Census:
        """Count the decisions of a strip; `words` gets its choices, a word for each row and column, 2 bits a roll.

        The kernel counts in stored units, so the sum of all margins, best minus second-best, is exact for fixed32.
        """
        first, end = self.rows.class_start[strip : strip + 2]
        moves, unit = self.rows.moves, self.representation.unit
        decisions, unique, margins, (margin, row, column, roll) = kernels.CHOOSE[kernels.best_moves_build](
            self.bases, self.start, self.rows.facing, moves.first, moves.kind, self.offsets, self.lands,
            self.columns.masks, first, end, self.representation.tie, threads, words,
        )  # fmt: skip
        census = Census(decisions=decisions, unique=unique, cost=margins / unit)
        if margin > 0:
            board = Board.from_masks(self.rows.whole_masks[row], self.columns.whole_masks[column], self.rows.rules)
            census.largest_cost, census.largest_cost_board, census.largest_cost_roll = margin / unit, str(board), roll
        return census


class Window:
    """The rows of a class and of the six before it, either side to move."""

    def __init__(self, rows: WholeRows) -> None:
        self.rows, self.classes = rows, len(rows.side.class_start) - 1
        self.start, self.room = slot_starts(rows.side, rows.others, np.zeros(self.classes, np.int64), WINDOW)
        self.L, self.R = (np.zeros(WINDOW * self.room, rows.file.dtype) for _ in range(2))

    def load(self, number: int) -> None:
        """Load the rows of a class, if there is one with this number, in the place of the class seven before."""
        if number < self.classes:
            self.rows.load(number, number % WINDOW * self.room, self.L, self.R)
