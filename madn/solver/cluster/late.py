"""The values that the row player's captures lead to in a streamed panel: a block of each process for each strip.

They are in a file. When a strip is computed it reads its blocks as the last sweep left them; after that each block is
overwritten once its process has computed the new values. So one file is enough, and none of it is in memory between two
strips.
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
    """A file of blocks of values: `sizes` says for each process how many values its block has for each strip.

    A block that was never written reads as zeros. What is read is compared with checksums, which this process keeps.
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
        """Read the block of a process for a strip."""
        (place, size), expected = self._blocks[strip, source], self._sums.get((strip, source))
        if expected is None:
            return np.zeros(size, self.dtype)
        values = np.empty(size, self.dtype)
        transfer(os.preadv, self.handle, values.view(np.uint8).data, place, self.path)
        found = zlib.crc32(values.data)
        if found != expected:
            block = f"the block of process {source} for strip {strip}"
            raise damaged(self.path, f"checksum of {block} expected {expected:08x}, found {found:08x}")
        return values

    def write(self, strip: int, source: int, values: Values) -> None:
        """Write the block of a process for a strip."""
        with writing_to(self.path):
            transfer(os.pwritev, self.handle, values.view(np.uint8).data, self._blocks[strip, source][0], self.path)
        self._sums[strip, source] = zlib.crc32(values.data)

    def announce(self, strip: int) -> None:
        """Announce that a strip's blocks will be read soon."""
        for (number, _), (place, size) in self._blocks.items():
            if number == strip:
                announce(self.handle, place, place + size * self.dtype.itemsize)

    def close(self) -> None:
        """Close and remove the file; what a later process may continue from is in a checkpoint."""
        os.close(self.handle)
        self.path.unlink(missing_ok=True)
