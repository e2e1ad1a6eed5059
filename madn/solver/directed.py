"""Directed sweeps of a component larger than memory, which find its lower or its upper bounds.

They work as in `bounds.py`, but strips and the values that captures lead to pass through memory as in `streamed.py`.
Every row has all columns, even if both sides are alike.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from madn.errors import PlanError
from madn.solver.after_capture import AfterCapture
from madn.solver.bounds import ROUNDING, margin_shares
from madn.solver.components import Solved, whole_exit
from madn.solver.footprint import LEFT_SLOTS, RIGHT_SLOTS
from madn.solver.numbers import Representation, Values
from madn.solver.rows import WholeRows, row_values
from madn.solver.sides import Side
from madn.solver.streamed import ColumnWindow, ColumnWindows, RowWindow, do_all, do_later, streaming_sweeper
from madn.solver.strips import Starts, StripFile, slot_starts
from madn.solver.tables import LANES

Strip = Callable[[int], None]  # what is done with a strip once it is computed

# How far from the solved values the first try begins, as a probability, and how much that grows with each piece on the
# main field. With four pieces a narrow margin that grows as in `bounds.py` passes in no try: where all pieces are far
# from home, a side brings several into play before one is captured. So this one hardly grows, and has to be wide to
# shrink by more than the residual with each capture. A try that fails costs more than the sweeps that close the gap.
FIRST_MARGIN, GROWTH = 2**-11, 0.002
WIDER = 32  # the margin of the next try is this many times as large
TRIES = 4  # the last begins with 0 and 1, which are bounds in any case


class DirectedStream:
    """Directed sweeps, downwards (-1) or upwards (+1), from bounds of the components that moves lead to.

    Bounds that the row player's moves lead to are in memory, as `row_values`, or in `row_files`. Those that the column
    player's moves lead to are in `column_files`; in that player's view they are bounds of the other kind. Neither side
    may be able to win with its next move.
    """

    def __init__(
        self,
        rows: Side,
        columns: Side,
        representation: Representation,
        direction: int,
        row_values: Solved,
        row_files: Mapping[int, StripFile],
        column_files: Mapping[int, StripFile],
        path: Path,
        threads: int,
    ) -> None:
        self.rows, self.columns, self.representation = rows, columns, representation
        self.direction, self.threads, self.strips, self.sweeps = direction, threads, len(rows.class_start) - 1, 0
        self._written = 0  # how often the values that captures lead to were written
        first = np.zeros(self.strips, np.int64)
        (left, room), (right, _) = (slot_starts(rows, columns, first, slots) for slots in (LEFT_SLOTS, RIGHT_SLOTS))
        self.starts: Starts = left, right
        self.L, self.R = (representation.zeros(slots * room + LANES) for slots in (LEFT_SLOTS, RIGHT_SLOTS))
        self.exits = ColumnWindows(rows, columns, column_files, whole=True)
        self.row_windows = [RowWindow(row_files[f], rows, whole=True) for f in rows.moves.exits if f in row_files]
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix="madn-load")
        self.captured = AfterCapture(rows, columns, representation.dtype, path, self.pool, threads, whole=True)
        size = max(rows.size, columns.size)
        there = [f for f in rows.moves.exits if f not in row_files]
        matrices = [whole_exit(f, columns.finish, size, representation, row_values) for f in there]
        self.tables, self.sweeper = streaming_sweeper(
            rows,
            columns,
            (self.L, self.R),
            self.starts,
            self.row_windows,
            matrices,
            self.exits,
            self.captured,
            whole=True,
        )

    def close(self) -> None:
        """Stop the threads, close the files, and remove those with the values that captures lead to."""
        self.pool.shutdown(wait=True, cancel_futures=True)
        self.captured.close()
        for number in range(2):
            self.captured.file(number).unlink(missing_ok=True)

    def run(self, solved: StripFile, until: float, last: Strip) -> Iterator[float]:
        """Sweep from near the solved values until those that captures lead to move by at most `until`; then once more.

        `last` is called for each strip of the last sweep. Yields the fraction of the current sweep that is done.
        """
        margin = FIRST_MARGIN * self.representation.unit
        for _ in range(TRIES):
            self._begin(solved, margin)
            change = yield from self._sweep()
            if not self.captured.moved(self._written, -self.direction):
                break
            margin *= WIDER
        else:
            raise PlanError(f"no bounds were found in {TRIES} tries, up to {margin / self.representation.unit:g} off")
        while change > until:
            change = yield from self._sweep()
        yield from self._sweep(last)

    def _begin(self, solved: StripFile, margin: float) -> None:
        """Let captures lead to the solved values minus or plus a margin, in the column player's view."""
        rows, columns, half = self.rows, self.columns, self.representation.half
        whole = WholeRows(solved, rows.finish, self.pool)
        L, R = (np.empty(row_values(rows, columns), self.representation.dtype) for _ in range(2))
        shares = margin_shares(rows, columns, GROWTH)
        self.captured.sums, self._written = None, 1
        self.captured.begin(0, write=True)
        for strip in range(self.strips):
            first, end = (int(n) for n in rows.class_start[strip : strip + 2])
            boxed = rows.boxed[(rows.boxed >= first) & (rows.boxed < end)] - first
            if len(boxed):
                whole.load(strip, 0, L, R)
                away = self.direction * np.ceil(margin * np.array([next(shares) for _ in boxed]))
                both = [-matrix[: (end - first) * columns.size].reshape(-1, columns.size)[boxed] for matrix in (R, L)]
                near = [np.clip(one - away, -half, half).astype(one.dtype) for one in both]
                self.captured.put(strip, np.stack(near, axis=-1))
            self.captured.let_go(strip, rounded=False)
        self.captured.finish()

    def _sweep(self, last: Strip | None = None) -> Generator[float, None, float]:
        """Sweep once; return the largest change of the values that captures lead to."""
        windows: list[RowWindow | ColumnWindow] = [*self.row_windows, *self.exits.windows]
        change = 0.0
        self.captured.begin(self._written, write=last is None)
        for strip in range(self.strips):
            self.captured.load(strip)
            do_all(self.pool, (job for window in windows for job in window.loading(strip)))
            if strip + 1 < self.strips:
                do_later(self.pool, [window.announce for window in windows], strip + 1)
            self.tables.place_exits(self.exits.starts(strip))
            self.sweeper.set_column_exits(self.exits.matrices, int(self.rows.class_start[strip]))
            found = self.sweeper.run(strip, strip + 1, self.threads, False, 0.0, self.direction * ROUNDING)
            change = max(change, found[0])
            if last is not None:
                last(strip)
            self.captured.let_go(strip, rounded=False)
            yield (strip + 1) / self.strips
        self.sweeps += 1
        if last is None:
            self.captured.finish()
            self._written += 1
        return change

    def first_places(self, strip: int) -> NDArray[np.int64]:
        """Where each row begins in an array that has only the rows of a strip."""
        return (np.arange(self.rows.size, dtype=np.int64) - int(self.rows.class_start[strip])) * self.columns.size

    def values(self, strip: int) -> tuple[Values, Values]:
        """The values of a strip that has just been computed, row after row: L and R."""
        first, end = (int(n) for n in self.rows.class_start[strip : strip + 2])
        size = (end - first) * self.columns.size
        if size == 0:
            return self.L[:0].reshape(0, self.columns.size), self.R[:0].reshape(0, self.columns.size)

        def part(matrix: Values, start: NDArray[np.int64]) -> Values:
            begin = int(start[first])
            return matrix[begin : begin + size].reshape(-1, self.columns.size)

        return part(self.L, self.starts[0]), part(self.R, self.starts[1])
