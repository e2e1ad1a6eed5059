"""What the row player's captures lead to, of a streamed panel: in a file, for each strip a block from each process.

A strip reads its blocks when it is computed, as the last sweep left them; after that each is written anew, when its
process has computed those values. So one file is enough, and nothing of it is in memory between two strips.
"""

import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from madn.solver.figures import damaged, writing_to
from madn.solver.numbers import Values
from madn.solver.strips import announce, transfer


class LateFile:
    """A file of blocks of values: `sizes` says for each process how many there are for each strip.

    A block that was never written is zeros. What is read is compared with checksums, which this process remembers.
    """

    def __init__(self, path: Path, sizes: Mapping[int, list[int]], dtype: Any) -> None:
        self.path, self.dtype = path, np.dtype(dtype)
        self._blocks: dict[tuple[int, int], tuple[int, int]] = {}  # by strip and process: where it begins, its size
        at = 0
        for strip, blocks in enumerate(zip(*sizes.values(), strict=True)):
            for source, size in zip(sizes, blocks, strict=True):
                self._blocks[strip, source] = at, size
                at += size * self.dtype.itemsize
        self._sums: dict[tuple[int, int], int] = {}
        with writing_to(path):
            self.handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)

    def read(self, strip: int, source: int) -> Values:
        """The values of a strip that a process has."""
        (place, size), expected = self._blocks[strip, source], self._sums.get((strip, source))
        if expected is None:
            return np.zeros(size, self.dtype)
        values = np.empty(size, self.dtype)
        transfer(os.preadv, self.handle, values.view(np.uint8).data, place, self.path)
        found = zlib.crc32(values.data)
        if found != expected:
            block = f"what process {source} has for strip {strip}"
            raise damaged(self.path, f"checksum of {block} expected {expected:08x}, found {found:08x}")
        return values

    def write(self, strip: int, source: int, values: Values) -> None:
        """Write the values of a strip that a process has."""
        with writing_to(self.path):
            transfer(os.pwritev, self.handle, values.view(np.uint8).data, self._blocks[strip, source][0], self.path)
        self._sums[strip, source] = zlib.crc32(values.data)

    def announce(self, strip: int) -> None:
        """Say that a strip will be read soon."""
        for (number, _), (place, size) in self._blocks.items():
            if number == strip:
                announce(self.handle, place, place + size * self.dtype.itemsize)

    def close(self) -> None:
        """Remove the file: a checkpoint has what another process may go on from."""
        os.close(self.handle)
        self.path.unlink(missing_ok=True)
