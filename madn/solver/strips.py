"""Components on disk: strip after strip, each cut into tiles, only positions."""

import hashlib
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn.errors import CorruptBlockError
from madn.solver import _packing
from madn.solver.numbers import Values
from madn.solver.sides import Side

PAGE = 4096  # bytes
AHEAD = 1 << 20  # bytes to announce at a time: of more the system may fetch only the beginning


class Tiling:
    """Where each tile of a component is in its file, in values; `_packing` says what a tile holds."""

    def __init__(self, rows: Side, columns: Side, threads: int) -> None:
        self.rows, self.columns = rows, columns
        self.mirrored = rows.finish == columns.finish
        self.tiles = _packing.Tiles(
            rows.facing, rows.class_start, columns.masks, columns.class_start, self.mirrored, threads
        )
        self.counts = self.tiles.counts
        self.strips, self.classes = self.counts.shape
        self.first_column = columns.class_start[[self.first_class(i) for i in range(self.strips)]]  # of each strip
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

    def starts(self, slots: int) -> tuple[NDArray[np.int64], int]:
        """Where each row begins in an array that holds `slots` strips at a time, and the length of that array.

        Strip i is in slot i % slots; `start[a] + b` is the place of column b of row a.
        """
        start, room = slot_starts(self.rows, self.columns, self.first_column, slots)
        return start, slots * room

    def pack(self, strip: int, L: Values, R: Values, start: NDArray[np.int64], out: Values) -> Values:
        """The tiles of a strip, made from its rows in L and R; `start` is that of all rows."""
        length = self.tiles.pack(strip, L, R, start[self.rows_of(strip)], self.first_class(strip), out)
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
        kept = classes or range(self.first_class(strip), self.classes)
        self.tiles.unpack(strip, packed, L, R, start[self.rows_of(strip)], kept.start, kept.stop)

    def rows_of(self, strip: int) -> slice:
        """The rows of a strip among all rows."""
        return slice(*self.rows.class_start[strip : strip + 2])


class StripFile:
    """A file with the strips of a component, one after the other."""

    def __init__(self, path: Path, tiling: Tiling, dtype: Any, *, create: bool = False) -> None:
        self.path, self.tiling, self.dtype = path, tiling, np.dtype(dtype)
        self.handle = os.open(path, os.O_RDWR | (os.O_CREAT | os.O_TRUNC if create else 0), 0o644)
        self._own = threading.local()

    def close(self) -> None:
        """Close the file."""
        os.close(self.handle)

    def announce(self, strip: int, classes: range | None = None) -> None:
        """Tell the system that these tiles will be read soon: it fetches them from disk meanwhile, many at a time."""
        if hasattr(os, "posix_fadvise"):
            at, length = (n * self.dtype.itemsize for n in self._extent(strip, classes))
            for begin in range(at, at + length, AHEAD):
                os.posix_fadvise(self.handle, begin, min(AHEAD, at + length - begin), os.POSIX_FADV_WILLNEED)

    def _extent(self, strip: int, classes: range | None = None) -> tuple[int, int]:
        """Where tiles begin, and how many values they have."""
        tile = self.tiling.tile[strip]
        begin, end = (tile[classes.start], tile[classes.stop]) if classes else (0, tile[-1])
        return int(self.tiling.strip[strip] + begin), int(end - begin)

    def read(self, strip: int, classes: range | None = None) -> Values:
        """The tiles of a strip, all or some; valid until the next call in the same thread."""
        at, length = self._extent(strip, classes)
        if len(getattr(self._own, "buffer", ())) < length:
            self._own.buffer = np.empty(length, self.dtype)
        out: Values = self._own.buffer[:length]
        self._transfer(os.preadv, out, at)
        return out

    def write(self, strip: int, packed: Values) -> None:
        """Write all tiles of a strip."""
        self._transfer(os.pwritev, packed, self._extent(strip)[0])

    def write_strips(self, strips: Iterable[tuple[Values, Values, NDArray[np.int64]]]) -> None:
        """Write strip after strip: for each, matrices that hold its rows, and where those begin."""
        packed = np.empty(self.tiling.longest, self.dtype)
        for strip, (L, R, start) in enumerate(strips):
            self.write(strip, self.tiling.pack(strip, L, R, start, packed))

    def __enter__(self) -> "StripFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _transfer(self, call: Any, values: Values, at: int) -> None:
        """Read or write an array at a place, in as many steps as the system takes."""
        view = values.view(np.uint8).data
        place, done = at * self.dtype.itemsize, 0
        while done < len(view):
            step = call(self.handle, [view[done : done + (1 << 30)]], place + done)
            if step == 0:
                raise CorruptBlockError(f"{self.path}: cut off at byte {place + done}")
            done += step


def slot_starts(rows: Side, columns: Side, first: NDArray[Any], slots: int) -> tuple[NDArray[np.int64], int]:
    """Where each row begins if strips take turns in some slots, and how many values a slot has.

    Strip i is in slot i % slots, with the columns from first[i] on; `start[a] + b` is the place of column b of row a.
    """
    widths = columns.size - first.astype(np.int64)
    room = int((np.diff(rows.class_start) * widths).max())
    strip = rows.pips.astype(np.int64)
    number = np.arange(rows.size) - rows.class_start[strip]  # in its strip
    return strip % slots * room + number * widths[strip] - first[strip], room


def checksum(packed: Values) -> int:
    """A number that shows whether values were cut off or mixed up: a digest of the sums of pages."""
    raw = packed.view(np.uint8)
    whole = len(raw) // PAGE * PAGE
    sums = raw[:whole].view(np.uint64).reshape(-1, PAGE // 8).sum(axis=1, dtype=np.uint64)
    return int.from_bytes(hashlib.blake2b(sums.tobytes() + raw[whole:].tobytes(), digest_size=8).digest(), "little")
