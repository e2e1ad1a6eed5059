"""A component larger than memory: its strips pass through memory in order, from a file and back to it.

A strip needs the six strips before it, as new as they are. What captures lead to, in strips to come, is kept in memory
by the kernel. Values that moves to another finish zone lead to pass through memory as well, where they are many.
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
from madn.solver.components import DTYPE, Matrices, column_groups, offsets, ring_size, whole_exit
from madn.solver.footprint import SLOTS
from madn.solver.kernels import kernels
from madn.solver.sides import Side
from madn.solver.strips import StripFile, Tiling, Values, checksum


class RowWindow:
    """The values that the row player's moves into one further finish zone lead to, as far as a strip can reach.

    The file has that zone's states as rows: those of the strip's own pips are needed, and of up to six less.
    """

    def __init__(self, file: StripFile) -> None:
        self.file, self.tiling = file, file.tiling
        side, columns = self.tiling.rows, self.tiling.columns
        widths = [int(columns.size - columns.class_start[c]) for c in range(self.tiling.strips)]
        room = max(int(size) * width for size, width in zip(np.diff(side.class_start), widths, strict=True))
        self.start = np.zeros(side.size, np.int64)
        for c, width in enumerate(widths):
            a, end = side.class_start[c : c + 2]
            self.start[a:end] = c % SLOTS * room + np.arange(end - a) * width - int(columns.class_start[c])
        self.L, self.R = (np.zeros(SLOTS * room + kernels.WIDTH, file.dtype) for _ in range(2))

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
        self.slabs = [tuple(np.zeros(size * stride + kernels.WIDTH, file.dtype) for _ in range(2)) for _ in range(2)]

    def announce(self, strip: int) -> None:
        """Say that the columns of a strip will be loaded soon."""
        for c in self._strips(strip):
            self.file.announce(c, range(strip, strip + 1))

    def _strips(self, strip: int) -> range:
        return range(max(0, strip - 6) if self.mirrored else 0, self.tiling.strips)

    def load(self, strip: int) -> None:
        """Bring in the columns of a strip; those of the strip before stay."""
        left, right = self.slabs[strip % 2]
        start = self.start - int(self.tiling.columns.class_start[strip])
        kept = range(strip, strip + 1)
        for c in self._strips(strip):
            self.tiling.unpack(c, self.file.read(c, kept), left, right, start, kept)


class Streamed:
    """One pair of finish zones while it is being solved, with its matrices in a file."""

    def __init__(
        self,
        rows: Side,
        columns: Side,
        representation: str,
        solved: Mapping[tuple[int, int], Matrices],
        files: Mapping[int, StripFile],
        place: Path,
        threads: int,
    ) -> None:
        self.rows, self.columns, self.representation = rows, columns, representation
        self.mirrored = rows.finish == columns.finish
        self.strips = len(rows.class_start) - 1
        self.tiling = Tiling(rows, columns, threads)
        self.place = place
        dtype = DTYPE[representation]
        self.start, room = self.tiling.starts(SLOTS)
        self.L, self.R = (np.zeros(room + kernels.WIDTH, dtype) for _ in range(2))
        stride = int(np.diff(rows.class_start).max()) + kernels.WIDTH
        self.column_windows = [ColumnWindow(files[f], stride, self.mirrored) for f in columns.moves.exits]
        self.row_windows = [RowWindow(files[f]) for f in rows.moves.exits] if self.mirrored else []
        size = max(rows.size, columns.size)
        row_exits: list[RowWindow] | list[Matrices] = self.row_windows or [
            whole_exit(f, columns.finish, size, representation, solved) for f in rows.moves.exits
        ]
        groups = column_groups(columns)
        ring = ring_size(columns, groups)
        slot = np.arange(columns.size, dtype=np.int32) % ring
        self.kernel = kernels.Component(
            rows=rows,
            columns=columns,
            L=self.L,
            R=self.R,
            start=self.start,
            row_offset=offsets(rows, self.start, [m.start for m in row_exits]),
            column_offset=offsets(
                columns, slot.astype(np.int64) * kernels.WIDTH, [window.start for window in self.column_windows]
            ),
            row_exits=[(m.L, m.R) for m in row_exits],
            column_exits=[window.slabs[0] for window in self.column_windows],
            slot=slot,
            group_class=groups,
            ring=ring,
            mirrored=self.mirrored,
            refill=True,
        )
        self.file: StripFile
        self.laps = 0  # sweeps that are complete
        lengths = [sum(part.size for part in self.kernel.accounts(i)) + 1 for i in range(self.strips)]
        self._accounts = np.concatenate([[0], np.cumsum(lengths)])  # where those of each strip begin
        self._packed = np.empty(self.tiling.longest, dtype)
        self._journal: Path = place.with_suffix(".state")
        self._account_file: Any = None
        self._loader = ThreadPoolExecutor(1, thread_name_prefix="madn-load")
        self._storer = ThreadPoolExecutor(1, thread_name_prefix="madn-store")
        self._stored: list[Future[None]] = []

    def strip_slots(self) -> NDArray[np.int64]:
        """How many values each strip has: what a pass over it costs."""
        return 2 * np.array([self.tiling.dense_size(i) for i in range(self.strips)])

    def begin(self) -> dict[str, Any] | None:
        """Open the files; return the state that an earlier run reached, if there is one."""
        state = self._earlier()
        dtype = self.L.dtype
        self.file = StripFile(self.place, self.tiling, dtype, rewritten=True, create=state is None)
        accounts = self.place.with_suffix(".accounts")
        self._account_file = os.open(accounts, os.O_RDWR | os.O_CREAT | (os.O_TRUNC if state is None else 0), 0o644)
        if state is not None:
            self._restore(state["sweeps"], state["strip"])
        return state

    def end(self) -> None:
        """Wait for what is being written, and close the files; they stay."""
        self._loader.shutdown(wait=True, cancel_futures=True)
        self._storer.shutdown(wait=True, cancel_futures=True)
        if self._account_file is not None:
            os.close(self._account_file)
            self._account_file = None
            self.file.close()

    def passes(self, first: int, threads: int, examine: bool, skip_below: float) -> Iterator[tuple[int, Any]]:
        """Sweep (or examine) the strips from `first` on; yields the next strip and what the kernel found."""
        coming = self._loader.submit(self._load, first)
        for strip in range(first, self.strips):
            coming.result()
            if strip + 1 < self.strips:
                coming = self._loader.submit(self._load, strip + 1)
            begin = int(self.rows.class_start[strip])
            self.kernel.set_column_exits([window.slabs[strip % 2] for window in self.column_windows], begin)
            found = self.kernel.run(strip, strip + 1, threads, examine, skip_below)
            yield strip + 1, found
        self._finish_writing(0)
        if not examine:
            self.laps += 1

    def commit(self, strip: int, state: Mapping[str, Any]) -> None:
        """Write a computed strip to the file, then note that the work has come this far; does not wait for it."""
        self._finish_writing(1)
        pending, moved = self.kernel.accounts(strip)
        accounts = np.concatenate([pending.ravel(), moved])
        self._stored.append(self._storer.submit(self._store, strip, accounts, json.dumps(state)))

    def _finish_writing(self, left: int) -> None:
        while len(self._stored) > left:
            self._stored.pop(0).result()

    def _load(self, strip: int) -> None:
        """Bring in a strip and what its moves to other finish zones lead to; have the next one fetched meanwhile."""
        if strip + 1 < self.strips:
            if self.laps:
                self.file.announce(strip + 1, lap=self.laps)
            for rows in self.row_windows:
                rows.announce(strip + 1)
            for columns in self.column_windows:
                columns.announce(strip + 1)
        self._load_strip(strip, self.laps)
        for rows in self.row_windows:
            rows.load(strip)
        for columns in self.column_windows:
            columns.load(strip)

    def _load_strip(self, strip: int, lap: int) -> Values:
        """Bring a strip into its slot; return what was read."""
        row, end = self.rows.class_start[strip : strip + 2]
        first = int(self.columns.class_start[self.tiling.first_class(strip)])
        if lap == 0:
            size = self.tiling.dense_size(strip)
            if end > row:
                begin = int(self.start[row]) + first
                self.L[begin : begin + size] = self.R[begin : begin + size] = 0
            return self._packed[:0]
        packed = self.file.read(strip, lap=lap)
        self.tiling.unpack(strip, packed, self.L, self.R, self.start)
        return packed

    def _store(self, strip: int, accounts: NDArray[np.float64], state: str) -> None:
        packed = self.tiling.pack(strip, self.L, self.R, self.start, self._packed)
        self.file.write(strip, packed, self.laps + 1)
        record = accounts.tobytes() + checksum(packed).to_bytes(8, "little")
        os.pwrite(self._account_file, record, self._account_place(strip, self.laps + 1))
        write_whole(self._journal, state)

    def _account_place(self, strip: int, lap: int) -> int:
        return 8 * (int(self._accounts[-1]) * (lap % 2) + int(self._accounts[strip]))

    def _earlier(self) -> dict[str, Any] | None:
        """The state in the journal of an earlier run."""
        try:
            state: dict[str, Any] = json.loads(self._journal.read_text(encoding="ascii"))
        except FileNotFoundError:
            return None
        except ValueError:
            raise CorruptBlockError(f"{self._journal}: not the journal of a solve") from None
        numbers = [state.get(name) for name in ("sweeps", "strip", "updates", "target", "change")]
        if not all(isinstance(n, (int, float)) and math.isfinite(n) for n in numbers) or not (
            0 < int(state["strip"]) <= self.strips and int(state["sweeps"]) >= 0
        ):
            raise CorruptBlockError(f"{self._journal}: not the journal of a solve")
        return state

    def _restore(self, sweeps: int, strip: int) -> None:
        """Bring everything in memory to where an earlier run stopped: `strip` is the next one to compute."""
        self.laps = sweeps
        for i in [*range(strip, self.strips), *range(strip)]:
            lap = sweeps + (i < strip)
            if lap == 0:
                continue
            found = checksum(self._load_strip(i, lap))
            length = 8 * int(self._accounts[i + 1] - self._accounts[i])
            record = os.pread(self._account_file, length, self._account_place(i, lap))
            if len(record) != length or int.from_bytes(record[-8:], "little") != found:
                raise CorruptBlockError(f"{self.place}: strip {i} is not as it was written; this work cannot go on")
            pending, moved = self.kernel.accounts(i)
            numbers = np.frombuffer(record[:-8], np.float64)
            pending[:] = numbers[: pending.size].reshape(pending.shape)
            moved[:] = numbers[pending.size :]
            self.kernel.restore(i)
        if strip == self.strips:
            self.laps += 1
        else:
            for window in self.row_windows:
                for i in range(max(0, strip - 6), strip):
                    window.load(i)


def write_whole(path: Path, text: str) -> None:
    """Write a small file so that it is there whole or as it was."""
    part = path.with_suffix(path.suffix + "-part")
    part.write_text(text, encoding="ascii")
    os.replace(part, path)
