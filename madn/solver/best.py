"""The best moves of a pair of finish zones that is solved, strip by strip, and how much hangs on them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from madn.solver.components import Values, offsets
from madn.solver.kernels import census as kernels
from madn.solver.sides import Side

TIE = {"fixed32": 1.0, "float64": 1e-12}  # in stored units: those of `madn.store.blocks.TIES`


class Margin(NamedTuple):
    """Best less second-best of a decision, and which one; -1 if there is none."""

    value: float
    row: int
    column: int
    roll: int


class Residual(NamedTuple):
    """|6 V - sum of the best successors|, and where; -1 if there is none."""

    value: float
    row: int
    column: int


class Figures(NamedTuple):
    """What was found in some rows, over their positions with the row player to move; values are in stored units.

    A decision is a position and a roll with at least two moves; it is unique if no other move is within the tie of the
    best. A margin is the best less the second-best: `margins` is the sum of all of them, `margin` the largest.
    """

    positions: int
    decisions: int
    unique: int
    margins: float  # an exact integer for fixed32
    margin: Margin
    residual: Residual

    def merged(self, later: "Figures") -> "Figures":
        """Of these rows and later ones; of equal extremes the earlier is kept."""
        return Figures(
            self.positions + later.positions,
            self.decisions + later.decisions,
            self.unique + later.unique,
            self.margins + later.margins,
            later.margin if later.margin.value > self.margin.value else self.margin,
            later.residual if later.residual.value > self.residual.value else self.residual,
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
    ) -> None:
        self.rows, self.columns, self.L, self.R, self.start = rows, columns, L, R, start
        self.captures = Captures.of(columns)
        self.bases = [(L, R), *((left, right) for left, right, _ in exits)]
        self.offsets = offsets(rows, start, [begins for _, _, begins in exits])
        self.tie = TIE["float64" if L.dtype == np.float64 else "fixed32"]

    def fill_captures(self, strip: int, threads: int) -> None:
        """Fill the slots of a strip in which both stand on one square, as the moves of later strips want them."""
        first, end = self.rows.class_start[strip : strip + 2]
        kernels.fill_captures(
            self.L, self.R, self.start, self.rows.turned, *self.captures, self.columns.size, first, end, threads
        )

    def choose(self, strip: int, threads: int, words: NDArray[np.uint16] | None = None) -> Figures:
        """The figures of a strip, and its choices: 2 bits for each roll, a word for each row and column."""
        first, end = self.rows.class_start[strip : strip + 2]
        moves = self.rows.moves
        positions, decisions, unique, margins, margin, residual = kernels.choose(
            self.bases, self.start, self.rows.turned, moves.first, moves.kind, self.offsets, self.columns.masks,
            first, end, self.tie, threads, words,
        )  # fmt: skip
        return Figures(positions, decisions, unique, margins, Margin(*margin), Residual(*residual))
