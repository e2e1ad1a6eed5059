"""A component larger than memory: a few of its strips are there at a time.

A strip is computed from the six strips before it in the same sweep, from what captures lead to, which the kernel keeps
in memory, and from other finish zones, whose values pass through memory as well where they are many. Nothing else of a
sweep is needed for the next one. So strips are written to their file only in sweeps that may be the last, and what
captures lead to is all that a checkpoint holds.

| file | holds |
|---|---|
| `NN.values` or `NN.work` | the strips, as of the last sweep that kept them |
| `NN.captures0`, `NN.captures1` | what captures lead to after an even or odd number of sweeps |
| `NN.state` | after which sweep the work goes on, and checksums |
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn.machine import flush
from madn.rules import DIE
from madn.solver import _packing, kernels
from madn.solver.components import Component, InMemory, Matrices, Solved, whole_exit
from madn.solver.figures import damaged, read_figures, write_figures, writing_to
from madn.solver.footprint import SLOTS
from madn.solver.graph import Pair
from madn.solver.numbers import Representation, Values
from madn.solver.rows import WholeRows, row_values
from madn.solver.sides import Side
from madn.solver.strips import LEFT, RIGHT, StripFile, Tiling, checksum, slot_starts
from madn.solver.tables import LANES, SweepTables, exits_of_a_six, options_of_a_six


class RowWindow:
    """The values that the row player's moves into one further finish zone lead to, as far as a strip can reach.

    The file has that zone's states as rows: those with a few pips less than the strip are needed, other ones after a 6
    (matrix L) than otherwise (R). So each matrix has a window of its own, with one class more, for the next strip.
    """

    def __init__(self, file: StripFile, rows: Side) -> None:
        self.file, self.tiling = file, file.tiling
        zone = self.tiling.rows
        there = rows.moves.kind == 1 + rows.moves.exits.index(zone.finish)
        pips = np.repeat(rows.pips, np.diff(rows.moves.first[::DIE]))
        less = np.where(there, pips - zone.pips[np.where(there, rows.moves.row, 0)], 0)
        sixes = options_of_a_six(rows)
        first = self.tiling.columns.class_start[: self.tiling.strips]
        self.halves = []  # (LEFT or RIGHT, how many pips less the nearest class has, where rows begin, values)
        for half, leads in ((LEFT, there & sixes), (RIGHT, there & ~sixes)):
            nearest, furthest = (int(less[leads].min()), int(less[leads].max())) if leads.any() else (1, 0)
            start, room = slot_starts(zone, self.tiling.columns, first, furthest - nearest + 2)
            values = np.zeros((furthest - nearest + 2) * room + LANES, file.dtype)
            self.halves.append((half, nearest, start, values))

    @property
    def starts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where each row begins in L and in R."""
        return self.halves[0][2], self.halves[1][2]

    @property
    def matrices(self) -> tuple[Values, Values]:
        """L and R."""
        return self.halves[0][3], self.halves[1][3]

    def announce(self, strip: int) -> None:
        """Say that a strip will be loaded soon."""
        for half, nearest, _, _ in self.halves:
            if 0 <= strip - nearest < self.tiling.strips:
                self.file.announce(strip - nearest, range(strip, self.tiling.classes), half)

    def load(self, strip: int) -> None:
        """Bring in what the strip needs beyond what the strip before it needed."""
        kept = range(strip, self.tiling.classes)
        for half, nearest, start, values in self.halves:
            number = strip - nearest
            if 0 <= number < self.tiling.strips:
                self.tiling.unpack_half(number, self.file.read(number, kept, half), values, start, kept)


