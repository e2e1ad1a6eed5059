"""Reading blocks: `FrameReader` reads the frames of any game; `BlockReader` decodes those of Ludo."""

import errno
import os
import stat
import threading
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from madn._core import Game
from madn.board import Board
from madn.errors import (
    CorruptBlockError,
    MadnError,
    MissingBlockError,
    MissingDatabaseError,
    NoBoundsError,
    NoValuesError,
    ResourceError,
)
from madn.machine import processors
from madn.ranges import MOST_BYTES, checked_int
from madn.store import blocks, policy
from madn.store.blocks import Array, Encoding
from madn.store.catalogue import CatalogueFile, LudoCatalogueFile, closed_error, one_line
from madn.store.forks import renew_after_fork
from madn.store.records import SUMS, BlockFile, BlockTable, FrameTable, frame_digest

CACHE_BYTES = 256 << 20
TABLE_BLOCKS = 128  # rows of the catalogue that are read at a time
AT_ONCE = 32  # blocks that a thread takes at a time when many positions are looked up
FLAGS = os.O_RDONLY
for _name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    FLAGS |= getattr(os, _name, 0)


class OpenFile:
    """A file of frames. It stays open as long as anything refers to it, so a read in progress keeps it open."""

    __slots__ = ("descriptor", "size")

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.size = os.fstat(descriptor).st_size

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        close(self.descriptor)


class FrameReader(ABC):
    """Reads the frames of a database of any game: opens all its files at once, and caches decoded blocks.

    Everything is read from the directory that was at the path when it was opened, even if another one replaces it
    later. Threads may share a reader, and any of them may close it. A block is given as a table of blocks and its index
    in that table.
    """

    catalogue_file: ClassVar[type[CatalogueFile]]

    def __init__(self, directory: Path, cache_bytes: int = CACHE_BYTES) -> None:
        self.directory = directory
        self.cache_bytes = cache_bytes
        self._cache: OrderedDict[int, Array] = OrderedDict()
        self._cached_bytes = 0
        self._lock = threading.Lock()
        self._closed = True  # until it is open
        while self._closed:
            self._closed = not self._open()
        renew_after_fork(self)

    def _open(self) -> bool:
        """Open the catalogue and all files; False if another directory replaced this one meanwhile."""
        descriptor = _open_directory(self.directory)
        try:
            try:
                self.catalogue = self.catalogue_file(self.directory)
            except MadnError:
                if _is_at(descriptor, self.directory):
                    raise
                return False
            self._files = tuple(_opened(self.directory, record, descriptor) for record in self.catalogue.files)
            self._sums_bytes = _size(self.directory / SUMS, descriptor)
            if not _is_at(descriptor, self.directory):
                self.catalogue.close()
                return False
            return True
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def after_fork(self) -> None:
        """Prepare for use in a forked process, where the lock could stay held for ever; files need nothing."""
        self._lock = threading.Lock()
        self._cached_bytes = sum(values.nbytes for values in self._cache.values())

    @abstractmethod
    def decode(self, table: Any, at: int, frame: bytes) -> Array:
        """Decode a block; `CorruptBlockError` if the frame is not what the catalogue says."""

    def block(self, table: FrameTable, at: int, keep: bool = True) -> Array:
        """The decoded block, from the cache or from its file; with `keep` it is put into the cache."""
        return self._cached(table.first_block + at, partial(self.load, table, at), keep)

    def _cached(self, number: int, load: Callable[[], Array], keep: bool = True) -> Array:
        """The array with this number in the cache, or else the one that `load` returns."""
        with self._lock:
            values = self._cache.get(number)
            if values is not None:
                self._cache.move_to_end(number)
                return values
        values = load()
        if not keep:
            return values
        with self._lock:
            if number not in self._cache and not self._closed:
                self._cache[number] = values
                self._cached_bytes += values.nbytes
                while self._cached_bytes > self.cache_bytes and len(self._cache) > 1:
                    self._cached_bytes -= self._cache.popitem(last=False)[1].nbytes
        return values

    def load(self, table: FrameTable, at: int) -> Array:
        """Read and decode a block from its file."""
        frame = self.frame(table, at)
        try:
            values = self.decode(table, at, frame)
        except CorruptBlockError as error:
            raise self._damaged(table, at, one_line(error)) from None
        values.flags.writeable = False
        return values

    def frame(self, table: FrameTable, at: int) -> bytes:
        """The compressed bytes of a block, compared with its digest."""
        number, offset, length = int(table.file[at]), int(table.offset[at]), int(table.length[at])
        with self._lock:
            self.check_open()
            file = self._files[number]
        if isinstance(file, str):
            raise CorruptBlockError(file)
        try:
            frame = read_at(file.descriptor, length, offset)
        except OSError as error:
            raise self._damaged(table, at, f"cannot be read: {error.strerror}") from None
        if len(frame) != length:
            name = self.catalogue.files[number].name
            raise self._damaged(table, at, f"expected {length} bytes at {offset} of {name}, found {len(frame)}")
        if (digest := frame_digest(frame)) != table.digest[at]:
            digests = f"catalogue says {one_line(table.digest[at])}, frame has {digest}"
            raise self._damaged(table, at, f"SHA-256 mismatch: {digests}")
        return frame

    def _damaged(self, table: FrameTable, at: int, problem: str) -> CorruptBlockError:
        return CorruptBlockError(f"{self.directory}: block {table.first_block + at}: {problem}")

    def totals(self) -> tuple[int, int]:
        """The number of blocks and the number of positions in them."""
        return self.catalogue.totals()

    def stored_bytes(self) -> int:
        """The bytes of those files of the database that exist."""
        return self.catalogue.bytes + self._sums_bytes + sum(getattr(file, "size", 0) for file in self._files)

    @property
    def closed(self) -> bool:
        """Whether the database was closed."""
        return self._closed

    def check_open(self) -> None:
        """Raise `ClosedDatabaseError` if the database was closed."""
        if self._closed:
            raise closed_error(self.directory)

    def __del__(self) -> None:
        if not self._closed:
            self.close()

    def close(self) -> None:
        """Close the files and drop the cache; closing again does nothing.

        Reads in progress in other threads still complete; any later query raises `ClosedDatabaseError`.
        """
        with self._lock:
            self._closed = True
            self._files = ()
            self._cache.clear()
            self._cached_bytes = 0
        self.catalogue.close()


