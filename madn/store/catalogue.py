"""Reading a catalogue: what is in a database, how it was made and where every block lies.

`CatalogueFile` opens the catalogue of any game, even one from an untrusted source; `LudoCatalogueFile` reads that of
Ludo.
"""

import json
import os
import sqlite3
import stat
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from madn.errors import (
    ClosedDatabaseError,
    CorruptBlockError,
    FormatVersionError,
    MadnError,
    MissingDatabaseError,
    RulesMismatchError,
)
from madn.store.blocks import ENCODINGS, MAX_BLOCK_POSITIONS, POLICIES
from madn.store.forks import renew_after_fork
from madn.store.records import (
    CATALOGUE,
    BlockFile,
    BlockTable,
    FrameTable,
    NamedBoard,
    StoredEncoding,
    block_file_name,
    profile_rows,
    rules_from,
)
from madn.store.schema import APPLICATION_ID, GAMES, LUDO, Schema

MAX_FRAME = 1 << 24  # a reader refuses longer frames; this is more than any block of MAX_BLOCK_POSITIONS needs
MAX_FILES = 512  # files of frames: all are open at the same time, and each except the last has a gigabyte
MAX_TEXT = 1 << 20  # bytes of one value
STEPS = 1000  # instructions of SQLite's virtual machine between two calls of the progress handler
STEPS_PER_BYTE = 16  # more instructions than any of our queries takes per byte of a catalogue
AT_ONCE = 256  # rows that are fetched at a time
TYPES: dict[str, set[type]] = {"i": {int}, "t": {str}, "f": {float}, "I": {int, type(None)}}
Column = NDArray[np.int64]


def one_line(text: object) -> str:
    """Text from an untrusted file as one short line, to be quoted in a message."""
    return " ".join(str(text).split())[:200]


def closed_error(directory: Path) -> ClosedDatabaseError:
    """The error for any query of a closed database."""
    return ClosedDatabaseError(f"{directory}: the database is closed")