class ColumnWindow:
    """The values that the column player's moves into one further finish zone lead to, for the rows of one strip.

    The file has that zone's states as rows and the component's rows as columns: a column of its tiles is needed. In a
    mirrored component a strip has columns of its own pips and more, which lead to states of at most six less. Where
    no 6 leads, only values with the other side to move are needed: the others are not read.
    """

    def __init__(self, file: StripFile, stride: int, mirrored: bool, sixes: bool) -> None:
        self.file, self.tiling, self.mirrored, self.sixes = file, file.tiling, mirrored, sixes
        size = self.tiling.rows.size
        self.start = np.arange(size, dtype=np.int64) * stride
        self.slabs = []
        for _ in range(2):
            right = np.zeros(size * stride + LANES, file.dtype)
            self.slabs.append((np.zeros_like(right) if sixes else right, right))

    def announce(self, strip: int) -> None:
        """Say that the columns of a strip will be loaded soon."""
        for c in self._strips(strip):
            self.file.announce(c, range(strip, strip + 1), None if self.sixes else RIGHT)

    def _strips(self, strip: int) -> range:
        return range(max(0, strip - DIE) if self.mirrored else 0, self.tiling.strips)

    def load(self, strip: int) -> None:
        """Bring in the columns of a strip; those of the strip before stay."""
        left, right = self.slabs[strip % 2]
        start = self.start - int(self.tiling.columns.class_start[strip])
        kept = range(strip, strip + 1)
        for c in self._strips(strip):
            if self.sixes:
                self.tiling.unpack(c, self.file.read(c, kept), left, right, start, kept)
            else:
                self.tiling.unpack_half(c, self.file.read(c, kept, RIGHT), right, start, kept)


def column_windows(rows: Side, columns: Side, files: Mapping[int, StripFile]) -> list[ColumnWindow]:
    """A window for every finish zone that the column player can move to."""
    stride, mirrored = int(np.diff(rows.class_start).max()) + LANES, rows.finish == columns.finish
    sixes = exits_of_a_six(columns)
    return [ColumnWindow(files[zone], stride, mirrored, zone in sixes) for zone in columns.moves.exits]


class Resident(InMemory):
    """A component in memory that reads what its columns lead to from files: that is several times as large as itself.

    A piece in the finish zone may step on, and then all else stays as it is.
    """

    def __init__(
        self,
        rows: Side,
        columns: Side,
        representation: Representation,
        solved: Solved,
        files: Mapping[int, StripFile],
        threads: int,
    ) -> None:
        self.windows = column_windows(rows, columns, files)
        super().__init__(rows, columns, representation, solved, threads)

    def column_exits(self, solved: Solved, size: int) -> tuple[list[NDArray[np.int64]], list[tuple[Values, Values]]]:
        """The windows, as they are for the first strip."""
        return [window.start for window in self.windows], [window.slabs[0] for window in self.windows]

    def passes(self, examine: bool, skip_below: float = 0.0, keep: bool = False) -> Iterator[tuple[int, Any]]:
        """Sweep or examine strip by strip; the windows of the next strip are loaded meanwhile."""
        with ThreadPoolExecutor(1, thread_name_prefix="madn-load") as loader:
            coming = loader.submit(self._load, 0)
            for strip in range(self.strips):
                coming.result()
                if strip + 1 < self.strips:
                    coming = loader.submit(self._load, strip + 1)
                begin = int(self.rows.class_start[strip])
                self.sweeper.set_column_exits([window.slabs[strip % 2] for window in self.windows], begin)
                yield strip + 1, self.sweeper.run(strip, strip + 1, self.threads, examine, skip_below)

    def _load(self, strip: int) -> None:
        for window in self.windows:
            if strip + 1 < self.strips:
                window.announce(strip + 1)
            window.load(strip)


