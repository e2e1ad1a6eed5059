"""A component while it is being solved: the interface, and the kind that is in memory. `streamed.py` has the other."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn.board import Board
from madn.solver import _packing, _reorder, kernels
from madn.solver._sweep import Sweeper
from madn.solver.choices import Choices
from madn.solver.footprint import can_stream
from madn.solver.graph import Pair
from madn.solver.numbers import Representation, Values
from madn.solver.sides import TERMINAL, Side
from madn.solver.strips import StripFile
from madn.solver.tables import LANES, SweepTables

SLICE = 30_000_000  # values between two checks for progress and Ctrl-C: well under a second


@dataclass(frozen=True)
class Matrices:
    """The values of all pairs (row state, column state) in the row player's view, minus one half, in stored units.

    `L[start[a] + b]`: a is to move. `R[start[a] + b]`: b is to move. Row a is kept from column `first[a]` on; earlier
    columns are found with rows and columns exchanged, and have the opposite sign.
    """

    L: Values
    R: Values
    start: NDArray[np.int64]
    first: NDArray[np.int32]

    @classmethod
    def full(cls, rows: int, columns: int, representation: Representation) -> "Matrices":
        """Matrices of zeros that keep every column of every row."""
        L, R = (representation.zeros(rows * columns + LANES) for _ in range(2))
        return cls(L, R, np.arange(rows, dtype=np.int64) * columns, np.zeros(rows, np.int32))

    @classmethod
    def mirrored(cls, side: Side, representation: Representation) -> "Matrices":
        """Matrices of zeros for a side against itself: a row begins with the first column of its own pips."""
        first = side.class_start[side.pips]
        ends = np.cumsum(side.size - first.astype(np.int64))
        L, R = (representation.zeros(int(ends[-1]) + LANES) for _ in range(2))
        return cls(L, R, ends - side.size, first)

    @classmethod
    def won(cls, size: int, representation: Representation) -> "Matrices":
        """The row of a side that has won, against `size` states."""
        matrices = cls.full(1, size, representation)
        matrices.L[:] = matrices.R[:] = representation.half
        return matrices

    @property
    def nbytes(self) -> int:
        """The memory they take."""
        return int(self.L.nbytes + self.R.nbytes)

    def transposed(self, columns: int, representation: Representation, threads: int) -> "Matrices":
        """The same values with the other side as rows; these must be full matrices with that many columns."""
        rows = len(self.start)
        other = Matrices.full(columns, rows, representation)
        _reorder.transpose(self.R, rows, columns, other.L, threads=threads)
        _reorder.transpose(self.L, rows, columns, other.R, threads=threads)
        return other

    def unfolded(self, representation: Representation, threads: int) -> "Matrices":
        """Full matrices made from these mirrored ones."""
        square = Matrices.full(len(self.start), len(self.start), representation)
        _reorder.unfold(self.L, self.R, self.start, self.first, square.L, square.R, threads)
        return square


Solved = Mapping[Pair, Matrices]  # matrices of solved components, by the finish zones of rows and columns


class Component(ABC):
    """A pair of finish zones while it is being solved.

    With `choices`, best moves are found when it is examined. If its values are not kept, because nothing needs them,
    each strip is examined right after it is computed, and `wins` gets the values of the boards that are reported.
    """

    sweeper: Sweeper
    tables: SweepTables
    L: Values
    R: Values

    def __init__(self, rows: Side, columns: Side, representation: Representation, threads: int) -> None:
        self.rows, self.columns, self.representation, self.threads = rows, columns, representation, threads
        self.mirrored = rows.finish == columns.finish
        self.strips = len(rows.class_start) - 1
        self.choices: Choices | None = None
        self.keeps_values = True
        self.boards: list[Board] = []
        self.wins: dict[str, float] = {}
        self.examined: list[Any] = []  # what the kernel found, strip by strip

    def find_choices(self, choices: Choices, keeps_values: bool, boards: list[Board]) -> None:
        """Find best moves too; keep all values, or else note only those of some boards."""
        self.choices, self.keeps_values, self.boards = choices, keeps_values, boards

    def begin_pass(self, examine: bool, keep: bool) -> None:
        """Do what comes before the first strip of a pass."""
        if self.choices is not None and (examine or (keep and not self.keeps_values)):
            self.choices.begin()
            self.examined = []

    def after_strip(self, strip: int, examine: bool, keep: bool) -> None:
        """Do what comes after a strip has been computed or examined, while its values are in memory."""
        if self.choices is None:
            return
        if examine:
            self.choices.find(self.sweeper, strip)
        elif keep and not self.keeps_values:
            self.examined.append(self.sweeper.run(strip, strip + 1, self.threads, True))
            self.choices.find(self.sweeper, strip)
            self._note_wins(strip)

    def _note_wins(self, strip: int) -> None:
        """Note the values of the boards that are in a strip, rounded as they would be stored."""
        for board in self.boards:
            own, other = (mask & ((1 << board.rules.squares) - 1) for mask in board.masks)
            column_moves = board.masks[0] >> board.rules.squares != self.rows.finish
            states = (other, own) if column_moves else (own, other)
            row, column = (
                int(side.index(np.array([state], np.uint64))[0])
                for side, state in zip((self.rows, self.columns), states, strict=True)
            )
            if self.mirrored and self.columns.pips[column] < self.rows.pips[row]:
                row, column, column_moves = column, row, not column_moves
            if self.rows.pips[row] == strip:
                values, start = (self.R, self.tables.start_r) if column_moves else (self.L, self.tables.start_l)
                value = values[start[row] + column : start[row] + column + 1].copy()
                _packing.round_values(value, 1)
                won = float(-value[0] if column_moves else value[0])
                self.wins[str(board)] = self.representation.probability(won + self.representation.shift)

    @abstractmethod
    def strip_values(self) -> NDArray[np.int64]:
        """How many values each strip has: what a pass over it costs."""

    @abstractmethod
    def passes(self, examine: bool, skip_below: float = 0.0, keep: bool = False) -> Iterator[tuple[int, Any]]:
        """Sweep, or examine the values; yields the strip it has come to and what the kernel found since the last one.

        The values of a sweep need to be available afterwards only with `keep`.
        """

    @abstractmethod
    def settle(self) -> None:
        """Round the values of a sweep as if they were stored, so that the bits are the same whether they are or not."""

    @abstractmethod
    def matrices(self, both: bool) -> dict[Pair, Matrices]:
        """The solved values, as far as they are in memory: whole matrices by the finish zones of rows and columns.

        `both` asks for matrices with either side as rows. Otherwise they are those that later components and the
        solution read: nothing moves into an empty finish zone, so matrices with that side as rows are needed only when
        both are empty.
        """

    @abstractmethod
    def store(self, file: StripFile, solved: Solved) -> None:
        """Write the solved values to a file of strips; `solved` contains what `matrices(both=True)` returned."""

    def begin(self) -> dict[str, Any] | None:
        """Continue the work of an earlier run, if there is any; return what it noted last."""
        return None

    def note(self, progress: Mapping[str, Any]) -> None:  # noqa: B027  (nothing to do in memory)
        """Record how far the work has come."""

    def checkpoint(self, progress: Mapping[str, Any]) -> None:  # noqa: B027
        """Record what the next sweep starts from."""

    def close(self) -> None:  # noqa: B027
        """Close files."""


class InMemory(Component):
    """A component whose matrices are in memory."""

    def __init__(
        self, rows: Side, columns: Side, representation: Representation, solved: Solved, threads: int = 1
    ) -> None:
        super().__init__(rows, columns, representation, threads)
        if self.mirrored:
            self.values = Matrices.mirrored(rows, representation)
        else:
            self.values = Matrices.full(rows.size, columns.size, representation)
        self.L, self.R = self.values.L, self.values.R
        size = max(rows.size, columns.size)
        row_exits = [whole_exit(f, columns.finish, size, representation, solved) for f in rows.moves.exits]
        column_starts, column_exits = self.column_exits(solved, size)
        starts = [(m.start, m.start) for m in (self.values, *row_exits)]
        self.tables = SweepTables.of(rows, columns, starts[0], starts[1:], column_starts, refill=False)
        self.sweeper = kernels.SWEEPERS[kernels.build](
            self.tables,
            self.L,
            self.R,
            [(m.L, m.R) for m in row_exits],
            column_exits,
        )

    def column_exits(self, solved: Solved, size: int) -> tuple[list[NDArray[np.int64]], list[tuple[Values, Values]]]:
        """What the column player's moves into other finish zones lead to: where each row begins, and the values."""
        other, zones = self.rows.finish, self.columns.moves.exits
        exits = [whole_exit(zone, other, size, self.representation, solved) for zone in zones]
        return [m.start for m in exits], [(m.L, m.R) for m in exits]

    def strip_values(self) -> NDArray[np.int64]:
        """How many values each strip has."""
        lengths = self.columns.size - self.values.first.astype(np.int64)
        total = np.concatenate([[0], np.cumsum(lengths)])
        return np.diff(total[self.rows.class_start]) * 2

    def passes(self, examine: bool, skip_below: float = 0.0, keep: bool = False) -> Iterator[tuple[int, Any]]:
        """Sweep or examine, in slices, so that Ctrl-C is noticed. All values are kept, whatever `keep` says."""
        work = np.cumsum(self.strip_values())
        first = 0
        one_by_one = keep and not examine and not self.keeps_values
        self.begin_pass(examine, keep)
        while first < self.strips:
            before = work[first - 1] if first else 0
            end = first + 1 if one_by_one else max(first + 1, int(np.searchsorted(work, before + SLICE, side="right")))
            found = self.sweeper.run(first, end, self.threads, examine, skip_below)
            for strip in range(first, end):
                self.after_strip(strip, examine, keep)
            yield end, found
            first = end

    def settle(self) -> None:
        """Round all values."""
        for values in (self.values.L, self.values.R, self.sweeper.after_capture):
            _packing.round_values(values, self.threads)

    def matrices(self, both: bool) -> dict[Pair, Matrices]:
        """The solved values with either side as rows; with `both`, those of the largest kind only as they are."""
        f, g, values = self.rows.finish, self.columns.finish, self.values
        if both and self.too_large_to_transpose:
            return {(f, g): values}
        if self.mirrored:
            return {(f, g): values.unfolded(self.representation, self.threads) if both or f else values}
        other = values.transposed(self.columns.size, self.representation, self.threads)
        return {(f, g): values, (g, f): other} if both or f else {(g, f): other}

    @property
    def too_large_to_transpose(self) -> bool:
        """Whether a second copy of the matrices would decide how much memory a solve takes."""
        return not self.mirrored and can_stream(self.rows.rules, self.rows.finish, self.columns.finish)

    def store(self, file: StripFile, solved: Solved) -> None:
        """Write the strips: those of a mirrored component as they are, others with the columns' side as rows."""
        strips = range(file.tiling.strips)
        if self.too_large_to_transpose:
            file.write_strips(self._transposed(number) for number in strips)
            return
        source = self.values if self.mirrored else solved[self.columns.finish, self.rows.finish]
        file.write_strips((source.L, source.R, source.start) for _ in strips)

    def _transposed(self, number: int) -> tuple[Values, Values, NDArray[np.int64]]:
        """The columns of a class as rows, and where each begins."""
        height, width = self.rows.size, self.columns.size
        begin, end = (int(n) for n in self.columns.class_start[number : number + 2])

        def transposed(values: Values) -> Values:
            part = np.ascontiguousarray(values[: height * width].reshape(height, width)[:, begin:end]).ravel()
            out = self.representation.zeros(len(part) + LANES)  # a class may be empty
            _reorder.transpose(part, height, end - begin, out, threads=self.threads)
            return out

        start = (np.arange(width, dtype=np.int64) - begin) * height
        return transposed(self.values.R), transposed(self.values.L), start  # L and R change places with the sides


def whole_exit(finish: int, other: int, size: int, representation: Representation, solved: Solved) -> Matrices:
    """The values that a move into another finish zone leads to; the full zone is a win against all `size` states."""
    return Matrices.won(size, representation) if finish == TERMINAL else solved[finish, other]
