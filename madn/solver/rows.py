"""Reading whole rows of a component from disk, one class after the other, with either side as rows."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from madn.solver import _reorder
from madn.solver.numbers import Values
from madn.solver.sides import Side
from madn.solver.strips import LEFT, RIGHT, StripFile


class WholeRows:
    """Reads the rows of one side of a solved component: a value for each state of the other side.

    Values are in this side's view, minus one half, in stored units. The file may have the other side as rows, or only
    half of a component whose sides are alike: what is missing is found with rows and columns exchanged.
    """

    def __init__(self, file: StripFile, own: int, pool: ThreadPoolExecutor) -> None:
        self.file, self.pool = file, pool
        rows, columns = file.tiling.rows, file.tiling.columns
        self.as_kept = rows.finish == own
        self.side, self.others = (rows, columns) if self.as_kept else (columns, rows)
        self._own = threading.local()

    def size(self, number: int) -> int:
        """How many rows a class has."""
        return int(self.side.class_start[number + 1] - self.side.class_start[number])

    def load(self, number: int, first: int, L: Values, R: Values | None) -> None:
        """Load the rows of a class, one after the other from `first` on: own side to move (L), other side to move (R).

        The rows of the next class are announced, so that the disk works while those of this one are used.
        """
        kept, transposed = self._parts(number)
        jobs: list[Any] = [(self._load_kept, part) for part in _cut(kept)]
        jobs += [(self._load_transposed, part) for part in _cut(transposed)]
        for done in [self.pool.submit(job, part, number, first, L, R) for job, part in jobs]:
            done.result()
        if number + 1 < len(self.side.class_start) - 1:
            self.pool.submit(self._announce, number + 1, R is not None)

    def _parts(self, number: int) -> tuple[range, range]:
        """The classes of columns that the file has with a class of rows, and the strips that have it as columns."""
        tiling, none = self.file.tiling, range(0)
        if not self.as_kept:
            return none, range(tiling.strips)
        return range(tiling.first_class(number), tiling.classes), range(number) if tiling.mirrored else none

    def _announce(self, number: int, both: bool) -> None:
        kept, transposed = self._parts(number)
        if kept:
            self.file.announce(number, kept, None if both else LEFT)
        for strip in transposed:
            self.file.announce(strip, range(number, number + 1), None if both else RIGHT)

    def _load_kept(self, classes: range, number: int, first: int, L: Values, R: Values | None) -> None:
        start = first + np.arange(self.size(number), dtype=np.int64) * self.others.size
        tiles, classes_kept = self.file.tiling.tiles, (classes.start, classes.stop)
        if R is None:
            tiles.unpack_half(number, self.file.read(number, classes, LEFT), L, start, *classes_kept)
        else:
            tiles.unpack(number, self.file.read(number, classes), L, R, start, start, *classes_kept)

    def _load_transposed(self, strips: range, number: int, first: int, L: Values, R: Values | None) -> None:
        """Load tiles with rows and columns exchanged: L and R change places, and the sign changes."""
        tiling = self.file.tiling
        rows, columns = tiling.rows, tiling.columns
        column, width = int(columns.class_start[number]), self.size(number)
        kept = range(number, number + 1)
        for strip in strips:
            begin, end = (int(n) for n in rows.class_start[strip : strip + 2])
            height = end - begin
            if height * width == 0:
                continue
            left, right = self._space(height * width)
            start = np.arange(height, dtype=np.int64) * width - column
            if R is None:
                tiling.tiles.unpack_half(strip, self.file.read(strip, kept, RIGHT), right, start, number, number + 1)
            else:
                packed = self.file.read(strip, kept)
                tiling.tiles.unpack(strip, packed, left, right, start, start, number, number + 1)
                _reorder.transpose(left, height, width, R, first + begin, self.others.size)
            _reorder.transpose(right, height, width, L, first + begin, self.others.size)

    def _space(self, size: int) -> tuple[Values, Values]:
        """Room for a tile, for this thread alone."""
        if len(getattr(self._own, "right", ())) < size:
            self._own.left, self._own.right = (np.empty(size, self.file.dtype) for _ in range(2))
        return self._own.left, self._own.right


def _cut(whole: range) -> list[range]:
    """Cut a range into at most eight parts of about the same length."""
    step = max(1, -(-len(whole) // 8))
    return [whole[at : at + step] for at in range(0, len(whole), step)]


def row_values(side: Side, others: Side) -> int:
    """How many values the largest class of rows has."""
    return int(np.diff(side.class_start).max()) * others.size
