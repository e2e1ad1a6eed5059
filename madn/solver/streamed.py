"""A component larger than memory: only a few of its strips are in memory at a time.

A strip is computed from the six strips before it in the same sweep, from the values that captures lead to, which pass
through memory (`after_capture.py`), and from values of other finish zones, which pass through memory as well if there
are many. The next sweep needs nothing of this one but the values that captures lead to. So strips are written to their
file only in sweeps that may be the last, and a checkpoint has nothing but the values that captures lead to.

| file | holds |
|---|---|
| `NN.values` or `NN.work` | the strips, as of the last sweep that kept them |
| `NN.captures0`, `NN.captures1` | the values that captures lead to after an even or odd number of sweeps |
| `NN.state` | after which sweep the work continues, and checksums |

What a strip needs is announced while the one before it is computed, so that the disk works meanwhile. All threads load
it together before the strip begins, so everything is in memory only once, with nothing yet for the next strip.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn.rules import DIE
from madn.solver import kernels
from madn.solver._sweep import Sweeper
from madn.solver.after_capture import AfterCapture
from madn.solver.components import Component, InMemory, Matrices, Solved, whole_exit
from madn.solver.figures import read_figures, write_figures
from madn.solver.footprint import LEFT_SLOTS, RIGHT_SLOTS
from madn.solver.graph import Pair
from madn.solver.numbers import Representation, Values
from madn.solver.rows import WholeRows, row_values
from madn.solver.sides import Side
from madn.solver.strips import LEFT, RIGHT, Starts, StripFile, Tiling, slot_starts
from madn.solver.tables import LANES, Panel, SweepTables, exits_of_a_six, options_of_a_six

Job = tuple[Any, ...]  # a function, and what it is called with


class RowWindow:
    """The values that the row player's moves into one other finish zone lead to, as far as a strip can reach.

    The file has that zone's states as rows. Those with a few pips fewer than the strip are needed, but not the same
    ones after a 6 (matrix L) as after other rolls (R), so each matrix has a window of its own. It has the columns that
    the strip has: all, or those of a panel, and in a mirrored component those of its class and later ones.
    """

    def __init__(self, file: StripFile, rows: Side, panel: Panel | None = None, whole: bool = False) -> None:
        """With `whole` all columns are loaded, even if both sides are alike."""
        self.file, self.tiling = file, file.tiling
        zone, columns = self.tiling.rows, self.tiling.columns
        self.panel = panel or Panel(0, self.tiling.classes)
        self.mirrored = rows.finish == columns.finish and not whole
        there = rows.moves.kind == 1 + rows.moves.exits.index(zone.finish)
        pips = np.repeat(rows.pips, np.diff(rows.moves.first[::DIE]))
        less = np.where(there, pips - zone.pips[np.where(there, rows.moves.row, 0)], 0)
        sixes = options_of_a_six(rows)
        self.halves = []  # (LEFT or RIGHT, how many pips fewer the nearest class has, where rows begin, values)
        for half, leads in ((LEFT, there & sixes), (RIGHT, there & ~sixes)):
            nearest, furthest = (int(less[leads].min()), int(less[leads].max())) if leads.any() else (1, 0)
            reader = np.arange(self.tiling.strips) + nearest if self.mirrored else np.zeros(self.tiling.strips, int)
            first = columns.class_start[reader.clip(*self.panel)]
            slots = furthest - nearest + 1
            start, room = slot_starts(zone, columns, first, max(slots, 1), int(columns.class_start[self.panel.end]))
            values = np.zeros(slots * room + LANES, file.dtype)
            self.halves.append((half, nearest, start, values))

    @property
    def starts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where each row begins in L and in R."""
        return self.halves[0][2], self.halves[1][2]

    @property
    def matrices(self) -> tuple[Values, Values]:
        """L and R."""
        return self.halves[0][3], self.halves[1][3]

    def _first(self, strip: int) -> int:
        """The first class of columns that a strip has."""
        return max(strip if self.mirrored else 0, self.panel.first)

    def announce(self, strip: int) -> None:
        """Announce that a strip will be loaded soon."""
        for half, nearest, _, _ in self.halves:
            if 0 <= strip - nearest < self.tiling.strips:
                self.file.announce(strip - nearest, range(self._first(strip), self.panel.end), half)

    def loading(self, strip: int) -> Iterator[Job]:
        """The jobs that load what the strip needs besides what the strip before it needed."""
        for half, nearest, start, values in self.halves:
            number = strip - nearest
            if 0 <= number < self.tiling.strips and len(values) > LANES:
                for classes in self.file.parts(number, self._first(strip), self.panel.end):
                    yield self._load, number, half, classes, start, values

    def _load(self, number: int, half: int, classes: range, start: NDArray[np.int64], values: Values) -> None:
        self.tiling.unpack_half(number, self.file.read(number, classes, half), values, start, classes)


