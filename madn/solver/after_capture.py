"""The values that captures lead to in a streamed component, which pass through memory a lap ahead of the strips.

Each row is a state with a piece in the box. The strips of the lap before its own class read it, in the columns from the
strip's class on. Its new value for a column is known once the strip of that column's class has been computed, or the
strip of the row's own class if that comes first. So memory holds a triangle: the rows of the strip's class and of the
lap after it, with the columns still to come. A sweep reads the file that the last one wrote and writes another one.

A file consists of tiles, each a class of rows against a group of columns, class by class. A tile has pairs of values as
they are in memory, without the slots where both sides share a square.
"""

import mmap
import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn.solver import _packing
from madn.solver.figures import damaged, writing_to
from madn.solver.numbers import Values
from madn.solver.sides import Side
from madn.solver.strips import PART, Packed, announce, buffer, checksums, transfer
from madn.solver.tables import LANES, column_groups

SYNCED = 1 << 29  # bytes after which an fsync is begun: a checkpoint then has little left to wait for

Part = tuple[int, int, int]  # a class of rows, and the first and the end of some of its groups of columns


class AfterCapture:
    """The array that the kernel reads and writes, part of which is in memory, and the files that it passes through.

    `start` says where its rows begin, by group of columns. `sums` are the checksums of the file that the last complete
    sweep wrote, or None before the first one. The threads of `pool` read and write.
    """

    def __init__(
        self,
        rows: Side,
        columns: Side,
        dtype: Any,
        path: Path,
        pool: ThreadPoolExecutor,
        threads: int,
        whole: bool = False,
    ) -> None:
        """With `whole` every row keeps all columns, even if both sides are alike."""
        self.path, self.pool, self.mirrored = path, pool, rows.finish == columns.finish and not whole
        self.item, self.lap, self.strips = np.dtype(dtype).itemsize, rows.rules.squares, len(rows.class_start) - 1
        boxed, groups = rows.boxed, column_groups(columns)
        self.ends = groups[1:]  # for each group, the class after it
        self.edges = edges = columns.class_start[groups]  # of the groups, as columns
        first_row = np.searchsorted(rows.pips[boxed], np.arange(self.strips + 1)).astype(np.int32)  # of each class
        self.tiles = _packing.Tiles(rows.facing[boxed], first_row, columns.masks, edges, False, threads)
        earliest = np.maximum(np.arange(self.strips) - (self.lap if self.mirrored else self.strips), 0)
        self.first = np.searchsorted(self.ends, earliest, side="right")  # first group kept with each class of rows
        kept = np.arange(len(self.ends)) >= self.first[:, None]
        self.values_of = np.where(kept, 2 * np.diff(first_row)[:, None] * np.diff(edges).astype(np.int64), 0)
        room = self.values_of.copy()
        room[:, -1] += -room.sum(axis=1) % (mmap.PAGESIZE // self.item)  # whole pages for each class of rows
        self.memory = _places(room)  # where each tile begins in the array, in values ...
        self.places = _places(np.where(kept, self.tiles.counts, 0) * 2 * self.item)  # ... and in a file, in bytes
        number, pips = np.arange(len(boxed)) - first_row[rows.pips[boxed]], rows.pips[boxed]
        begin = self.memory[pips, :-1] // 2 + number[:, None] * np.diff(edges).astype(np.int64)
        self.start = np.where(kept[pips], begin, 0) - edges[:-1].astype(np.int64)
        self.size = int(self.memory[-1, -1])
        self._pages = _pages((self.size + LANES) * self.item)
        self.values: Values = np.frombuffer(self._pages, dtype)
        self.sums: NDArray[np.uint32] | None = None
        self._earlier: NDArray[np.uint32] | None = None  # of the file that the sweep before wrote
        self._sums = np.zeros(self.values_of.shape, np.uint32)  # of the file that is being written
        self._reading = self._writing = -1  # file handles
        self._source = self._target = path
        self._unsynced = 0
        self._syncer = ThreadPoolExecutor(1, thread_name_prefix="madn-sync")
        self._synced: list[Future[None]] = []

    def file(self, sweeps: int) -> Path:
        """The file with the values that this many sweeps left."""
        return self.path.with_suffix(f".captures{sweeps % 2}")

    def begin(self, sweeps: int, write: bool) -> None:
        """Begin a pass over what this many sweeps left; with `write` it writes what the next one leaves."""
        self._close_files()
        self._source, self._target = self.file(sweeps), self.file(sweeps + 1)
        if self.sums is not None:
            try:
                self._reading = os.open(self._source, os.O_RDONLY)
            except FileNotFoundError:
                raise damaged(self._source, "missing") from None
        if write:
            with writing_to(self._target):
                self._writing = os.open(self._target, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)

    def load(self, strip: int) -> None:
        """Load the rows that a strip needs besides those that the strip before it needed."""
        if self._reading < 0:
            return
        coming = range(strip + self.lap if strip else 0, min(strip + self.lap + 1, self.strips))
        list(self.pool.map(self._read, [part for number in coming for part in self._parts(number)]))
        if strip + self.lap + 1 < self.strips:
            announce(self._reading, *(int(place) for place in self.places[strip + self.lap + 1, [0, -1]]))

    def put(self, number: int, pairs: Values) -> None:
        """Set the values of a class of rows, given as [row, column, which of the pair]."""
        edges = self.edges.tolist()
        for group in range(int(self.first[number]), len(self.ends)):
            tile = self._tile(number, group)
            tile[:] = pairs[:, edges[group] : edges[group + 1]].reshape(-1)

    def let_go(self, strip: int, rounded: bool) -> None:
        """Write what is final after a strip, if this pass writes, and release its memory."""
        final = self._final(strip)
        if self._writing >= 0:
            parts = [part for each in final for part in self._parts(*each)]
            self._unsynced += sum(self.pool.map(lambda part: self._write(part, rounded), parts))
            if self._unsynced >= SYNCED:
                self._synced.append(self._syncer.submit(os.fsync, self._writing))
                self._unsynced = 0
        for number, _, end in final:
            self._free(number, end)

    def finish(self) -> None:
        """Wait until what was written is on disk; from now on a pass begins with it."""
        with writing_to(self._target):
            for done in self._synced:
                done.result()
            os.fsync(self._writing)
        self._synced = []
        self._earlier, self.sums = self.sums, self._sums.copy()
        self._close_files()

    def close(self) -> None:
        """Close the files, which stay on disk."""
        self._syncer.shutdown(wait=True, cancel_futures=True)
        self._close_files()

    def sums_text(self) -> str:
        """The checksums, in hexadecimal, with which a pass will compare what it reads."""
        return "" if self.sums is None else self.sums.astype(">u4").tobytes().hex()

    def take_up(self, sums: str) -> None:
        """Continue from a file with these checksums that an earlier process wrote."""
        self.sums = np.frombuffer(bytes.fromhex(sums), ">u4").astype(np.uint32).reshape(self.values_of.shape)

    def _close_files(self) -> None:
        for handle in (self._reading, self._writing):
            if handle >= 0:
                os.close(handle)
        self._reading = self._writing = -1

    def _final(self, strip: int) -> list[Part]:
        """What is final after a strip: the rest of its own class, and in the lap after it the group that ends here."""
        if not self.mirrored:
            return [(strip, 0, len(self.ends))]
        group = int(np.searchsorted(self.ends, strip, side="right"))
        later = range(strip + 1, min(strip + self.lap + 1, self.strips) if self.ends[group] == strip + 1 else 0)
        return [(strip, group, len(self.ends)), *((number, group, group + 1) for number in later)]

    def _parts(self, number: int, first: int = 0, end: int | None = None) -> Iterator[Part]:
        """The groups of a class of rows, a few megabytes at a time."""
        begin, end = first, len(self.ends) if end is None else end
        for group in range(first, end):
            if group + 1 == end or self.places[number, group + 1] - self.places[number, begin] >= PART:
                yield number, begin, group + 1
                begin = group + 1

    def _tile(self, number: int, group: int) -> Values:
        begin = self.memory[number, group]
        return self.values[begin : begin + self.values_of[number, group]]

    def moved(self, sweeps: int, way: int) -> bool:
        """Whether the last of this many sweeps made any value smaller (`way` is -1) or larger (1)."""
        before, after = (self.file(number) for number in (sweeps - 1, sweeps))
        with open(before, "rb") as old, open(after, "rb") as new:

            def moved(part: Part) -> bool:
                was = self._fetch(old.fileno(), before, self._earlier, part).view(self.values.dtype).copy()
                is_now = self._fetch(new.fileno(), after, self.sums, part).view(self.values.dtype)
                return bool((is_now > was if way > 0 else is_now < was).any())

            return any(self.pool.map(moved, [part for number in range(self.strips) for part in self._parts(number)]))

    def _read(self, part: Part) -> None:
        number, begin, end = part
        packed = self._fetch(self._reading, self._source, self.sums, part, 2 * self.item)
        for group in range(begin, end):
            if self.values_of[number, group]:
                at = int(self.places[number, group] - self.places[number, begin])
                self.tiles.unpack_pairs(number, group, packed[at:], self._tile(number, group))

    def _fetch(self, handle: int, path: Path, sums: NDArray[np.uint32] | None, part: Part, room: int = 0) -> Packed:
        """Read part of a file, with `room` after it, and compare checksums; valid until the thread's next read."""
        number, begin, end = part
        edges = self.places[number, begin : end + 1].tolist()
        packed = buffer(edges[-1] - edges[0] + room)
        whole = packed.data[: edges[-1] - edges[0]]
        transfer(os.preadv, handle, whole, edges[0], path)
        assert sums is not None
        for group, found in enumerate(checksums(whole, np.diff(edges).tolist()), begin):
            expected = int(sums[number, group])
            if found != expected:
                tile = f"tile {group} of class {number}"
                raise damaged(path, f"checksum of {tile} expected {expected:08x}, found {found:08x}")
        return packed

    def _write(self, part: Part, rounded: bool) -> int:
        number, begin, end = part
        edges = self.places[number, begin : end + 1].tolist()
        packed = buffer(edges[-1] - edges[0] + 2 * self.item)
        for group, edge in zip(range(begin, end), edges, strict=False):
            if self.values_of[number, group]:
                self.tiles.pack_pairs(number, group, self._tile(number, group), packed[edge - edges[0] :], rounded)
        whole = packed.data[: edges[-1] - edges[0]]
        with writing_to(self._target):
            transfer(os.pwritev, self._writing, whole, edges[0], self._target)
        self._sums[number, begin:end] = checksums(whole, np.diff(edges).tolist())
        return len(whole)

    def _free(self, number: int, end: int) -> None:
        """Release the memory of a class of rows for its groups before `end`, in whole pages."""
        if hasattr(self._pages, "madvise"):
            page = mmap.PAGESIZE
            begin, last = (int(self.memory[number, group]) * self.item // page * page for group in (0, end))
            if last > begin:
                self._pages.madvise(mmap.MADV_DONTNEED, begin, last - begin)


def _pages(size: int) -> mmap.mmap:
    """Private memory, not shared with other processes, so that what is released is free at once."""
    if not hasattr(mmap, "MAP_PRIVATE"):
        return mmap.mmap(-1, size)
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a system without huge pages
            pages.madvise(mmap.MADV_HUGEPAGE)
    return pages


def _places(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where items of these sizes begin if they follow each other row by row; a last column has the end of each row."""
    ends = np.cumsum(sizes).reshape(sizes.shape)
    return np.concatenate([ends[:, :1] - sizes[:, :1], ends], axis=1)
