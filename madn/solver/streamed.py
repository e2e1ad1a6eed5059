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

import json
import math
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn.errors import CorruptBlockError
from madn.rules import DIE
from madn.solver import kernels
from madn.solver.components import Component, Matrices, Solved, whole_exit
from madn.solver.footprint import SLOTS
from madn.solver.graph import Pair
from madn.solver.numbers import Representation, Values
from madn.solver.rows import WholeRows, row_values
from madn.solver.sides import Side
from madn.solver.strips import StripFile, Tiling, checksum, slot_starts
from madn.solver.tables import LANES, SweepTables


class RowWindow:
    """The values that the row player's moves into one further finish zone lead to, as far as a strip can reach.

    The file has that zone's states as rows: those of the strip's own pips are needed, and of up to six less.
    """

    def __init__(self, file: StripFile) -> None:
        self.file, self.tiling = file, file.tiling
        first = self.tiling.columns.class_start[: self.tiling.strips]
        self.start, room = slot_starts(self.tiling.rows, self.tiling.columns, first, SLOTS)
        self.L, self.R = (np.zeros(SLOTS * room + LANES, file.dtype) for _ in range(2))

    def announce(self, strip: int) -> None:
        """Say that a strip will be loaded soon."""
        if strip < self.tiling.strips:
            self.file.announce(strip, range(strip, self.tiling.classes))

    def load(self, strip: int) -> None:
        """Bring in what the strip needs beyond what the strip before it needed."""
        if strip < self.tiling.strips:
            kept = range(strip, self.tiling.classes)
            self.tiling.unpack(strip, self.file.read(strip, kept), self.L, self.R, self.start, kept)