class ColumnWindow:
    """The values that the column player's moves into one other finish zone lead to, for the rows of one strip.

    The file has that zone's states as rows and the component's rows as columns, so one column of its tiles is needed.
    In a mirrored component a strip has columns with its own number of pips or more, which lead to states with at most
    six fewer; the same goes for the columns of a panel. If no 6 leads there, only values with the other side to move
    are needed, and the others are not read.
    """

    def __init__(self, file: StripFile, mirrored: bool, sixes: bool, panel: Panel | None = None) -> None:
        self.file, self.tiling, self.mirrored, self.sixes = file, file.tiling, mirrored, sixes
        first, end = panel or (0, self.tiling.strips)
        self.reach = range(max(0, first - DIE), min(end, self.tiling.strips))  # classes that the columns lead to
        self.widths = np.diff(self.tiling.columns.class_start).astype(np.int64)  # the rows of each strip
        classes = range(self.tiling.classes)
        room = max(int(self.widths[strip]) * max(1, len(self._states(strip))) for strip in classes)
        right = np.zeros(room + LANES, file.dtype)
        self.matrices = (np.zeros_like(right) if sixes else right, right)

    def _states(self, strip: int) -> range:
        """The states that moves of a strip lead to."""
        strips, starts = self._strips(strip), self.tiling.rows.class_start
        return range(int(starts[strips.start]), int(starts[strips.stop]))

    def _strips(self, strip: int) -> range:
        first = max(self.reach.start, strip - DIE) if self.mirrored else self.reach.start
        return range(min(first, self.reach.stop), self.reach.stop)

    def start(self, strip: int) -> NDArray[np.int64]:
        """Where the values of each state begin, for a strip; states that it does not lead to get an arbitrary place."""
        states = self._states(strip)
        places = np.zeros(self.tiling.rows.size, np.int64)
        places[states.start : states.stop] = np.arange(len(states)) * self.widths[strip]
        return places

    def announce(self, strip: int) -> None:
        """Announce that the columns of a strip will be loaded soon."""
        for c in self._strips(strip):
            self.file.announce(c, range(strip, strip + 1), None if self.sixes else RIGHT)

    def loading(self, strip: int) -> Iterator[Job]:
        """The jobs that load the columns of a strip, in place of those of the strip before."""
        start, strips = self.start(strip) - int(self.tiling.columns.class_start[strip]), self._strips(strip)
        step = max(1, -(-len(strips) // 8))
        for first in range(strips.start, strips.stop, step):
            yield self._load, strip, range(first, min(first + step, strips.stop)), start

    def _load(self, strip: int, strips: range, start: NDArray[np.int64]) -> None:
        left, right = self.matrices
        kept = range(strip, strip + 1)
        for c in strips:
            if self.sixes:
                self.tiling.unpack(c, self.file.read(c, kept), left, right, (start, start), kept)
            else:
                self.tiling.unpack_half(c, self.file.read(c, kept, RIGHT), right, start, kept)


class ColumnWindows:
    """A window for every finish zone that the column player can move to."""

    def __init__(
        self,
        rows: Side,
        columns: Side,
        files: Mapping[int, StripFile],
        panel: Panel | None = None,
        whole: bool = False,
    ) -> None:
        """With `whole` every row has all columns, even if both sides are alike."""
        sixes, mirrored = exits_of_a_six(columns), rows.finish == columns.finish and not whole
        self.windows = [ColumnWindow(files[zone], mirrored, zone in sixes, panel) for zone in columns.moves.exits]

    @property
    def matrices(self) -> list[tuple[Values, Values]]:
        """L and R of each."""
        return [window.matrices for window in self.windows]

    def starts(self, strip: int) -> list[NDArray[np.int64]]:
        """Where the values of each state begin."""
        return [window.start(strip) for window in self.windows]


def streaming_sweeper(
    rows: Side,
    columns: Side,
    matrices: tuple[Values, Values],
    starts: Starts,
    row_windows: Sequence[RowWindow],
    row_exits: Sequence[Matrices],
    exits: ColumnWindows,
    captured: AfterCapture,
    whole: bool = False,
) -> tuple[SweepTables, Sweeper]:
    """Make what computes strips that pass through `matrices`; the row player's exits are in windows or in memory."""
    tables = SweepTables.of(
        rows,
        columns,
        starts,
        [window.starts for window in row_windows] + [(m.start, m.start) for m in row_exits],
        exits.starts(0),
        refill=True,
        whole=whole,
        captures=(captured.start, captured.size),
    )
    values = [window.matrices for window in row_windows] + [(m.L, m.R) for m in row_exits]
    sweeper = kernels.SWEEPERS[kernels.build](tables, *matrices, values, exits.matrices, captured.values)
    return tables, sweeper


def do_later(pool: ThreadPoolExecutor, announce: Iterable[Callable[[int], None]], strip: int) -> None:
    """Announce what the next strip needs while this one is computed."""
    for each in announce:
        pool.submit(each, strip)


def do_all(pool: ThreadPoolExecutor, jobs: Iterable[Job]) -> None:
    """Do all jobs in the threads of the pool, and wait for them."""
    for done in [pool.submit(*job) for job in jobs]:
        done.result()


class Resident(InMemory):
    """A component in memory that reads its columns' exits from files: they are several times as large as itself.

    A piece in the finish zone may step on while all else stays as it is, so an exit may be as large as the component.
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
        self.exits = ColumnWindows(rows, columns, files)
        super().__init__(rows, columns, representation, solved, threads)

    def column_exits(self, solved: Solved, size: int) -> tuple[list[NDArray[np.int64]], list[tuple[Values, Values]]]:
        """The windows, set up for the first strip."""
        return self.exits.starts(0), self.exits.matrices

    def passes(self, examine: bool, skip_below: float = 0.0, keep: bool = False) -> Iterator[tuple[int, Any]]:
        """Sweep or examine strip by strip; the windows of the next strip are announced meanwhile."""
        self.begin_pass(examine, keep)
        with ThreadPoolExecutor(self.threads, thread_name_prefix="madn-load") as pool:
            for strip in range(self.strips):
                do_all(pool, (job for window in self.exits.windows for job in window.loading(strip)))
                if strip + 1 < self.strips:
                    do_later(pool, [window.announce for window in self.exits.windows], strip + 1)
                self.tables.place_exits(self.exits.starts(strip))
                self.sweeper.set_column_exits(self.exits.matrices, int(self.rows.class_start[strip]))
                found = self.sweeper.run(strip, strip + 1, self.threads, examine, skip_below)
                self.after_strip(strip, examine, keep)
                yield strip + 1, found


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
        left, right = (self.tiling.starts(slots) for slots in (LEFT_SLOTS, RIGHT_SLOTS))
        self.starts = left[0], right[0]
        self.L, self.R = (representation.zeros(room + LANES) for _, room in (left, right))
        self.exits = ColumnWindows(rows, columns, files)
        self.row_windows = [RowWindow(files[f], rows) for f in rows.moves.exits] if self.mirrored else []
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix="madn-load")
        self.captured = AfterCapture(rows, columns, representation.dtype, path, self.pool, threads)
        size = max(rows.size, columns.size)
        whole = [] if self.mirrored else rows.moves.exits
        matrices = [whole_exit(f, columns.finish, size, representation, solved) for f in whole]
        self.tables, self.sweeper = streaming_sweeper(
            rows, columns, (self.L, self.R), self.starts, self.row_windows, matrices, self.exits, self.captured
        )
        self.file: StripFile
        self._state: Path = path.with_suffix(".state")
        self._noted: dict[str, Any] = {}
        self._sweeps = 0

    def strip_values(self) -> NDArray[np.int64]:
        """How many values each strip has."""
        return 2 * np.diff(self.rows.class_start) * (self.columns.size - self.tiling.first_column.astype(np.int64))

    def begin(self) -> dict[str, Any] | None:
        """Open the file; return the state of the last checkpoint, if there is one: the work continues from there."""
        state = read_figures(self._state, self.task)
        if state is not None:
            self._noted, self._sweeps = state, state["sweeps"]
            self.captured.take_up(state["captured"])
        self.file = StripFile(self.path, self.tiling, state["sums"] if state is not None and state["kept"] else None)
        return state

    def settle(self) -> None:
        """Do nothing: everything was rounded when it was written."""

    def close(self) -> None:
        """Wait for what is being written, and close the files, which stay on disk."""
        self.pool.shutdown(wait=True, cancel_futures=True)
        self.captured.close()
        if hasattr(self, "file"):
            self.file.close()

    def matrices(self, both: bool) -> dict[Pair, Matrices]:
        """Return nothing: no matrices are in memory."""
        return {}

    def store(self, file: StripFile, solved: Solved) -> None:
        """Write the strips with the columns' side as rows; a mirrored component is in its file already."""
        if self.mirrored:
            return
        rows = WholeRows(self.file, self.columns.finish, self.pool)
        L, R = (np.empty(row_values(self.columns, self.rows), self.file.dtype) for _ in range(2))
        file.write_strips(self._rows(rows, number, L, R) for number in range(file.tiling.strips))

    def _rows(self, rows: WholeRows, number: int, L: Values, R: Values) -> tuple[Values, Values, NDArray[np.int64]]:
        """Load the rows of a class of the columns' side; also return where each begins."""
        rows.load(number, 0, L, R)
        first = int(self.columns.class_start[number])
        return L, R, (np.arange(self.columns.size, dtype=np.int64) - first) * self.rows.size

    def passes(self, examine: bool, skip_below: float = 0.0, keep: bool = False) -> Iterator[tuple[int, Any]]:
        """Sweep, or examine the values in the file, strip by strip.

        A sweep leaves its values in the file if they are to be kept. No group of columns is left alone, because its old
        values are not in memory.
        """
        self.captured.begin(self._sweeps, write=not examine)
        self.begin_pass(examine, keep)
        for strip in range(self.strips):
            self._load(strip, examine)
            self.tables.place_exits(self.exits.starts(strip))
            self.sweeper.set_column_exits(self.exits.matrices, int(self.rows.class_start[strip]))
            found = self.sweeper.run(strip, strip + 1, self.threads, examine)
            self.after_strip(strip, examine, keep)
            if keep and self.keeps_values:
                do_all(self.pool, self._storing(strip))
            self.captured.let_go(strip, rounded=keep)
            yield strip + 1, found

    def _load(self, strip: int, examine: bool) -> None:
        """Load what a strip needs: what its moves lead to, and its values if they are to be examined."""
        windows: list[RowWindow | ColumnWindow] = [*self.row_windows, *self.exits.windows]
        self.captured.load(strip)
        jobs = [job for window in windows for job in window.loading(strip)]
        if examine:
            jobs += [(self._load_strip, strip, classes) for classes in self.file.parts(strip)]
        do_all(self.pool, jobs)
        if strip + 1 < self.strips:
            later = [window.announce for window in windows]
            do_later(self.pool, [*later, self.file.announce] if examine else later, strip + 1)

    def _load_strip(self, strip: int, classes: range) -> None:
        """Load part of a strip from the file into its slots."""
        self.tiling.unpack(strip, self.file.read(strip, classes), self.L, self.R, self.starts, classes)

    def _storing(self, strip: int) -> Iterator[Job]:
        """The jobs that write a strip to the file."""
        for classes in self.file.parts(strip):
            yield self.file.write, strip, self.L, self.R, self.starts, classes

    def checkpoint(self, state: Mapping[str, Any]) -> None:
        """Record what the next sweep starts from, and remove what this one started from."""
        self.captured.finish()
        if state["kept"]:
            self.file.flush()
        before, self._sweeps = self.captured.file(self._sweeps), state["sweeps"]
        self.note(state)
        before.unlink(missing_ok=True)

    def note(self, state: Mapping[str, Any]) -> None:
        """Record how far the work has come, completely or not at all."""
        files = {"sums": self.file.sums_text(), "captured": self.captured.sums_text()}
        self._noted = {**self._noted, **state, **files}
        write_figures(self._state, self.task, self._noted)
