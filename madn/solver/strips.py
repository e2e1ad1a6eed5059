"""Components on disk: strip after strip, each cut into tiles, only positions."""

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn import _packing
from madn.errors import CorruptBlockError
from madn.solver.sides import Side

Values = NDArray[Any]


class Tiling:
    """Where each tile of a component is in its file, in values; `_packing` says what a tile holds."""

    def __init__(self, rows: Side, columns: Side, threads: int) -> None:
        self.rows, self.columns = rows, columns
        self.mirrored = rows.finish == columns.finish
        self.counts = _packing.count(
            rows.turned, rows.class_start, columns.masks, columns.class_start, self.mirrored, threads
        )
        self.strips, self.classes = self.counts.shape
        lengths = 2 * self.counts + 1
        if self.mirrored:
            lengths[np.tril_indices(self.strips, -1)] = 0
        self.tile = np.concatenate([np.zeros((self.strips, 1), np.int64), np.cumsum(lengths, axis=1)], axis=1)
        self.strip = np.concatenate([[0], np.cumsum(self.tile[:, -1])])
        self.total = int(self.strip[-1])
        self.longest = int(self.tile[:, -1].max())

    def first_class(self, strip: int) -> int:
        """The first column class that is kept with a strip."""
        return strip if self.mirrored else 0

    def dense_size(self, strip: int) -> int:
        """The values of one matrix of a strip, slots that are no position included."""
        first = self.columns.class_start[self.first_class(strip)]
        return int(self.rows.class_start[strip + 1] - self.rows.class_start[strip]) * int(self.columns.size - first)

    def starts(self, slots: int) -> tuple[NDArray[np.int64], int]:
        """Where each row begins in an array that holds `slots` strips at a time, and the length of that array.

        Strip i is in slot i % slots; `start[a] + b` is the place of column b of row a.
        """
        room = max(self.dense_size(i) for i in range(self.strips))
        start = np.zeros(self.rows.size, np.int64)
        for i in range(self.strips):
            a, end = self.rows.class_start[i : i + 2]
            first = int(self.columns.class_start[self.first_class(i)])
            start[a:end] = i % slots * room + np.arange(end - a) * (self.columns.size - first) - first
        return start, slots * room

    def pack(self, strip: int, L: Values, R: Values, start: NDArray[np.int64], out: Values) -> Values:
        """The tiles of a strip, made from its rows in L and R."""
        row, end = self.rows.class_start[strip : strip + 2]
        length = _packing.pack(
            L, R, start, self.rows.turned, self.columns.masks, row, end, self.columns.class_start,
            self.first_class(strip), self.counts[strip], out,
        )  # fmt: skip
        return out[:length]

    def unpack(
        self,
        strip: int,
        packed: Values,
        L: Values | None,
        R: Values | None,
        start: NDArray[np.int64],
        classes: range | None = None,
    ) -> None:
        """The inverse of `pack`, for all classes of columns or some, for both matrices or one."""
        row, end = self.rows.class_start[strip : strip + 2]
        kept = classes or range(self.first_class(strip), self.classes)
        _packing.unpack(
            packed, L, R, start, self.rows.turned, self.columns.masks, row, end, self.columns.class_start,
            kept.start, kept.stop, self.counts[strip],
        )  # fmt: skip


class StripFile:
    """A file with the strips of a component. A strip is written a little before the place of its older self.

    `lap` counts how often all strips have been written. The file has room for one strip more than there are, and
    everything moves round it: writing strip i overwrites older selves of the strips before i only, which have been
    written already. So at every moment each strip is there as of this lap or the last.
    """

    def __init__(
        self, path: Path, tiling: Tiling, dtype: Any, *, lap: int = 0, rewritten: bool = False, create: bool = False
    ) -> None:
        self.path, self.tiling, self.dtype, self.lap = path, tiling, np.dtype(dtype), lap
        self.capacity = tiling.total + (tiling.longest if rewritten else 0)
        self.handle = os.open(path, os.O_RDWR | (os.O_CREAT | os.O_TRUNC if create else 0), 0o644)
        self._own = threading.local()

    def close(self) -> None:
        """Close the file."""
        os.close(self.handle)

    def announce(self, strip: int, classes: range | None = None, lap: int | None = None) -> None:
        """Tell the system that these tiles will be read soon: it fetches them from disk meanwhile, many at a time."""
        if hasattr(os, "posix_fadvise"):
            at, length = self._extent(strip, classes, self.lap if lap is None else lap)
            before_end = min(length, self.capacity - at)
            for place, count in ((at, before_end), (0, length - before_end)):
                if count:
                    item = self.dtype.itemsize
                    os.posix_fadvise(self.handle, place * item, count * item, os.POSIX_FADV_WILLNEED)

    def _extent(self, strip: int, classes: range | None, lap: int) -> tuple[int, int]:
        """Where tiles begin, and how many values they have; from the end of the file they go on at its beginning."""
        tile = self.tiling.tile[strip]
        begin, end = (tile[classes.start], tile[classes.stop]) if classes else (0, tile[-1])
        return (lap * self.tiling.total + int(self.tiling.strip[strip] + begin)) % self.capacity, int(end - begin)

    def read(self, strip: int, classes: range | None = None, lap: int | None = None) -> Values:
        """The tiles of a strip, all or some, as of a lap; valid until the next call in the same thread."""
        at, length = self._extent(strip, classes, self.lap if lap is None else lap)
        if len(getattr(self._own, "buffer", ())) < length:
            self._own.buffer = np.empty(length, self.dtype)
        out: Values = self._own.buffer[:length]
        before_end = min(length, self.capacity - at)
        self._transfer(os.preadv, out[:before_end], at)
        self._transfer(os.preadv, out[before_end:], 0)
        return out

    def write(self, strip: int, packed: Values, lap: int = 0) -> None:
        """Write all tiles of a strip."""
        at = (lap * self.tiling.total + int(self.tiling.strip[strip])) % self.capacity
        before_end = min(len(packed), self.capacity - at)
        self._transfer(os.pwritev, packed[:before_end], at)
        self._transfer(os.pwritev, packed[before_end:], 0)

    def _transfer(self, call: Any, values: Values, at: int) -> None:
        """Read or write an array at a place, in as many steps as the system takes."""
        view = values.view(np.uint8).data
        place, done = at * self.dtype.itemsize, 0
        while done < len(view):
            step = call(self.handle, [view[done : done + (1 << 30)]], place + done)
            if step == 0:
                raise CorruptBlockError(f"{self.path}: cut off at byte {place + done}")
            done += step


def checksum(packed: Values) -> int:
    """A number that shows whether a strip was cut off or mixed up: the sum of its 64-bit words and its length."""
    raw = packed.view(np.uint8)
    words = raw[: len(raw) // 8 * 8].view(np.uint64)
    return (int(words.sum(dtype=np.uint64)) + int(raw[len(words) * 8 :].sum()) + len(raw)) % 2**64
