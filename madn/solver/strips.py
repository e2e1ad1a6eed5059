"""Components on disk: strip by strip, each cut into tiles of positions; both halves of a tile have checksums."""

import os
import threading
import zlib
from collections.abc import Iterable
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from madn.solver import _packing
from madn.solver.figures import damaged, writing_to
from madn.solver.numbers import Values
from madn.solver.sides import Side

AHEAD = 1 << 20  # bytes to announce at a time: of a longer stretch the system may fetch only the beginning
PART = 1 << 23  # about how many bytes a thread reads or writes at a time

RIGHT, LEFT = 0, 1  # the halves of a tile, by the matrix they hold

Packed = NDArray[np.uint8]
Starts = tuple[NDArray[np.int64], NDArray[np.int64]]  # where each row begins in L and in R


class Tiling:
    """Where each tile of a component is in its file, in bytes; `_packing` says what a tile holds."""

    def __init__(
        self,
        rows: Side,
        columns: Side,
        dtype: Any,
        threads: int,
        like: "Tiling | None" = None,
        *,
        whole: bool = False,
    ) -> None:
        """`like` is another tiling of the same sides: what it has counted is not counted again.

        A `whole` tiling has every column of every row, even if both sides are alike.
        """
        self.rows, self.columns, self.dtype = rows, columns, np.dtype(dtype)
        self.mirrored = rows.finish == columns.finish and not whole
        self.tiles: _packing.Tiles = (
            like.tiles
            if like is not None
            else _packing.Tiles(
                rows.facing, rows.class_start, columns.masks, columns.class_start, self.mirrored, threads
            )
        )
        self.counts = self.tiles.counts
        self.strips, self.classes = self.counts.shape
        self.first_column = columns.class_start[[self.first_class(i) for i in range(self.strips)]]  # of each strip
        lengths = 2 * (self.counts * _packing.STORED_BYTES[self.dtype] + _packing.PAD)
        if self.mirrored:
            lengths[np.tril_indices(self.strips, -1)] = 0
        self.tile = np.concatenate([np.zeros((self.strips, 1), np.int64), np.cumsum(lengths, axis=1)], axis=1)
        self.strip = np.concatenate([[0], np.cumsum(self.tile[:, -1])])
        self.total = int(self.strip[-1])

    def first_class(self, strip: int) -> int:
        """The first column class that is kept with a strip."""
        return strip if self.mirrored else 0

    def starts(self, slots: int) -> tuple[NDArray[np.int64], int]:
        """Where each row begins in an array that holds `slots` strips at a time, and the length of that array.

        Strip i is in slot i % slots; `start[a] + b` is the place of column b of row a.
        """
        start, room = slot_starts(self.rows, self.columns, self.first_column, slots)
        return start, slots * room

    def pack(
        self, strip: int, L: Values, R: Values, starts: Starts, out: Packed, classes: range | None = None
    ) -> Packed:
        """Make the tiles of a strip from its rows in L and R, for all classes of columns or some."""
        left, right = (start[self.rows_of(strip)] for start in starts)
        kept = classes or range(self.first_class(strip), self.classes)
        return out[: self.tiles.pack(strip, L, R, left, right, kept.start, kept.stop, out)]

    def unpack(
        self, strip: int, packed: Packed, L: Values, R: Values, starts: Starts, classes: range | None = None
    ) -> None:
        """The inverse of `pack`; fixed-point numbers come back rounded."""
        left, right = (start[self.rows_of(strip)] for start in starts)
        kept = classes or range(self.first_class(strip), self.classes)
        self.tiles.unpack(strip, packed, L, R, left, right, kept.start, kept.stop)

    def unpack_half(self, strip: int, packed: Packed, matrix: Values, start: NDArray[np.int64], classes: range) -> None:
        """Like `unpack`, for the halves of tiles that hold one matrix."""
        self.tiles.unpack_half(strip, packed, matrix, start[self.rows_of(strip)], classes.start, classes.stop)

    def rows_of(self, strip: int) -> slice:
        """The rows of a strip among all rows."""
        return slice(*self.rows.class_start[strip : strip + 2])