class CatalogueFile(ABC):
    """An open `catalogue.sqlite` of the game that `schema` is for, perhaps untrusted. Threads may share it."""

    schema: ClassVar[Schema]
    provenance: dict[str, Any]
    files: tuple[BlockFile, ...]

    def __init__(self, directory: Path) -> None:
        self.path = directory / CATALOGUE
        self._place = self.path.absolute()  # stays right if the process changes its working directory
        self._status = check_ordinary(self.path)
        self.bytes = self._status.st_size
        self._lock = threading.Lock()
        self._closed = self._forked = False
        with self.reading():
            self.connection = self._connected()
        renew_after_fork(self)
        try:
            with self.reading():
                self.format = self._checked_schema()
                self.provenance = {
                    name: json.loads(text) for name, text in self.rows("name, value", "provenance", "tt")
                }
                check_json(self.provenance)
                self.files = self._files()
                self.read()
        except BaseException:
            self.connection.close()
            raise

    @abstractmethod
    def read(self) -> None:
        """Read and check the tables that only this game has."""

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self._place.as_uri()}?mode=ro&immutable=1", uri=True, isolation_level=None, check_same_thread=False
        )
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_TEXT)
        connection.set_progress_handler(self._endless, STEPS)
        return connection

    def after_fork(self) -> None:
        """Leave the connection to the process that opened it, as SQLite requires; `reading` opens another."""
        self._lock = threading.Lock()
        self._forked = True

    def _reconnect(self) -> None:
        """Open the catalogue again in a forked process; it must be the same file."""
        if not os.path.samestat(self._status, check_ordinary(self._place)):
            raise CorruptBlockError("replaced before this process was forked; open the database again")
        self._left_alone, self.connection = self.connection, self._connected()
        self._forked = False

    def _endless(self) -> bool:
        """Whether a query has taken more steps than a file of this size needs: its pages may form a cycle."""
        self._steps += STEPS
        return self._steps > 100 * STEPS + STEPS_PER_BYTE * self.bytes

    def rows(self, columns: str, tail: str, types: str) -> list[Any]:
        """The rows of a query whose columns must have these types: i, t, f for int, str, float, I for int or null.

        Rows and text that take more room than the bytes of the file can only come from damaged pages: they are refused.
        """
        table, names, room = tail.split()[0], columns.split(", "), self.bytes
        cursor, rows = self.connection.execute(f"SELECT {columns} FROM {tail}"), []
        while some := cursor.fetchmany(AT_ONCE):
            room -= len(some) * len(names)
            for name, kind, column in zip(names, types, zip(*some, strict=True), strict=True):
                if not set(map(type, column)) <= TYPES[kind]:
                    raise CorruptBlockError(f"table {table}: a value of {name} has the wrong type")
                if kind == "t":
                    room -= sum(map(len, column))
            if room < 0:
                raise CorruptBlockError(f"table {table}: more rows than {self.bytes:,} bytes can hold")
            rows += some
        return rows

    def _checked_schema(self) -> int:
        """Check that the file is a catalogue of this game, and let nothing else that it says be carried out.

        Returns the format version.
        """
        id = self.connection.execute("PRAGMA application_id").fetchone()[0]
        if id != APPLICATION_ID:
            raise CorruptBlockError(f"not a catalogue of madn: application_id is {id:#x}, expected {APPLICATION_ID:#x}")
        self.connection.execute("PRAGMA trusted_schema = OFF")
        self.connection.execute("PRAGMA cell_size_check = ON")
        tables = dict(self.connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' LIMIT 100"))
        wanted, _ = GAMES[self.schema.rules]
        for table, (game, readers) in GAMES.items():
            if table in tables and table != self.schema.rules:
                raise RulesMismatchError(f"a database of {game}, not of {wanted}; {readers}")
        version = self._checked_format()
        for table, columns in self.schema.tables.items():  # a view in place of a table could produce endless rows
            if tables.get(table) != f"CREATE TABLE {table} ({columns}) STRICT":
                raise CorruptBlockError(f"table {table} is missing or has other columns than it should")
        return version

    def _checked_format(self) -> int:
        found: int = self.connection.execute("PRAGMA user_version").fetchone()[0]
        oldest, newest = self.schema.oldest_format, self.schema.format
        if found > newest:
            raise FormatVersionError(f"format {found} is too new: this madn reads up to {newest}; install a newer madn")
        if found < oldest:
            raise FormatVersionError(f"format {found} is too old: this madn reads {oldest} or newer; solve it again")
        return found

    def _files(self) -> tuple[BlockFile, ...]:
        tail = f"files ORDER BY file LIMIT {MAX_FILES + 1}"
        files = tuple(BlockFile(*row) for row in self.rows("file, name, bytes, sha256", tail, "itit"))
        if len(files) > MAX_FILES:
            raise CorruptBlockError(f"table files: more than {MAX_FILES} rows")
        for number, file in enumerate(files):
            if (file.file, file.name) != (number, block_file_name(number)):
                found = f"{file.file}, {one_line(repr(file.name))}"
                raise CorruptBlockError(
                    f"table files: row {number} is {found}, expected {number}, {block_file_name(number)!r}"
                )
        return files

    def totals(self) -> tuple[int, int]:
        """The number of blocks and the number of positions in them."""
        with self.reading():
            ((blocks, positions),) = self.rows("count(*), ifnull(sum(count),0)", "blocks", "ii")
            return blocks, positions

    def integrity(self) -> list[str]:
        """What SQLite itself finds wrong with the file."""
        with self.reading():
            problems = self.connection.execute("PRAGMA integrity_check(10)").fetchall()
            orphans = self.connection.execute("PRAGMA foreign_key_check").fetchall()
        return [one_line(text) for (text,) in problems if text != "ok"] + [
            f"table {table}: row {row} refers to a row of {parent} that does not exist"
            for table, row, parent, _ in orphans[:10]
        ]

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold the connection exclusively; turn whatever goes wrong into a one-line error of ours."""
        try:
            with self._lock:
                if self._closed:
                    raise closed_error(self.path.parent)
                self._steps = 0
                if self._forked:
                    self._reconnect()
                yield
        except ClosedDatabaseError:
            raise
        except MadnError as error:
            raise type(error)(f"{self.path}: {one_line(error)}") from None
        except (sqlite3.Error, ValueError, TypeError, OverflowError, RecursionError, MemoryError) as error:
            if isinstance(error, sqlite3.OperationalError) and self._endless():
                raise CorruptBlockError(f"{self.path}: more rows than {self.bytes:,} bytes can hold") from None
            raise CorruptBlockError(f"{self.path}: damaged, or not a catalogue: {one_line(error)}") from None

    def close(self) -> None:
        """Close the file; closing again does nothing."""
        with self._lock:
            self._closed = True
            if not self._forked:
                self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_ordinary(catalogue: Path) -> os.stat_result:
    """The file status of a catalogue; raises unless it is an ordinary file."""
    try:
        status = catalogue.lstat()
    except OSError as error:
        if not os.path.lexists(catalogue.parent):
            raise MissingDatabaseError(f"{catalogue.parent}: no such database") from None
        raise CorruptBlockError(f"{catalogue.parent}: no database here: {CATALOGUE}: {error.strerror}") from None
    if not stat.S_ISREG(status.st_mode):
        raise CorruptBlockError(f"{catalogue}: not an ordinary file")
    return status


class LudoCatalogueFile(CatalogueFile):
    """The catalogue of a database of Ludo: its rules, profiles (with first IDs and sizes), encodings, named boards."""

    schema = LUDO

    def read(self) -> None:
        """Read and check rules, profiles, encodings and named boards."""
        rules = rules_from(dict(self.rows("name, value", "rules", "ti")))
        profiles = [tuple(row.values()) for row in profile_rows(rules)]
        rows = self.rows("profile, p1, f1, p2, f2, first_id, positions", "profiles ORDER BY profile", "iiiiiii")
        for number, (row, expected) in enumerate(zip_longest(rows, profiles)):
            if row != expected:
                raise CorruptBlockError(f"table profiles: row {number} is {row}, expected {expected} for {rules}")
        boards = [NamedBoard(*row) for row in self.rows("name, board, id, win, block, offset", "boards", "ttifII")]
        for board in boards:
            if not 0 <= board.win <= 1:
                raise CorruptBlockError(f"named board {board.name!r}: value {board.win} is not a probability")
        self.rules, self.encodings = rules, self._encodings()
        self.profiles = [(p1, f1, p2, f2) for _, p1, f1, p2, f2, _, _ in profiles]
        self.first_ids, self.sizes = (np.array([row[column] for row in profiles], np.int64) for column in (5, 6))
        self.boards = sorted(boards, key=lambda board: board.name)

    def _encodings(self) -> tuple[StoredEncoding, ...]:
        rows = self.rows("name, code, bits, zero, scale, max_error", "encodings", "tiifff")
        stored = []
        for name, *numbers, max_error in sorted(rows, key=lambda row: row[1]):
            known = ENCODINGS.get(name)
            if known is None:
                raise FormatVersionError(f"encoding {name!r} is too new for this madn")
            expected = [known.code, known.bits, known.zero, known.scale]
            if numbers != expected:
                raise CorruptBlockError(
                    f"encoding {name!r}: code, bits, zero, scale are {numbers}, expected {expected}"
                )
            if not 0 <= max_error <= 1:
                raise CorruptBlockError(f"encoding {name!r}: max_error {max_error} is not from 0 to 1")
            stored.append(StoredEncoding(known, max_error))
        if len(stored) > 1 and any(one.encoding in POLICIES for one in stored):
            raise CorruptBlockError("a database stores values or best moves, but this one lists encodings of both")
        return tuple(stored)

    def block_at(self, id: int) -> int | None:
        """The number of the last block that begins at a position ID or before it, in the same profile."""
        profile = int(np.searchsorted(self.first_ids, id, "right")) - 1
        query = "SELECT block FROM blocks WHERE profile = ? AND first_rank <= ? ORDER BY first_rank DESC LIMIT 1"
        with self.reading():
            row = self.connection.execute(query, (profile, id - int(self.first_ids[profile]))).fetchone()
        return row[0] if row and type(row[0]) is int and row[0] >= 0 else None

    def blocks(self, first: int = 0, count: int = -1) -> BlockTable:
        """The rows of `blocks` from number `first` on: at most `count` of them, or all."""
        columns = "block, profile, first_rank, count, file, offset, length, encoding, digest"
        with self.reading():
            rows = self.rows(columns, f"blocks WHERE block >= {first} ORDER BY block LIMIT {count}", "iiiiiiitt")
            return self._table(first, list(zip(*rows, strict=True)) or [()] * 9)

    def _table(self, first: int, columns: list[Any]) -> BlockTable:
        block, profile, first_rank, count, file, offset, length = (np.array(c, np.int64) for c in columns[:7])
        check_numbers(block, first)
        known = {stored.encoding.name: stored.encoding for stored in self.encodings}
        for at, name in enumerate(columns[7]):
            if name not in known:
                raise CorruptBlockError(f"block {first + at}: encoding {name!r} is not in table encodings")
        check_range("profile", profile, 0, len(self.profiles) - 1, first)
        check_range("count", count, 1, MAX_BLOCK_POSITIONS, first)
        check_range("first_rank", first_rank, 0, self.sizes[profile] - count, first)
        table = BlockTable(
            first_block=first,
            profile=profile,
            first_rank=first_rank,
            first_id=self.first_ids[profile] + first_rank,
            count=count,
            file=file,
            offset=offset,
            length=length,
            encodings=tuple(known[name] for name in columns[7]),
            digest=columns[8],
        )
        if len(table):
            positions = int(self.first_ids[-1] + self.sizes[-1])
            check_range("first ID", table.first_id[1:], (table.first_id + count)[:-1], positions, first + 1)
        check_frames(self.files, table)
        return table


def read_catalogue(directory: Path) -> tuple[LudoCatalogueFile, BlockTable]:
    """Read and check the whole catalogue of a Ludo database, and that its frames fill its files; then close it."""
    with LudoCatalogueFile(directory) as catalogue:
        table = catalogue.blocks()
        with catalogue.reading():
            check_filled(catalogue.files, table)
        return catalogue, table


def check_json(provenance: dict[str, Any]) -> None:
    """Check that what was read as JSON can be written again: no infinite numbers, no incomplete characters."""
    try:
        json.dumps(provenance, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        raise CorruptBlockError(f"table provenance: cannot be written as JSON: {error}") from None


def check_numbers(block: Column, first: int) -> None:
    """Check that blocks are numbered from `first` on."""
    wrong = np.flatnonzero(block != np.arange(first, first + len(block)))
    if len(wrong):
        raise CorruptBlockError(f"table blocks: block {first + wrong[0]} is missing")


def check_range(what: str, column: Column, least: Any, most: Any, first: int) -> None:
    """Check that a column of the blocks, from block `first` on, is in its range."""
    wrong = np.flatnonzero((column < least) | (column > most))
    if len(wrong):
        at = wrong[0]
        low, high = (int(np.broadcast_to(bound, column.shape)[at]) for bound in (least, most))
        raise CorruptBlockError(f"block {first + at}: {what} {column[at]} is out of range {low:,} to {high:,}")


def check_frames(files: Sequence[BlockFile], table: FrameTable) -> None:
    """Check that the frames lie within their files."""
    check_range("file", table.file, 0, len(files) - 1, table.first_block)
    check_range("length", table.length, 1, MAX_FRAME, table.first_block)
    sizes = np.array([record.bytes for record in files], np.int64)[table.file]
    check_range("offset", table.offset, 0, sizes - table.length, table.first_block)


def check_filled(files: Sequence[BlockFile], table: FrameTable) -> None:
    """Check that the frames fill their files, in whatever order, without gaps or overlaps."""
    for record in files:
        inside = np.flatnonzero(table.file == record.file)
        inside = inside[np.argsort(table.offset[inside], kind="stable")]
        begins = np.append(table.offset[inside], record.bytes)
        ends = np.append([0], table.offset[inside] + table.length[inside])
        if not len(inside):
            raise CorruptBlockError(f"{record.name}: no block is in this file")
        wrong = np.flatnonzero(begins != ends)
        if len(wrong):
            at = wrong[0]
            raise CorruptBlockError(f"{record.name}: expected a frame at byte {ends[at]}; the next is at {begins[at]}")


def is_catalogue(path: Path) -> bool:
    """Whether a file claims to be a catalogue of madn, of whatever format, damaged or not."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            head = file.read(100)
    except OSError:
        return False
    return head[:16] == b"SQLite format 3\0" and head[68:72] == APPLICATION_ID.to_bytes(4, "big")
