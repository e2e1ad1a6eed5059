"""A panel larger than memory: only a few of its strips are in memory at a time, as in a streamed component.

| in memory | how much |
|---|---|
| strips | the one being computed and the six before it |
| what the column player's captures lead to | all of the panel |
| exits | what the strip leads to: windows of files that were gathered before the first sweep (`exits.py`) |
| edges, and values of boxed columns | those of a strip |

The values that the row player's captures lead to pass through memory from a file (`late.py`), strip by strip. In sweeps
that may be the last, strips are written to the file in which the solved panel stays, and are examined from there.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from madn.solver import _packing
from madn.solver.cluster.component import PanelComponent
from madn.solver.cluster.exits import ExitFiles
from madn.solver.cluster.late import LateFile
from madn.solver.cluster.processes import Processes
from madn.solver.footprint import LEFT_SLOTS, RIGHT_SLOTS
from madn.solver.numbers import Representation, Values
from madn.solver.sides import Side
from madn.solver.streamed import ColumnWindow, ColumnWindows, Job, RowWindow, do_all, do_later
from madn.solver.strips import StripFile, Tiling, slot_starts
from madn.solver.tables import LANES, Panel


class StreamedPanel(PanelComponent):
    """A panel whose matrices are in a file, `path`, laid out by `tiling`; `late` is a file beside it."""

    def __init__(
        self,
        rows: Side,
        columns: Side,
        representation: Representation,
        panels: list[Panel],
        processes: Processes,
        exits: ExitFiles,
        path: Path,
        tiling: Tiling,
        late: Path,
        threads: int,
    ) -> None:
        super().__init__(rows, columns, representation, panels, processes, threads)
        first = np.array([self._first_of(strip) for strip in range(len(rows.class_start) - 1)])
        left, right = (slot_starts(rows, columns, first, slots, self.end) for slots in (LEFT_SLOTS, RIGHT_SLOTS))
        self.start = left[0], right[0]
        self.L, self.R = (
            representation.zeros(slots * room + LANES)
            for slots, (_, room) in ((LEFT_SLOTS, left), (RIGHT_SLOTS, right))
        )
        self.exits = exits
        self.column_windows = ColumnWindows(rows, columns, exits.of_columns, self.panel)
        row_windows = [RowWindow(exits.of_rows[zone], rows, self.panel) for zone in rows.moves.exits]
        self.windows: list[RowWindow | ColumnWindow] = [*row_windows, *self.column_windows.windows]
        self.prepare(
            [(window.starts, window.matrices) for window in row_windows],
            list(zip(self.column_windows.starts(0), self.column_windows.matrices, strict=True)),
        )
        sizes = {
            source: [2 * self.rows_of(strip) * len(self.kept(strip, boxed)) for strip in range(self.strips)]
            for source, boxed in self.boxed.items()
        }
        self.late = LateFile(late, sizes, representation.dtype)
        self.tiling, self.file = tiling, StripFile(path, tiling)
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix="madn-load") if threads > 1 else None
        self._held = -1  # the strip whose values of this sweep are in memory

    @property
    def nbytes(self) -> int:
        """The memory that its values and those of exits take."""
        windows = {id(matrix): matrix.nbytes for window in self.windows for matrix in window.matrices}
        return super().nbytes + sum(windows.values())

    def cut_stages(self) -> list[range]:
        """Strip by strip."""
        return [range(strip, strip + 1) for strip in range(len(self.rows.class_start) - 1)]

    def passed(self, stage: int, computed: int) -> bool:
        """Whether a strip is computed: then it has read what the last sweep left for its captures."""
        return stage < computed

    def sweep(self, compute: bool = True, keep: bool = False) -> Iterator[tuple[float, float, int]]:
        """Compute every value once; they are in the file afterwards if they are to be kept."""
        self._held = -1
        yield from super().sweep(compute, keep)
        self._held = -1

    def run(self, strips: range, examine: bool) -> tuple[Any, ...]:
        """Load what a strip needs and pass over it; a sweep leaves its values in the file if they are kept."""
        strip = strips.start
        if strip >= self.strips:
            return (0.0, 0)
        self._load(strip, examine)
        self.tables.place_exits(self.column_windows.starts(strip))
        self.sweeper.set_column_exits(self.column_windows.matrices, int(self.rows.class_start[strip]))
        found = super().run(strips, examine)
        if not examine:
            self._held = strip
            if self.keep:
                self._do(self._storing(strip))
        return found

    def _load(self, strip: int, examine: bool) -> None:
        """Load what a strip leads to, by moves and by captures, and its values if they are to be examined."""
        jobs: list[Job] = [job for window in self.windows for job in window.loading(strip)]
        if examine:
            jobs += [(self._load_strip, strip, classes) for classes in self.file.parts(strip, *self.panel)]
        self._do(jobs)
        for source in self.boxed:
            self.fill(strip, source, self.late.read(strip, source), pairs=False)
        if strip + 1 < self.strips and self.pool is not None:
            later = [*(window.announce for window in self.windows), self.late.announce]
            do_later(self.pool, [*later, self._announce] if examine else later, strip + 1)

    def _do(self, jobs: Iterable[Job]) -> None:
        """Do all jobs; a single thread does them itself."""
        if self.pool is not None:
            do_all(self.pool, jobs)
            return
        for work, *arguments in jobs:
            work(*arguments)

    def _load_strip(self, strip: int, classes: range) -> None:
        self.tiling.unpack(strip, self.file.read(strip, classes), self.L, self.R, self.start, classes)

    def _announce(self, strip: int) -> None:
        for classes in self.file.parts(strip, *self.panel):
            self.file.announce(strip, classes)

    def _storing(self, strip: int) -> Iterator[Job]:
        for classes in self.file.parts(strip, *self.panel):
            yield self.file.write, strip, self.L, self.R, self.start, classes

    def place(self, strip: int, source: int, values: Values) -> None:
        """Let captures lead to these values; for the row player's, that is when the next sweep computes the strip.

        If values are kept, these are rounded too, as `settle` does.
        """
        if self.keep:
            _packing.round_values(values, self.threads)
        self.late.write(strip, source, values)
        self.fill(strip, source, values, slots=False)

    def boxed_values(self, strip: int, kept: range) -> list[Values]:
        """The values of boxed columns for the rows of a strip, from memory if they are there."""
        if strip == self._held:
            return super().boxed_values(strip, kept)
        number = self.processes.number
        own = self.kept(strip, self.boxed[number])
        values = self.late.read(strip, number).reshape(2, self.rows_of(strip), len(own))
        part = values[:, :, kept.start - own.start : kept.stop - own.start]
        return [part[0], part[1]]

    def settle(self) -> None:
        """Round what the column player's captures lead to; all else was rounded when it was written."""
        _packing.round_values(self.sweeper.after_capture, self.threads)

    def store(self, path: Path, tiling: Tiling) -> str:
        """Return the checksums of the file, which the panel is in already."""
        self.file.flush()
        return self.file.sums_text()

    def close(self) -> None:
        """Wait for what is being read, and close the files; only the values stay."""
        if self.pool is not None:
            self.pool.shutdown(wait=True, cancel_futures=True)
        self.file.close()
        self.late.close()
        self.exits.close()