class ColumnWindow:
    """The values that the column player's moves into one further finish zone lead to, for the rows of one strip.

    The file has that zone's states as rows and the component's rows as columns: a column of its tiles is needed. In a
    mirrored component a strip has columns of its own pips and more, which lead to states of at most six less.
    """

    def __init__(self, file: StripFile, stride: int, mirrored: bool) -> None:
        self.file, self.tiling, self.mirrored = file, file.tiling, mirrored
        size = self.tiling.rows.size
        self.start = np.arange(size, dtype=np.int64) * stride
        self.slabs = [
            (np.zeros(size * stride + LANES, file.dtype), np.zeros(size * stride + LANES, file.dtype)) for _ in range(2)
        ]

    def announce(self, strip: int) -> None:
        """Say that the columns of a strip will be loaded soon."""
        for c in self._strips(strip):
            self.file.announce(c, range(strip, strip + 1))

    def _strips(self, strip: int) -> range:
        return range(max(0, strip - DIE) if self.mirrored else 0, self.tiling.strips)

    def load(self, strip: int) -> None:
        """Bring in the columns of a strip; those of the strip before stay."""
        left, right = self.slabs[strip % 2]
        start = self.start - int(self.tiling.columns.class_start[strip])
        kept = range(strip, strip + 1)
        for c in self._strips(strip):
            self.tiling.unpack(c, self.file.read(c, kept), left, right, start, kept)


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
        threads: int,
    ) -> None:
        super().__init__(rows, columns, representation, threads)
        self.tiling = Tiling(rows, columns, threads)
        self.path = path
        self.start, room = self.tiling.starts(SLOTS)
        self.L, self.R = (representation.zeros(room + LANES) for _ in range(2))
        stride = int(np.diff(rows.class_start).max()) + LANES
        self.column_windows = [ColumnWindow(files[f], stride, self.mirrored) for f in columns.moves.exits]
        self.row_windows = [RowWindow(files[f]) for f in rows.moves.exits] if self.mirrored else []
        size = max(rows.size, columns.size)
        row_exits: list[RowWindow] | list[Matrices] = self.row_windows or [
            whole_exit(f, columns.finish, size, representation, solved) for f in rows.moves.exits
        ]
        starts = [m.start for m in row_exits], [window.start for window in self.column_windows]
        self.sweeper = kernels.SWEEPERS[kernels.build](
            SweepTables.of(rows, columns, self.start, *starts, refill=True),
            self.L,
            self.R,
            [(m.L, m.R) for m in row_exits],
            [window.slabs[0] for window in self.column_windows],
        )
        self.file: StripFile
        self._packed = np.empty(self.tiling.longest, representation.dtype)
        self._sums = [0] * self.strips  # checksums of the strips in the file
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
        kept = state is not None and state["kept"]
        if kept and not self.path.exists():
            raise CorruptBlockError(f"{self.path}: missing; this work cannot go on")
        self.file = StripFile(self.path, self.tiling, self.L.dtype, create=not kept)
        if state is not None and state["after_capture"] is None:
            for strip in range(self.strips):
                self._load_strip(strip)
                self.sweeper.restore(strip)
            self.checkpoint(state)
        return state

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
        packed = self.file.read(strip)
        if checksum(packed) != self._sums[strip]:
            raise CorruptBlockError(f"{self.path}: strip {strip} is not as it was written; this work cannot go on")
        self.tiling.unpack(strip, packed, self.L, self.R, self.start)

    def _store(self, strip: int) -> None:
        packed = self.tiling.pack(strip, self.L, self.R, self.start, self._packed)
        self.file.write(strip, packed)
        self._sums[strip] = checksum(packed)

    def checkpoint(self, state: Mapping[str, Any]) -> None:
        """Write down what the next sweep starts from.

        The earlier checkpoint goes when there is another way to go on: the disk has room for the strips and one
        checkpoint, or for two.
        """
        now, before = (self._after_capture(state["sweeps"] + i) for i in range(2))
        if state["kept"]:
            self.note({**state, "after_capture": None})
            before.unlink(missing_ok=True)
        with open(now, "wb") as file:
            self.sweeper.after_capture.tofile(file)
        self.note({**state, "after_capture": checksum(self.sweeper.after_capture)})
        before.unlink(missing_ok=True)

    def note(self, state: Mapping[str, Any]) -> None:
        """Write down where the work is, as a whole or not at all; what it says of the checkpoint stays if not given."""
        self._noted = {**self._noted, **state, "sums": self._sums}
        write_whole(self._state, json.dumps(self._noted))

    def _after_capture(self, sweeps: int) -> Path:
        return self.path.with_suffix(f".captures{sweeps % 2}")

    def _restore(self) -> dict[str, Any] | None:
        """Bring everything in memory to where an earlier run was, and return what it noted."""
        try:
            state = json.loads(self._state.read_text(encoding="ascii"))
        except FileNotFoundError:
            return None
        except ValueError:
            state = None
        if not _makes_sense(state, self.strips):
            raise CorruptBlockError(f"{self._state}: not the state of a solve")
        self._noted, self._sums = dict(state), state["sums"]
        if state["after_capture"] is not None:
            place, after_capture = self._after_capture(state["sweeps"]), self.sweeper.after_capture
            values = np.fromfile(place, after_capture.dtype) if place.exists() else after_capture[:0]
            if len(values) != len(after_capture) or checksum(values) != state["after_capture"]:
                raise CorruptBlockError(f"{place}: not as it was written; this work cannot go on")
            after_capture[:] = values
        return dict(state)


def _makes_sense(state: Any, strips: int) -> bool:
    """Whether a state has all it should, in the right types."""
    if not isinstance(state, dict):
        return False
    numbers = [state.get(name) for name in ("sweeps", "updates", "change", "target")]
    sums = state.get("sums")
    return (
        all(isinstance(n, (int, float)) and math.isfinite(n) and n >= 0 for n in numbers)
        and isinstance(state.get("kept"), bool)
        and "after_capture" in state
        and isinstance(sums, list)
        and len(sums) == strips
    )


def write_whole(path: Path, text: str) -> None:
    """Write a small file so that it is there whole or as it was."""
    part = path.with_suffix(path.suffix + "-part")
    part.write_text(text, encoding="ascii")
    os.replace(part, path)
