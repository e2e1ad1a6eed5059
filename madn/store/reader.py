"""Reading blocks: open files, frames on demand, a bounded cache. Threads may share it."""

import os
import stat
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from madn._core import Game
from madn.board import Board
from madn.errors import CorruptBlockError, MadnError, MissingBlockError, NoValuesError
from madn.store import blocks, policy
from madn.store.blocks import Array, Encoding
from madn.store.catalogue import CatalogueFile
from madn.store.prediction import layout
from madn.store.records import BlockTable, Catalogue

CACHE_BYTES = 256 << 20
GROUP_BLOCKS = 256  # rows of the catalogue that are read together
AT_ONCE = 32  # blocks that a thread takes at a time when many positions are asked for
FLAGS = os.O_RDONLY
for _name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    FLAGS |= getattr(os, _name, 0)


def open_reader(directory: Path, cache_bytes: int = CACHE_BYTES) -> "BlockReader":
    """Open the database at a path: what its catalogue says of it now, its blocks when they are asked for.

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
            file = CatalogueFile(directory)
            if descriptor is None or os.path.samestat(os.fstat(descriptor), os.stat(directory)):
                return BlockReader(directory, descriptor, file, cache_bytes)
            file.close()
        except BaseException:
            if descriptor is not None:
                os.close(descriptor)
            raise
        os.close(descriptor)


class Group:
    """Consecutive blocks, as the catalogue lists them."""

    def __init__(self, catalogue: Catalogue, table: BlockTable) -> None:
        self.table = table
        self.first_ids: list[int] = table.first_id.tolist()
        self.counts: list[int] = table.count.tolist()
        self.encodings: list[Encoding] = [catalogue.encodings[i].encoding for i in table.encoding.tolist()]


class BlockReader:
    """The values of a database, by position ID. A block is given as its group and its place in that."""

    def __init__(self, directory: Path, descriptor: int | None, file: CatalogueFile, cache_bytes: int) -> None:
        self.directory = directory
        self._directory_descriptor = descriptor
        self._catalogue_file = file
        self.catalogue = file.catalogue
        self.cache_bytes = cache_bytes
        self._groups: tuple[list[int], list[Group]] = [], []  # their first IDs, ascending, and themselves
        self._cache: OrderedDict[int, Array] = OrderedDict()
        self._cached_bytes = 0
        self._files: dict[int, int] = {}
        self._lock = threading.Lock()
        self._closed = False
        self.policy = any(stored.encoding == blocks.POLICY for stored in self.catalogue.encodings)
        self.game = Game(self.catalogue.rules)

    def win(self, number: int) -> float:
        """The probability stored for a position ID."""
        self._check_values()
        group, at = self.find(number)
        raw: float = self.block(group, at).item(number - group.first_ids[at])
        return group.encodings[at].win(raw)

    def choices(self, number: int) -> int:
        """The word of best moves stored for a position ID; `policy.choice` reads it."""
        group, at = self.find(number)
        word: int = self.block(group, at).item(number - group.first_ids[at])
        return word

    def find(self, number: int) -> tuple[Group, int]:
        """Say which block holds a position ID."""
        found = self._find_loaded(number)
        if found is None:
            self._load_group(number)
            found = self._find_loaded(number)
        if found is None:
            raise self.missing(number)
        return found

    def missing(self, number: int) -> MissingBlockError:
        """What to say of a position that is not here: which solve would have it."""
        rules = self.catalogue.rules
        board = Board.from_masks(*self.game.unrank(number), rules)
        solve = f"madn solve --pieces {rules.pieces} --squares {rules.squares} --for {board}"
        return MissingBlockError(f"{self.directory}: {board} is not in this database; `{solve}` provides it")

    def _find_loaded(self, number: int) -> tuple[Group, int] | None:
        starts, groups = self._groups
        place = bisect_right(starts, number) - 1
        if place < 0:
            return None
        group = groups[place]
        at = bisect_right(group.first_ids, number) - 1
        return (group, at) if number < group.first_ids[at] + group.counts[at] else None

    def _load_group(self, number: int) -> None:
        """Read the group of blocks from the catalogue that holds a position ID, if one does."""
        self._check_open()
        block = self._catalogue_file.block_at(number)
        if block is None:
            return
        group = Group(self.catalogue, self._catalogue_file.blocks(block - block % GROUP_BLOCKS, GROUP_BLOCKS))
        with self._lock:
            starts, groups = self._groups
            place = bisect_right(starts, group.first_ids[0])
            if not place or starts[place - 1] != group.first_ids[0]:
                self._groups = (
                    [*starts[:place], group.first_ids[0], *starts[place:]],
                    [*groups[:place], group, *groups[place:]],
                )

    def places(self, ids: NDArray[np.int64]) -> list[tuple[Group, int, int, int]]:
        """Say which blocks hold these ascending IDs: (group, place in it, start, end) for ids[start:end]."""
        found = []
        start = 0
        while start < len(ids):
            group, at = self.find(int(ids[start]))
            end = int(np.searchsorted(ids, group.first_ids[at] + group.counts[at]))
            found.append((group, at, start, end))
            start = end
        return found

    def wins(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """The probabilities stored for position IDs, in their order."""
        self._check_values()
        order = np.argsort(ids)
        ascending = ids[order]
        found = np.empty(len(ids), np.float64)  # in ascending order: each block then fills one stretch
        places = self.places(ascending)
        decoded = sum(group.counts[at] * group.encodings[at].word.itemsize for group, at, _, _ in places)
        keep = decoded <= self.cache_bytes  # otherwise each block would only push out another

        def answer(chunk: Iterable[tuple[Group, int, int, int]]) -> None:
            for group, at, start, end in chunk:
                raw = self.block(group, at, keep)[ascending[start:end] - group.first_ids[at]]
                found[start:end] = group.encodings[at].wins(raw)

        workers = min(os.cpu_count() or 1, 8)
        if len(places) < 4 * workers:
            answer(places)
        else:
            with ThreadPoolExecutor(workers) as pool:
                list(pool.map(answer, (places[i : i + AT_ONCE] for i in range(0, len(places), AT_ONCE))))
        wins = np.empty(len(ids), np.float64)
        wins[order] = found
        return wins

    def block(self, group: Group, at: int, keep: bool = True) -> Array:
        """The raw values of a block, from the cache or from its file; `keep` puts them into the cache."""
        number = group.table.first_block + at
        with self._lock:
            values = self._cache.get(number)
            if values is not None:
                self._cache.move_to_end(number)
                return values
        values = self.load(group, at)
        if not keep:
            return values
        with self._lock:
            if number not in self._cache and not self._closed:
                self._cache[number] = values
                self._cached_bytes += values.nbytes
                while self._cached_bytes > self.cache_bytes and len(self._cache) > 1:
                    self._cached_bytes -= self._cache.popitem(last=False)[1].nbytes
        return values

    def load(self, group: Group, at: int) -> Array:
        """Read and decode a block from its file."""
        table = group.table
        frame = self.frame(table, at)
        where = layout(self.catalogue.rules, self.catalogue.profiles[table.profile[at]], int(table.first_rank[at]))
        first, count, encoding = group.first_ids[at], group.counts[at], group.encodings[at]
        values: Array
        try:
            if encoding == blocks.POLICY:
                values = policy.decode(frame, first, count, self.game)
            else:
                values = blocks.decode(frame, encoding, first, count, where)
        except CorruptBlockError as error:
            raise CorruptBlockError(f"{self.directory}: block {table.first_block + at}: {error}") from None
        values.flags.writeable = False
        return values

    def frame(self, table: BlockTable, at: int) -> bytes:
        """The compressed bytes of a block."""
        number, offset, length = int(table.file[at]), int(table.offset[at]), int(table.length[at])
        descriptor = self._descriptor(number)
        block = table.first_block + at
        try:
            frame = read_at(descriptor, length, offset)
        except OSError as error:
            raise CorruptBlockError(f"{self.directory}: block {block} cannot be read: {error.strerror}") from None
        if len(frame) != length:
            raise CorruptBlockError(f"{self.directory}: {self.catalogue.files[number].name} ends before block {block}")
        return frame

    def totals(self) -> tuple[int, int]:
        """The number of blocks and the number of positions in them."""
        self._check_open()
        return self._catalogue_file.totals()

    def _check_values(self) -> None:
        if self.policy:
            raise NoValuesError(f"{self.directory}: this database stores best moves, not winning probabilities")

    def _check_open(self) -> None:
        if self._closed:
            raise MadnError(f"{self.directory}: the database is closed")

    def _descriptor(self, number: int) -> int:
        with self._lock:
            self._check_open()
            if number not in self._files:
                record = self.catalogue.files[number]
                self._files[number] = open_file(self.directory / record.name, record.bytes, self._directory_descriptor)
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
        self._catalogue_file.close()


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
