"""Values of a solve that is on disk, in the thesis' numbering: each component is put in that order when it is read."""

import math
from collections.abc import Iterator
from io import BufferedReader
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from madn import _readout
from madn.board import Board
from madn.errors import CorruptBlockError
from madn.solver.components import DTYPE, HALF
from madn.solver.scratch import Scratch
from madn.solver.zones import Zones


class OrderedValues:
    """The value of every position, by ID, from the files of a scratch directory."""

    def __init__(self, scratch: Scratch) -> None:
        self.scratch, self.rules = scratch, scratch.plan.rules
        self.representation = scratch.plan.representation
        self.zones = Zones(self.rules)
        self.shift = 0.5 if self.representation == "float64" else 0.0
        self._files: dict[tuple[int, int], BufferedReader] = {}

    def read(self, first: int, out: NDArray[Any]) -> None:
        """Fill `out` with the values of the IDs from `first` on."""
        filled, full, half = 0, (1 << self.rules.pieces) - 1, HALF[self.representation]
        while filled < len(out):
            run = self.zones.run(first + filled)
            skip = first + filled - run.first
            part = out[filled : filled + run.size - skip]
            if full in (run.own, run.other):
                part[:] = self.shift + (half if run.own == full else -half)
            else:
                at = self._place(run.own, run.other, run.own_pieces, run.other_pieces) + skip
                file = self._ordered(run.own, run.other)
                file.seek(at * part.itemsize)
                if file.readinto(part.view(np.uint8).data) != part.nbytes:
                    raise CorruptBlockError(f"{file.name}: cut off")
                part += self.shift if self.shift else 0
            filled += len(part)

    def win(self, board: Board) -> float:
        """The winning probability of one position."""
        value = np.zeros(1, DTYPE[self.representation])
        self.read(self.zones.ranking.rank(*board.masks), value)
        return float(value[0]) if self.representation == "float64" else 0.5 + float(value[0]) / 2**29

    def clear(self) -> None:
        """Remove the files of the solve."""
        self.close()
        self.scratch.clear()

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _place(self, own: int, other: int, own_pieces: int, other_pieces: int) -> int:
        """Where the positions with so many pieces on the main field begin in the file of a pair."""
        total, S = 0, self.rules.squares
        for m1 in range(self.rules.pieces - own.bit_count() + 1):
            for m2 in range(self.rules.pieces - other.bit_count() + 1):
                if (m1, m2) == (own_pieces, other_pieces):
                    return total
                total += math.comb(S, m1) * math.comb(S - m1, m2)
        return total

    def _ordered(self, own: int, other: int) -> BufferedReader:
        """All positions of a pair with one side to move, in the order of their IDs.

        A file, not a map of it: pages of a map would count as memory of the solve.
        """
        key = own, other
        if key not in self._files:
            pair = next(pair for pair in self.scratch.pairs if set(pair) == {own, other})
            path = self.scratch.path(pair, f"{own:x}-{other:x}.ordered")
            if not path.exists():
                part = path.with_suffix(".part")
                with open(part, "wb") as out:
                    self._write(pair, own, other, out)
                part.replace(path)
            self._files[key] = open(path, "rb")  # noqa: SIM115  (until close)
        return self._files[key]

    def _write(self, pair: tuple[int, int], own: int, other: int, out: BinaryIO) -> None:
        mine, theirs = self.scratch.sides[own], self.scratch.sides[other]
        rank = np.zeros(mine.size, np.int64)
        pieces = np.bitwise_count(mine.masks)
        for m1 in range(mine.open_pieces + 1):
            order = self.zones.order(mine, m1)
            rank[order] = np.arange(len(order))
        whole = np.zeros(mine.size, np.int32)
        S = self.rules.squares
        for strip, values in enumerate(self._strips(pair, own)):
            begin, end = (int(n) for n in mine.class_start[strip : strip + 2])
            start = (np.arange(mine.size, dtype=np.int64) - begin) * theirs.size
            for a in range(begin, end):
                m1 = int(pieces[a])
                for m2 in range(theirs.open_pieces + 1):
                    width = math.comb(S - m1, m2)
                    at = self._place(own, other, m1, m2) + int(rank[a]) * width
                    row = np.empty(width, values.dtype)
                    _readout.copy_rows(
                        values, start, whole, values, start, mine.turned, np.array([a], np.int32), theirs.masks,
                        self.zones.order(theirs, m2), width, 0, row, 0.0,
                    )  # fmt: skip
                    out.seek(at * row.itemsize)
                    out.write(row.data)

    def _strips(self, pair: tuple[int, int], own: int) -> Iterator[NDArray[Any]]:
        """Class after class of own states: a row for each, with a value for each state of the other side."""
        file = self.scratch.open(pair)
        tiling = file.tiling
        rows, columns = tiling.rows, tiling.columns
        mine, theirs = (rows, columns) if rows.finish == own else (columns, rows)
        for strip in range(len(mine.class_start) - 1):
            begin, end = (int(n) for n in mine.class_start[strip : strip + 2])
            values = np.zeros((end - begin) * theirs.size, file.dtype)
            if mine is rows:
                unused = np.zeros_like(values)
                start = (np.arange(rows.size, dtype=np.int64) - begin) * theirs.size
                tiling.unpack(strip, file.read(strip), values, unused, start)
            if mine is columns or tiling.mirrored:  # kept with the other side as rows: exchanged, and so is the view
                square = values.reshape(end - begin, theirs.size)
                kept = range(strip, strip + 1)
                for i in range(strip if tiling.mirrored else tiling.strips):
                    first, last = (int(n) for n in rows.class_start[i : i + 2])
                    left, right = (np.zeros((last - first) * (end - begin), file.dtype) for _ in range(2))
                    start = (np.arange(rows.size, dtype=np.int64) - first) * (end - begin) - begin
                    tiling.unpack(i, file.read(i, kept), left, right, start, kept)
                    square[:, first:last] = -right.reshape(last - first, end - begin).T
            yield values
        file.close()
