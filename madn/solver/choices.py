"""The best moves of a large component: found strip by strip while its values are in memory, and kept in a file.

Those of a small component are found from its rows when it is delivered (`best_moves.py`). For a large one that would
take seven classes of whole rows in memory, and as many of each exit: 16 GiB with four pieces. Here the kernel compares
the vectors of which a sweep takes the largest, so nothing has to be loaded for it.
"""

import os
import threading
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn.board import Board
from madn.solver._sweep import Sweeper
from madn.solver.census import Census
from madn.solver.figures import damaged, writing_to
from madn.solver.numbers import Representation
from madn.solver.sides import Side
from madn.solver.strips import PART, StripFile, Tiling, buffer, checksums, transfer
from madn.solver.tables import column_groups

LEVEL = 1  # of zlib: words shrink to a quarter, at 150 MB a second per thread
Words = NDArray[np.uint16]
Compared = tuple[int, int, float, tuple[float, int, int, int]]  # what `Sweeper.choose` returns for one side


class ChoiceFile(StripFile):
    """A file of strips with a word for each position, in which each half of a tile is compressed.

    The halves are in the order in which they were written. `written`, as returned by `text`, says where each one is and
    has the checksums.
    """

    def __init__(self, path: Path, tiling: Tiling, written: Mapping[str, str] | None = None) -> None:
        super().__init__(path, tiling, None if written is None else written["sums"])
        shape = tiling.strips, 2 * tiling.classes, 2
        self._places = np.zeros(shape, np.int64)  # where each half begins, and how many bytes it has
        if written is not None:
            self._places[:] = np.frombuffer(bytes.fromhex(written["places"]), ">i8").reshape(shape)
        self._end = 0
        self._lock = threading.Lock()

    def text(self) -> dict[str, str]:
        """What is needed to read the file."""
        return {"sums": self.sums_text(), "places": self._places.astype(">i8").tobytes().hex()}

    def write_words(self, strip: int, L: Words, R: Words, start: NDArray[np.int64], classes: range) -> None:
        """Write tiles of a strip; `start` says where its rows begin in L and R."""
        edges = self._edges[strip][2 * classes.start : 2 * classes.stop + 1]
        packed = buffer(edges[-1] - edges[0])
        self.tiling.tiles.pack(strip, L, R, start, start, classes.start, classes.stop, packed)
        lengths = [end - begin for begin, end in pairwise(edges)]
        self._sums[strip][2 * classes.start : 2 * classes.stop] = checksums(packed.data, lengths)
        ends = np.cumsum(lengths).tolist()
        halves = [
            zlib.compress(packed.data[end - length : end], LEVEL) for end, length in zip(ends, lengths, strict=True)
        ]
        with self._lock:
            begin = self._end
            self._end += sum(map(len, halves))
        with writing_to(self.path):
            transfer(os.pwritev, self.handle, memoryview(b"".join(halves)), begin, self.path)
        for part, half in enumerate(halves, 2 * classes.start):
            self._places[strip, part] = begin, len(half)
            begin += len(half)

    def _extents(self, strip: int, parts: range) -> list[tuple[int, int]]:
        return [
            (int(begin), int(begin + length))
            for begin, length in self._places[strip, parts.start : parts.stop : parts.step]
        ]

    def _fetch(self, strip: int, parts: range, packed: memoryview) -> None:
        at, edges = 0, self._edges[strip]
        for part, (begin, end) in zip(parts, self._extents(strip, parts), strict=True):
            length = edges[part + 1] - edges[part]
            half = bytearray(end - begin)
            transfer(os.preadv, self.handle, memoryview(half), begin, self.path)
            try:
                words = zlib.decompressobj().decompress(half, length)
            except zlib.error as error:
                raise damaged(self.path, f"tile {part // 2} of strip {strip}: {error}") from None
            if len(words) != length:
                raise damaged(self.path, f"tile {part // 2} of strip {strip} has {len(words)} bytes, not {length}")
            packed[at : at + length] = words
            at += length


class Choices:
    """Finds the best moves of a component strip by strip and writes them to a file; without a path it only counts."""

    def __init__(
        self, rows: Side, columns: Side, representation: Representation, path: Path | None, tiling: Tiling, threads: int
    ) -> None:
        self.rows, self.columns, self.representation, self.path = rows, columns, representation, path
        self.tiling, self.threads = tiling, threads
        self.edges: list[int] = column_groups(columns).tolist()  # the first class of each group, and the end
        self.census = Census()
        self.file: ChoiceFile | None = None

    def begin(self) -> None:
        """Begin with the first strip, and forget what was found before."""
        self.close()
        self.census = Census()
        if self.path is not None:
            self.file = ChoiceFile(self.path, self.tiling)

    def find(self, sweeper: Sweeper, strip: int) -> None:
        """Find the best moves of a strip that has been computed."""
        with ThreadPoolExecutor(self.threads, thread_name_prefix="madn-choose") as pool:
            for found in list(pool.map(lambda groups: self._part(sweeper, strip, groups), self._parts(strip))):
                for census in found:
                    self.census.add(census)

    def finish(self) -> dict[str, Any]:
        """Wait until everything is on disk; return what is needed to read it and what was counted."""
        written: dict[str, Any] = {"census": asdict(self.census)}
        if self.file is not None:
            self.file.flush()
            written |= self.file.text()
        self.close()
        return written

    def close(self) -> None:
        """Close the file, which stays on disk."""
        if self.file is not None:
            self.file.close()
            self.file = None

    def _parts(self, strip: int) -> list[range]:
        """The groups of columns of a strip, taken together so that their words are a few megabytes at a time."""
        class_start, rows = self.columns.class_start, self.tiling.rows_of(strip)
        first = self.tiling.first_class(strip)
        out, begin = [], next(g for g, end in enumerate(self.edges[1:]) if end > first)
        for g in range(begin, len(self.edges) - 1):
            columns = int(class_start[self.edges[g + 1]] - class_start[max(first, self.edges[begin])])
            if g + 2 == len(self.edges) or 4 * columns * (rows.stop - rows.start) >= PART:
                out.append(range(begin, g + 1))
                begin = g + 1
        return out

    def _part(self, sweeper: Sweeper, strip: int, groups: range) -> list[Census]:
        classes = range(max(self.tiling.first_class(strip), self.edges[groups.start]), self.edges[groups.stop])
        rows = self.tiling.rows_of(strip)
        first, end = (int(self.columns.class_start[number]) for number in (classes.start, classes.stop))
        height, width = rows.stop - rows.start, end - first
        left, right = (np.zeros(max(1, height * width), np.uint16) for _ in range(2))
        found = sweeper.choose(strip, groups.start, groups.stop, self.representation.tie, left, right)
        if self.file is not None:
            self.file.write_words(strip, left, right, np.arange(height, dtype=np.int64) * width - first, classes)
        return [self._census(side, column_moves) for column_moves, side in enumerate(found)]

    def _census(self, found: Compared, column_moves: int) -> Census:
        decisions, unique, margins, (margin, row, column, roll) = found
        census = Census(decisions=decisions, unique=unique, cost=margins / self.representation.unit)
        if margin > 0:
            masks = self.rows.whole_masks[row], self.columns.whole_masks[column]
            board = Board.from_masks(*(masks[::-1] if column_moves else masks), self.rows.rules)
            census.largest_cost, census.largest_cost_roll = margin / self.representation.unit, roll
            census.largest_cost_board = str(board)
        return census