class Streamed(Component):
    """A component whose matrices are in a file."""

    def __init__(
        self,
        rows: Side,
        columns: Side,
        representation: Representation,
        solved: Solved,
        files: Mapping[int, StripFile],
        path: Path,
        task: str,
        threads: int,
    ) -> None:
        super().__init__(rows, columns, representation, threads)
        self.tiling = Tiling(rows, columns, representation.dtype, threads)
        self.path, self.task = path, task
        self.start, room = self.tiling.starts(SLOTS)
        self.L, self.R = (representation.zeros(room + LANES) for _ in range(2))
        self.column_windows = column_windows(rows, columns, files)
        self.row_windows = [RowWindow(files[f], rows) for f in rows.moves.exits] if self.mirrored else []
        size = max(rows.size, columns.size)
        whole = [] if self.mirrored else rows.moves.exits
        matrices = [whole_exit(f, columns.finish, size, representation, solved) for f in whole]
        starts = [window.starts for window in self.row_windows] + [(m.start, m.start) for m in matrices]
        self.sweeper = kernels.SWEEPERS[kernels.build](
            SweepTables.of(
                rows, columns, self.start, starts, [window.start for window in self.column_windows], refill=True
            ),
            self.L,
            self.R,
            [window.matrices for window in self.row_windows] + [(m.L, m.R) for m in matrices],
            [window.slabs[0] for window in self.column_windows],
        )
        self.file: StripFile
        self._packed = np.empty(self.tiling.longest, np.uint8)
        self._state: Path = path.with_suffix(".state")
        self._noted: dict[str, Any] = {}
        self._loader = ThreadPoolExecutor(1, thread_name_prefix="madn-load")
        self._storer = ThreadPoolExecutor(1, thread_name_prefix="madn-store")
        self._stored: list[Future[None]] = []

    def strip_values(self) -> NDArray[np.int64]:
        """How many values each strip has."""
        return 2 * np.diff(self.rows.class_start) * (self.columns.size - self.tiling.first_column.astype(np.int64))

    def begin(self) -> dict[str, Any] | None:
        """Open the file; return the state of the last checkpoint, if there is one, with everything as it was then."""
        state = self._restore()
        sums = state["sums"] if state is not None and state["kept"] else None
        self.file = StripFile(self.path, self.tiling, sums)
        if state is not None and state["after_capture"] is None:
            for strip in range(self.strips):
                self._load_strip(strip)
                self.sweeper.restore(strip)
            self.checkpoint(state)
        return state

    def settle(self) -> None:
        """The strips were rounded when they were written; what captures lead to is rounded likewise."""
        _packing.round_values(self.sweeper.after_capture, self.threads)

    def close(self) -> None:
        """Wait for what is being written, and close the file; it stays."""
        self._loader.shutdown(wait=True, cancel_futures=True)
        self._storer.shutdown(wait=True, cancel_futures=True)
        if hasattr(self, "file"):
            self.file.close()

    def matrices(self, both: bool) -> dict[Pair, Matrices]:
        """Nothing is in memory."""
        return {}

    def store(self, file: StripFile, solved: Solved) -> None:
        """Write the strips with the columns' side as rows; a mirrored component is in its file already."""
        if self.mirrored:
            return
        with ThreadPoolExecutor(self.threads) as pool:
            rows = WholeRows(self.file, self.columns.finish, pool)
            L, R = (np.empty(row_values(self.columns, self.rows), self.file.dtype) for _ in range(2))
            file.write_strips(self._rows(rows, number, L, R) for number in range(file.tiling.strips))

    def _rows(self, rows: WholeRows, number: int, L: Values, R: Values) -> tuple[Values, Values, NDArray[np.int64]]:
        """Bring in the rows of a class of the columns' side; also where each begins."""
        rows.load(number, 0, L, R)
        first = int(self.columns.class_start[number])
        return L, R, (np.arange(self.columns.size, dtype=np.int64) - first) * self.rows.size

    def passes(self, examine: bool, skip_below: float = 0.0, keep: bool = False) -> Iterator[tuple[int, Any]]:
        """Sweep, or examine what the file holds, strip by strip.

        A sweep leaves its values in the file if they are to be kept. No group of columns is skipped: its old values
        are not at hand.
        """
        coming = self._loader.submit(self._load, 0, examine)
        for strip in range(self.strips):
            coming.result()
            if strip + 1 < self.strips:
                coming = self._loader.submit(self._load, strip + 1, examine)
            begin = int(self.rows.class_start[strip])
            self.sweeper.set_column_exits([window.slabs[strip % 2] for window in self.column_windows], begin)
            found = self.sweeper.run(strip, strip + 1, self.threads, examine)
            if keep:
                self._finish_writing(1)
                self._stored.append(self._storer.submit(self._store, strip))
            yield strip + 1, found
        self._finish_writing(0)

    def _finish_writing(self, left: int) -> None:
        while len(self._stored) > left:
            self._stored.pop(0).result()

    def _load(self, strip: int, examine: bool) -> None:
        """Bring in what a strip's moves to other finish zones lead to, and its values if they are to be examined."""
        windows: list[RowWindow | ColumnWindow] = [*self.row_windows, *self.column_windows]
        if strip + 1 < self.strips:
            if examine:
                self.file.announce(strip + 1)
            for window in windows:
                window.announce(strip + 1)
        if examine:
            self._load_strip(strip)
        for window in windows:
            window.load(strip)

    def _load_strip(self, strip: int) -> None:
        """Bring a strip from the file into its slot."""
        self.tiling.unpack(strip, self.file.read(strip), self.L, self.R, self.start)

    def _store(self, strip: int) -> None:
        self.file.write(strip, self.tiling.pack(strip, self.L, self.R, self.start, self._packed))

    def checkpoint(self, state: Mapping[str, Any]) -> None:
        """Write down what the next sweep starts from.

        The earlier checkpoint goes when there is another way to go on: the disk has room for the strips and one
        checkpoint, or for two. The disk may take as long as a sweep for it, so the next sweep does not wait.
        """
        self._finish_writing(0)
        now, before = (self._after_capture(state["sweeps"] + i) for i in range(2))
        if state["kept"]:
            self.file.flush()
            self.note({**state, "after_capture": None})
            before.unlink(missing_ok=True)
        values = self.sweeper.after_capture
        with writing_to(now):
            now.write_bytes(values.data)
        self._noted = self._with_sums({**state, "after_capture": checksum(values)})
        self._stored.append(self._storer.submit(self._rely_on, now, before, self._noted))

    def _rely_on(self, now: Path, before: Path, noted: dict[str, Any]) -> None:
        """Replace one checkpoint by another when that is on disk."""
        with writing_to(now):
            flush(now)
        write_figures(self._state, self.task, noted)
        before.unlink(missing_ok=True)

    def note(self, state: Mapping[str, Any]) -> None:
        """Write down where the work is, as a whole or not at all; what it says of the checkpoint stays if not given."""
        self._finish_writing(0)
        self._noted = self._with_sums(state)
        write_figures(self._state, self.task, self._noted)

    def _with_sums(self, state: Mapping[str, Any]) -> dict[str, Any]:
        return {**self._noted, **state, "sums": self.file.sums_text()}

    def _after_capture(self, sweeps: int) -> Path:
        return self.path.with_suffix(f".captures{sweeps % 2}")

    def _restore(self) -> dict[str, Any] | None:
        """Bring everything in memory to where an earlier run was, and return what it noted."""
        state = read_figures(self._state, self.task)
        if state is None:
            return None
        self._noted = state
        if state["after_capture"] is not None:
            place, after_capture = self._after_capture(state["sweeps"]), self.sweeper.after_capture
            values = np.fromfile(place, after_capture.dtype) if place.exists() else after_capture[:0]
            found, expected = checksum(values), state["after_capture"]
            if len(values) != len(after_capture) or found != expected:
                wanted = f"{len(after_capture)} values with checksum {expected:08x}"
                raise damaged(place, f"expected {wanted}, found {len(values)} with {found:08x}")
            after_capture[:] = values
        return dict(state)
