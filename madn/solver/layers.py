"""Proved bounds of solved components in the scratch directory.

| file | holds |
|---|---|
| `NN.lower` | lower bounds, as strips: multiples of 2^-24 |
| `NN.widths` | a byte for each of them: the upper bound is this many times 2^-24 above it |

Both are in the view of the side that has the rows. With rows and columns exchanged, a lower bound is an upper one.
"""

import os
from enum import IntEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from madn.errors import PlanError
from madn.solver import _packing
from madn.solver.figures import damaged, writing_to
from madn.solver.numbers import Values
from madn.solver.strips import Packed, Starts, StripFile, Tiling, checksums, transfer

STORED = 32  # steps of a fixed-point number in one step of what is stored


class Layer(IntEnum):
    """Which of a pair of bounds is read."""

    LOWER = 0
    MIDDLE = 1
    UPPER = 2

    @property
    def opposite(self) -> "Layer":
        """What this layer becomes with rows and columns exchanged."""
        return Layer(2 - self)


def round_outwards(values: Values, layer: Layer) -> None:
    """Round lower bounds down, or upper bounds up, to what can be stored, in place."""
    if layer == Layer.UPPER:
        values += STORED - 1
    values &= -STORED


class BoundsFile(StripFile):
    """The bounds of a component; `read` returns one layer of them. Without `sums` new files are made."""

    def __init__(self, path: Path, tiling: Tiling, layer: Layer, sums: dict[str, str] | None = None) -> None:
        super().__init__(path.with_suffix(".lower"), tiling, None if sums is None else sums["lower"])
        self.layer, self.widths_path = layer, path.with_suffix(".widths")
        self._counts = np.repeat(tiling.counts, 2, axis=1)
        ends = np.cumsum(self._counts).reshape(self._counts.shape)
        self._places: NDArray[np.int64] = np.concatenate([ends[:, :1] - self._counts[:, :1], ends], axis=1)
        self._width_sums = np.zeros(self._counts.shape, np.uint32)
        if sums is not None:
            found = np.frombuffer(bytes.fromhex(sums["widths"]), ">u4").astype(np.uint32)
            self._width_sums = found.reshape(self._counts.shape)
        flags = os.O_RDWR | (os.O_CREAT | os.O_TRUNC if sums is None else 0)
        try:
            self._widths = os.open(self.widths_path, flags, 0o644)
        except FileNotFoundError:
            super().close()
            raise damaged(self.widths_path, "missing") from None

    def sums(self) -> dict[str, str]:
        """The checksums of all that was written."""
        return {"lower": self.sums_text(), "widths": self._width_sums.astype(">u4").tobytes().hex()}

    def flush(self) -> None:
        """Wait until everything is on disk."""
        super().flush()
        with writing_to(self.widths_path):
            os.fsync(self._widths)

    def close(self) -> None:
        """Close the files."""
        super().close()
        os.close(self._widths)

    def read(self, strip: int, classes: range | None = None, half: int | None = None) -> Packed:
        """Like `StripFile.read`, for this file's layer."""
        packed = super().read(strip, classes, half)
        if self.layer != Layer.LOWER:
            parts = self._halves(classes or range(self.tiling.first_class(strip), self.tiling.classes), half)
            counts = self._counts[strip, parts.start : parts.stop : parts.step]
            widths = self._read_widths(strip, parts, counts)
            _packing.widen(packed, widths, np.ascontiguousarray(counts), 2 if self.layer == Layer.MIDDLE else 1)
        return packed

    def _read_widths(self, strip: int, parts: range, counts: NDArray[np.int64]) -> Packed:
        widths, at, edges = np.empty(int(counts.sum()), np.uint8), 0, self._places[strip]
        runs = [(parts.start, parts.stop)] if parts.step == 1 else [(part, part + 1) for part in parts]
        for first, last in runs:
            begin, end = int(edges[first]), int(edges[last])
            view = widths.data[at : at + end - begin]
            transfer(os.preadv, self._widths, view, begin, self.widths_path)
            at += end - begin
        found = checksums(widths.data, counts.tolist())
        for part, number in zip(parts, found, strict=True):
            expected = int(self._width_sums[strip, part])
            if number != expected:
                tile = f"tile {part // 2} of strip {strip}"
                raise damaged(self.widths_path, f"checksum of {tile} expected {expected:08x}, found {number:08x}")
        return widths

    def write_bounds(
        self, strip: int, lower: tuple[Values, Values], upper: tuple[Values, Values], starts: Starts, classes: range
    ) -> None:
        """Write tiles of a strip from matrices of lower and of upper bounds, both rounded outwards."""
        high = self.pack(strip, *upper, starts, classes).copy()
        low = self.pack(strip, *lower, starts, classes)
        parts = slice(2 * classes.start, 2 * classes.stop)
        counts = np.ascontiguousarray(self._counts[strip, parts])
        widths = np.empty(int(counts.sum()), np.uint8)
        try:
            _packing.spread(low, high, counts, widths)
        except ValueError as error:
            raise PlanError(f"{self.path}: {error}; a smaller tolerance brings them together") from None
        self.write_packed(strip, low, classes)
        with writing_to(self.widths_path):
            transfer(os.pwritev, self._widths, widths.data, int(self._places[strip, parts.start]), self.widths_path)
        self._width_sums[strip, parts] = checksums(widths.data, counts.tolist())


def layer_of(direction: int, row_view: bool) -> Layer:
    """The layer a sweep reads: downwards, lower bounds in the row player's view, upper ones in the column player's."""
    return Layer.LOWER if (direction < 0) == row_view else Layer.UPPER
