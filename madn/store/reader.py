"""Reading blocks: open files, frames on demand, a bounded cache. Threads may share it."""

import os
import stat
import threading
from bisect import bisect_right
from collections import OrderedDict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from madn.errors import CorruptBlockError, MadnError, MissingBlockError
from madn.store import blocks
from madn.store.blocks import Array, Encoding
from madn.store.catalogue import Catalogue, read_catalogue

CACHE_BYTES = 256 << 20
FLAGS = os.O_RDONLY
for _name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    FLAGS |= getattr(os, _name, 0)


def open_reader(directory: Path, cache_bytes: int = CACHE_BYTES) -> "BlockReader":
    """Open the database at a path: its catalogue now, its blocks when they are asked for.

    All of it comes from the directory that is at the path now, even if another takes its place later.
    """
    while True:
        descriptor = None
        if os.open in os.supports_dir_fd:
            try:
                descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except OSError as error:
                raise CorruptBlockError(f"{directory}: no database here: {error.strerror}") from None
        try:
            catalogue = read_catalogue(directory)
            if descriptor is None or os.path.samestat(os.fstat(descriptor), os.stat(directory)):
                return BlockReader(directory, descriptor, catalogue, cache_bytes)
        except BaseException:
            if descriptor is not None:
                os.close(descriptor)
            raise
        os.close(descriptor)


class BlockReader:
    """The values of a database, by position ID."""

    def __init__(
        self, directory: Path, descriptor: int | None, catalogue: Catalogue, cache_bytes: int
    ) -> None:
        self.directory = directory
        self._directory_descriptor = descriptor
        self.catalogue = catalogue
        self.cache_bytes = cache_bytes
        self._first_ids: list[int] = catalogue.first_id.tolist()
        self._counts: list[int] = catalogue.count.tolist()
        self._encodings: list[Encoding] = [
            catalogue.encodings[i].encoding for i in catalogue.encoding.tolist()
        ]
        self._cache: OrderedDict[int, Array] = OrderedDict()
        self._cached_bytes = 0
        self._files: dict[int, int] = {}
        self._lock = threading.Lock()
        self._closed = False

    def win(self, number: int) -> float:
        """The probability stored for a position ID."""
        block = bisect_right(self._first_ids, number) - 1
        index = number - self._first_ids[block] if block >= 0 else 0
        if block < 0 or index >= self._counts[block]:
            raise MissingBlockError(f"{self.directory}: position {number} is not in this database")
        encoding = self._encodings[block]
        raw: float = self.block(block).item(index)
        return encoding.win(raw)

    def places(self, ids: NDArray[np.int64]) -> list[tuple[int, int, int]]:
        """Say which blocks hold these ascending IDs: (block, start, end) for ids[start:end]."""
        first_id = self.catalogue.first_id
        cuts = np.append(np.searchsorted(ids, first_id), len(ids))
        used = np.flatnonzero(cuts[1:] > cuts[:-1])
        missing = [*ids[: cuts[0]][:1].tolist()]
        last = ids[cuts[used + 1] - 1] if len(used) else ids[:0]
        outside = last >= first_id[used] + self.catalogue.count[used]
        missing += last[outside][:1].tolist()
        if missing:
            raise MissingBlockError(f"{self.directory}: position {missing[0]} is not in this database")
        return list(zip(used.tolist(), cuts[used].tolist(), cuts[used + 1].tolist(), strict=True))

    def wins(self, block: int, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """The probabilities stored for position IDs that are all in one block."""
        return self._encodings[block].wins(self.block(block)[ids - self._first_ids[block]])

    def block(self, block: int) -> Array:
        """The raw values of a block, from the cache or from its file."""
        with self._lock:
            values = self._cache.get(block)
            if values is not None:
                self._cache.move_to_end(block)
                return values
        values = self.load(block)
        with self._lock:
            if block not in self._cache and not self._closed:
                self._cache[block] = values
                self._cached_bytes += values.nbytes
                while self._cached_bytes > self.cache_bytes and len(self._cache) > 1:
                    self._cached_bytes -= self._cache.popitem(last=False)[1].nbytes
        return values

    def encoding(self, block: int) -> Encoding:
        """How the values of a block are to be read."""
        return self._encodings[block]

    def load(self, block: int) -> Array:
        """Read and decode a block from its file."""
        frame = self.frame(block)
        try:
            values = blocks.decode(frame, self._encodings[block], self._first_ids[block], self._counts[block])
        except CorruptBlockError as error:
            raise CorruptBlockError(f"{self.directory}: block {block}: {error}") from None
        values.flags.writeable = False
        return values

    def frame(self, block: int) -> bytes:
        """The compressed bytes of a block."""
        catalogue = self.catalogue
        number = int(catalogue.file[block])
        offset, length = int(catalogue.offset[block]), int(catalogue.length[block])
        descriptor = self._descriptor(number)
        try:
            frame = read_at(descriptor, length, offset)
        except OSError as error:
            raise CorruptBlockError(
                f"{self.directory}: block {block} cannot be read: {error.strerror}"
            ) from None
        if len(frame) != length:
            raise CorruptBlockError(
                f"{self.directory}: {catalogue.files[number].name} ends before block {block}"
            )
        return frame

    def _descriptor(self, number: int) -> int:
        with self._lock:
            if self._closed:
                raise MadnError(f"{self.directory}: the database is closed")
            if number not in self._files:
                record = self.catalogue.files[number]
                self._files[number] = open_file(
                    self.directory / record.name, record.bytes, self._directory_descriptor
                )
            return self._files[number]

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the files and forget the cache; a second time does nothing."""
        with self._lock:
            self._closed = True
            for descriptor in (*self._files.values(), self._directory_descriptor):
                if descriptor is not None:
                    os.close(descriptor)
            self._directory_descriptor = None
            self._files.clear()
            self._cache.clear()
            self._cached_bytes = 0


def open_file(path: Path, size: int, directory: int | None = None) -> int:
    """Open an ordinary file of exactly this size for reading; links, pipes and devices are refused.

    With the descriptor of its directory the file is looked up there, not along its path.
    """
    where = path if directory is None else path.name
    try:
        if not stat.S_ISREG(os.stat(where, dir_fd=directory, follow_symlinks=False).st_mode):
            raise CorruptBlockError(f"{path}: not an ordinary file")
        descriptor = os.open(where, FLAGS, dir_fd=directory)
    except OSError as error:
        if isinstance(error, MadnError):
            raise
        raise CorruptBlockError(f"{path}: {error.strerror}") from None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_size != size:
        os.close(descriptor)
        raise CorruptBlockError(f"{path}: {found.st_size} bytes, the catalogue says {size}")
    return descriptor


_seek = threading.Lock()


def read_at(descriptor: int, length: int, offset: int) -> bytes:
    """Read up to `length` bytes at an offset, whatever other threads do."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, length, offset)
    with _seek:
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, length)