def open_reader(directory: Path, cache_bytes: int = CACHE_BYTES) -> "BlockReader":
    """Open a Ludo database; its blocks are read when they are needed."""
    return BlockReader(directory, checked_int("cache_bytes", cache_bytes, 0, MOST_BYTES))


class BlockReader(FrameReader):
    """Reads the values or best moves of a Ludo database by position ID."""

    catalogue_file = LudoCatalogueFile
    catalogue: LudoCatalogueFile

    def __init__(self, directory: Path, cache_bytes: int = CACHE_BYTES) -> None:
        super().__init__(directory, cache_bytes)
        self.policy = any(stored.encoding in blocks.POLICIES for stored in self.catalogue.encodings)
        self.game = Game(self.catalogue.rules)
        self._tables: tuple[list[int], list[BlockTable]] = [], []  # the first IDs of tables, ascending, and the tables
        self._held: Array | None = None  # the raw values of all positions, by ID

    def decode(self, table: BlockTable, at: int, frame: bytes) -> Array:
        """The raw values, or the words of best moves, of a block."""
        first, count, encoding = table.first_ids[at], table.counts[at], table.encodings[at]
        if encoding in blocks.POLICIES:
            return policy.decode(frame, encoding, first, count, self.game)
        return blocks.decode(frame, encoding, first, count, self._where(table, at))

    def _where(self, table: BlockTable, at: int) -> blocks.ProfileSlice:
        profile = self.catalogue.profiles[table.profile[at]]
        return blocks.profile_slice(self.catalogue.rules, profile, int(table.first_rank[at]))

    def load_content(self, table: BlockTable, at: int) -> Array:
        """All that a block stores about its positions: values, with their proved bounds if there are any."""
        encoding = table.encodings[at]
        if not encoding.bounds:
            return self.load(table, at)
        frame = self.frame(table, at)
        try:
            return blocks.decode_bounds(frame, encoding, table.first_ids[at], table.counts[at], self._where(table, at))
        except CorruptBlockError as error:
            raise self._damaged(table, at, one_line(error)) from None

    @property
    def steps(self) -> float:
        """How many steps of the proved bounds there are from 0 to 1; 0 if there are no bounds."""
        encodings = [stored.encoding.bounds for stored in self.catalogue.encodings]
        return encodings[0] if len(encodings) == 1 else 0.0

    def check_bounds(self) -> None:
        """Raise `NoBoundsError` unless there are bounds."""
        if not self.steps:
            stored = "+".join(stored.encoding.name for stored in self.catalogue.encodings)
            raise NoBoundsError(f"{self.directory}: no proved bounds in this database ({stored}); solve with --proved")

    def bounds(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The proved bounds of position IDs, in the order given, in steps from 0 to `steps`."""
        self.check_open()
        self.check_bounds()
        order = np.argsort(ids)
        ascending = ids[order]
        found = np.empty((2, len(ids)), np.int64)
        for table, at, start, end in self.blocks_of(ascending):
            number = -1 - table.first_block - at  # in the cache, where values alone have the number of their block
            block = self._cached(number, partial(self.load_content, table, at))
            content = block[ascending[start:end] - table.first_ids[at]]
            zero = round(table.encodings[at].zero * self.steps)
            found[0, order[start:end]] = content["lower"].astype(np.int64) + zero
            found[1, order[start:end]] = content["upper"].astype(np.int64) + zero
        return found[0], found[1]

    def win(self, id: int) -> float:
        """The probability stored for a position ID."""
        self._check_values()
        table, at = self.find(id)
        raw: float = self.block(table, at).item(id - table.first_ids[at])
        return table.encodings[at].win(raw)

    def choices(self, id: int) -> int:
        """The word of best moves stored for a position ID; `policy.choice` reads it."""
        table, at = self.find(id)
        word: int = self.block(table, at).item(id - table.first_ids[at])
        return word

    def find(self, id: int) -> tuple[BlockTable, int]:
        """The block with a position ID; MissingBlockError if there is none."""
        block = self._find_loaded(id)
        if block is None:
            self._load_table(id)
            block = self._find_loaded(id)
        if block is None:
            raise self.missing(id)
        return block

    def missing(self, id: int) -> MissingBlockError:
        """The error for a position that is not stored; it names the solve that would provide it."""
        rules = self.catalogue.rules
        board = Board.from_masks(*self.game.unrank(id), rules)
        solve = f"madn solve {rules.options} --for {board}"
        return MissingBlockError(f"{self.directory}: {board} is not in this database; `{solve}` provides it")

    def _find_loaded(self, id: int) -> tuple[BlockTable, int] | None:
        starts, tables = self._tables
        index = bisect_right(starts, id) - 1
        if index < 0:
            return None
        table = tables[index]
        at = bisect_right(table.first_ids, id) - 1
        return (table, at) if id < table.first_ids[at] + table.counts[at] else None

    def _load_table(self, id: int) -> None:
        """Read the rows of the catalogue around the block with a position ID, if there is one."""
        block = self.catalogue.block_at(id)
        if block is None:
            return
        table = self.catalogue.blocks(block - block % TABLE_BLOCKS, TABLE_BLOCKS)
        first = table.first_ids[0]
        with self._lock:
            starts, tables = self._tables
            index = bisect_right(starts, first)
            if not index or starts[index - 1] != first:
                self._tables = [*starts[:index], first, *starts[index:]], [*tables[:index], table, *tables[index:]]

    def blocks_of(self, ids: NDArray[np.int64]) -> list[tuple[BlockTable, int, int, int]]:
        """The blocks that have these ascending IDs: (table, index in it, start, end) for ids[start:end]."""
        stretches = []
        start = 0
        while start < len(ids):
            table, at = self.find(int(ids[start]))
            end = int(np.searchsorted(ids, table.first_ids[at] + table.counts[at]))
            stretches.append((table, at, start, end))
            start = end
        return stretches

    def stores(self, id: int) -> bool:
        """Whether a position ID is in the database."""
        if self._find_loaded(id) is None:
            self._load_table(id)
        return self._find_loaded(id) is not None

    def ranges(self) -> Iterator[tuple[int, int]]:
        """The IDs that are stored, in ascending order: first ID and count of each block."""
        blocks, _ = self.totals()
        for first in range(0, blocks, TABLE_BLOCKS):
            table = self.catalogue.blocks(first, TABLE_BLOCKS)
            yield from zip(table.first_ids, table.counts, strict=True)

    def wins(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """The probabilities stored for position IDs, in the order given."""
        self.check_open()
        self._check_values()
        held = self._held
        if held is not None:
            return self.catalogue.encodings[0].encoding.wins(held[ids])
        return self._stored(ids, np.float64, Encoding.wins)

    def hold(self, most: int) -> None:
        """Keep the raw values of all positions in memory, if they are all here and take at most `most` bytes."""
        self.check_open()
        self._check_values()
        encodings = [stored.encoding for stored in self.catalogue.encodings]
        blocks, positions = self.totals()
        if self._held is not None or len(encodings) != 1 or positions * encodings[0].word.itemsize > most:
            return
        end = 0
        for first, count in self.ranges():
            end = end + count if first == end else -1  # -1: the blocks have a gap or overlap
        if end != self.game.positions:
            return
        values: Array = np.empty(positions, encodings[0].dtype)

        def decode(first: int) -> None:
            table = self.catalogue.blocks(first, TABLE_BLOCKS)
            for at, (start, count) in enumerate(zip(table.first_ids, table.counts, strict=True)):
                values[start : start + count] = self.block(table, at, keep=False)

        with ThreadPoolExecutor(min(processors(), 8)) as pool:
            list(pool.map(decode, range(0, blocks, TABLE_BLOCKS)))
        self._held = values

    def close(self) -> None:
        """Close as any reader does, and drop the values held in memory."""
        super().close()
        self._held = None

    def words(self, ids: NDArray[np.int64]) -> NDArray[np.uint32]:
        """The words of best moves stored for position IDs, in the order given; `policy.choice` reads one."""
        self.check_open()
        return self._stored(ids, np.uint32, lambda encoding, raw: raw)

    def _stored(
        self, ids: NDArray[np.int64], dtype: type[np.generic], meaning: Callable[[Encoding, Array], Array]
    ) -> Array:
        """What is stored for position IDs, in the order given."""
        order = np.argsort(ids)
        ascending = ids[order]
        found: Array = np.empty(len(ids), dtype)  # by ascending ID, so that each block fills one stretch
        needed = self.blocks_of(ascending)
        decoded = sum(table.counts[at] * table.encodings[at].word.itemsize for table, at, _, _ in needed)
        keep = decoded <= self.cache_bytes  # otherwise blocks would only push each other out

        def answer(some: Iterable[tuple[BlockTable, int, int, int]]) -> None:
            for table, at, start, end in some:
                raw = self.block(table, at, keep)[ascending[start:end] - table.first_ids[at]]
                found[start:end] = meaning(table.encodings[at], raw)

        workers = min(processors(), 8)
        if len(needed) < 4 * workers:
            answer(needed)
        else:
            with ThreadPoolExecutor(workers) as pool:
                list(pool.map(answer, (needed[i : i + AT_ONCE] for i in range(0, len(needed), AT_ONCE))))
        in_order: Array = np.empty(len(ids), dtype)
        in_order[order] = found
        return in_order

    def _check_values(self) -> None:
        if self.policy:
            raise NoValuesError(f"{self.directory}: this database stores best moves, not winning probabilities")


def _open_directory(directory: Path) -> int | None:
    """A descriptor of a directory; None if this system cannot open files relative to one."""
    if os.open not in os.supports_dir_fd:
        return None
    try:
        return os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise MissingDatabaseError(f"{directory}: no such database") from None
    except OSError as error:
        raise CorruptBlockError(f"{directory}: no database here: {error.strerror}") from None


def _opened(directory: Path, record: BlockFile, descriptor: int | None) -> OpenFile | str:
    """A file of a database in an open directory, or else what is wrong with it: the other files can still be read."""
    try:
        return OpenFile(open_file(directory / record.name, record.bytes, descriptor))
    except CorruptBlockError as error:
        return str(error)


def _size(path: Path, directory: int | None) -> int:
    """The bytes of a file in an open directory; 0 if it is not there."""
    try:
        return os.stat(path if directory is None else path.name, dir_fd=directory, follow_symlinks=False).st_size
    except OSError:
        return 0


def _is_at(descriptor: int | None, directory: Path) -> bool:
    """Whether an open directory is still the one at a path; taken for granted without a descriptor."""
    if descriptor is None:
        return True
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(directory))
    except FileNotFoundError:
        return False


def open_file(path: Path, size: int | None, directory: int | None = None) -> int:
    """Open an ordinary file, of exactly this size if one is given, for reading; links, pipes and devices are refused.

    Given the descriptor of its directory, the file is looked up there, not by its path.
    """
    where = path if directory is None else path.name
    try:
        if not stat.S_ISREG(os.stat(where, dir_fd=directory, follow_symlinks=False).st_mode):
            raise CorruptBlockError(f"{path}: not an ordinary file")
        descriptor = os.open(where, FLAGS, dir_fd=directory)
    except OSError as error:
        if isinstance(error, MadnError):
            raise
        kind = ResourceError if error.errno in (errno.EMFILE, errno.ENFILE) else CorruptBlockError
        raise kind(f"{path}: {error.strerror}") from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or size not in (None, status.st_size):
        os.close(descriptor)
        raise CorruptBlockError(f"{path}: size mismatch: catalogue says {size} bytes, file has {status.st_size}")
    return descriptor


_seek = threading.Lock()


def read_at(descriptor: int, length: int, offset: int) -> bytes:
    """Read up to `length` bytes at an offset, whatever other threads read meanwhile."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, length, offset)
    with _seek:
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, length)