class StripFile:
    """A file with the strips of a component, one after the other.

    `sums` are the checksums of its halves of tiles as text, from `sums_text`: what is read is compared with them.
    Without them a new file is made.
    """

    def __init__(self, path: Path, tiling: Tiling, sums: str | None = None) -> None:
        self.path, self.tiling, self.dtype = path, tiling, tiling.dtype
        edges = tiling.strip[:-1, None] + tiling.tile
        halves = np.repeat(edges, 2, axis=1)[:, :-1]
        halves[:, 1::2] = (edges[:, :-1] + edges[:, 1:]) // 2
        self._edges: list[list[int]] = halves.tolist()  # of halves of tiles
        self._sums = [[0] * 2 * tiling.classes for _ in range(tiling.strips)]
        if sums is not None:
            self._sums = np.frombuffer(bytes.fromhex(sums), ">u4").reshape(tiling.strips, 2 * tiling.classes).tolist()
        try:
            self.handle = os.open(path, os.O_RDWR | (os.O_CREAT | os.O_TRUNC if sums is None else 0), 0o644)
        except FileNotFoundError:
            raise damaged(path, "missing") from None

    def sums_text(self) -> str:
        """The checksums of all that was written, in hexadecimal."""
        return np.array(self._sums, ">u4").tobytes().hex()

    def flush(self) -> None:
        """Wait until everything is on disk."""
        with writing_to(self.path):
            os.fsync(self.handle)

    def close(self) -> None:
        """Close the file."""
        os.close(self.handle)

    def announce(self, strip: int, classes: range | None = None, half: int | None = None) -> None:
        """Tell the system that these tiles will be read soon.

        All of them, or the halves that hold one matrix: RIGHT or LEFT.
        """
        for first, last in self._extents(strip, self._halves(classes, half)):
            announce(self.handle, first, last)

    def _halves(self, classes: range | None, half: int | None) -> range:
        """The numbers of halves of tiles in a strip."""
        kept = classes or range(self.tiling.classes)
        return range(2 * kept.start + (half or 0), 2 * kept.stop, 1 if half is None else 2)

    def _extents(self, strip: int, parts: range) -> list[tuple[int, int]]:
        """Where halves of tiles begin and end in the file; those that follow each other are merged."""
        edges = self._edges[strip]
        if parts.step == 1:
            return [(edges[parts.start], edges[parts.stop])]
        return [(edges[part], edges[part + 1]) for part in parts]

    def read(self, strip: int, classes: range | None = None, half: int | None = None) -> Packed:
        """Read tiles of a strip, all or some, or their halves that hold one matrix, as they were written.

        What is returned is valid until the next call in the same thread, for any file.
        """
        parts, edges = self._halves(classes, half), self._edges[strip]
        lengths = [edges[part + 1] - edges[part] for part in parts]
        packed = buffer(sum(lengths))
        self._fetch(strip, parts, packed.data)
        found = checksums(packed.data, lengths)
        if found != [self._sums[strip][part] for part in parts]:
            self._refuse(strip, parts, found)
        return packed

    def _fetch(self, strip: int, parts: range, packed: memoryview) -> None:
        """Read halves of tiles, one after the other."""
        at = 0
        for begin, end in self._extents(strip, parts):
            transfer(os.preadv, self.handle, packed[at : at + end - begin], begin, self.path)
            at += end - begin

    def _refuse(self, strip: int, parts: range, sums: list[int]) -> None:
        for part, found in zip(parts, sums, strict=True):
            expected = self._sums[strip][part]
            if found != expected:
                tile = f"tile {part // 2} of strip {strip}"
                raise damaged(self.path, f"checksum of {tile} expected {expected:08x}, found {found:08x}")

    def parts(self, strip: int, first: int = 0, end: int | None = None) -> list[range]:
        """The classes of columns of a strip, all or some, a few megabytes at a time, as they are read or written."""
        edges, out = self._edges[strip], []
        first, end = max(first, self.tiling.first_class(strip)), self.tiling.classes if end is None else end
        for j in range(first, end):
            if j + 1 == end or edges[2 * j + 2] - edges[2 * first] >= PART:
                out.append(range(first, j + 1))
                first = j + 1
        return out

    def write(self, strip: int, L: Values, R: Values, starts: Starts, classes: range) -> None:
        """Write tiles of a strip."""
        self.write_packed(strip, self.pack(strip, L, R, starts, classes), classes)

    def pack(self, strip: int, L: Values, R: Values, starts: Starts, classes: range) -> Packed:
        """Tiles of a strip as they are written; valid until the next call in the same thread."""
        size = self._edges[strip][2 * classes.stop] - self._edges[strip][2 * classes.start]
        return self.tiling.pack(strip, L, R, starts, buffer(size), classes)

    def write_packed(self, strip: int, packed: Packed, classes: range) -> None:
        """Write tiles of a strip that are packed already."""
        edges = self._edges[strip][2 * classes.start : 2 * classes.stop + 1]
        with writing_to(self.path):
            transfer(os.pwritev, self.handle, packed.data, edges[0], self.path)
        sums = checksums(packed.data, [end - begin for begin, end in pairwise(edges)])
        self._sums[strip][2 * classes.start : 2 * classes.stop] = sums

    def write_strips(self, strips: Iterable[tuple[Values, Values, NDArray[np.int64]]]) -> None:
        """Write strip after strip: for each, matrices that hold its rows, and where those begin."""
        for strip, (L, R, start) in enumerate(strips):
            for classes in self.parts(strip):
                self.write(strip, L, R, (start, start), classes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def announce(handle: int, first: int, last: int) -> None:
    """Tell the system that part of a file will be read soon, so that it fetches it from disk meanwhile."""
    if hasattr(os, "posix_fadvise"):
        for begin in range(first, last, AHEAD):
            os.posix_fadvise(handle, begin, min(AHEAD, last - begin), os.POSIX_FADV_WILLNEED)


def transfer(call: Any, handle: int, view: memoryview, place: int, path: Path) -> None:
    """Read or write bytes at a place in a file, in as many calls as the system needs."""
    done = 0
    while done < len(view):
        step = call(handle, [view[done : done + (1 << 30)]], place + done)
        if step == 0:
            raise damaged(path, f"cut off at byte {place + done}, expected {place + len(view)} bytes")
        done += step


def slot_starts(
    rows: Side, columns: Side, first: NDArray[Any], slots: int, end: int | None = None
) -> tuple[NDArray[np.int64], int]:
    """Where each row begins if strips take turns in some slots, and how many values a slot has.

    Strip i is in slot i % slots, with the columns from first[i] on, all or those before `end`; `start[a] + b` is the
    place of column b of row a.
    """
    widths = (columns.size if end is None else end) - first.astype(np.int64)
    room = int((np.diff(rows.class_start) * widths).max())
    strip = rows.pips.astype(np.int64)
    number = np.arange(rows.size) - rows.class_start[strip]  # in its strip
    return strip % slots * room + number * widths[strip] - first[strip], room


_own = threading.local()  # what each thread read last


def buffer(size: int) -> Packed:
    """Room for what this thread reads next, in the place of what it read before."""
    if getattr(_own, "size", -1) < size:
        _own.size, _own.buffer = size, np.empty(size, np.uint8)
    packed: Packed = _own.buffer[:size]
    return packed


def checksums(raw: memoryview, lengths: list[int]) -> list[int]:
    """The checksums of consecutive stretches of these lengths: CRC-32, which zlib computes at several GB/s."""
    ends = list(accumulate(lengths, initial=0))
    return [zlib.crc32(raw[begin:end]) for begin, end in pairwise(ends)]
