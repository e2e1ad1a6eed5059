"""Reading a catalogue: what is in a database, how it was made and where every block lies.

`CatalogueFile` opens the catalogue of any game, which may come from a stranger; `LudoCatalogueFile` reads that of Ludo.
"""

import json
import math
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

from madn.errors import CorruptBlockError, FormatVersionError, MadnError, MissingDatabaseError, RulesMismatchError
from madn.store.blocks import ENCODINGS, MAX_BLOCK_POSITIONS, POLICY
from madn.store.records import (
    CATALOGUE,
    BlockFile,
    BlockTable,
    Catalogue,
    FrameTable,
    NamedBoard,
    StoredEncoding,
    block_file_name,
    profile_rows,
    rules_from,
)
from madn.store.schema import APPLICATION_ID, GAMES, LUDO, Schema

MAX_FRAME = 1 << 24  # a reader refuses longer frames: more than any block of MAX_BLOCK_POSITIONS needs
TYPES: dict[str, set[type]] = {"i": {int}, "t": {str}, "f": {float}, "I": {int, type(None)}}
Column = NDArray[np.int64]


def one_line(text: object) -> str:
    """A message that quotes a stranger's file, as a short line."""
    return " ".join(str(text).split())[:200]


class CatalogueFile(ABC):
    """An open `catalogue.sqlite` of the game that `schema` is for, perhaps from a stranger. Threads may share it."""

    schema: ClassVar[Schema]
    provenance: dict[str, Any]
    files: tuple[BlockFile, ...]

    def __init__(self, directory: Path) -> None:
        self.path = directory / CATALOGUE
        check_ordinary(self.path)
        self._lock = threading.Lock()
        with self.reading():
            uri = f"{self.path.absolute().as_uri()}?mode=ro&immutable=1"
            self.connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        try:
            with self.reading():
                self.format = self._checked_schema()
                self.provenance = {
                    name: finite_json(text) for name, text in self.rows("name, value", "provenance", "tt")
                }
                self.files = self._files()
                self.read()
        except BaseException:
            self.connection.close()
            raise

    @abstractmethod
    def read(self) -> None:
        """Read and check what only this game has."""

    def rows(self, columns: str, tail: str, types: str) -> list[Any]:
        """The rows of a query whose columns must have these types: i, t, f for int, str, float, I for int or null."""
        rows = self.connection.execute(f"SELECT {columns} FROM {tail}").fetchall()
        for name, kind, column in zip(columns.split(", "), types, zip(*rows, strict=True), strict=False):
            if not set(map(type, column)) <= TYPES[kind]:
                raise CorruptBlockError(f"table {tail.split()[0]}: a value of {name} has the wrong type")
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
        self.connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1 << 24)
        tables = dict(self.connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' LIMIT 100"))
        wanted, _ = GAMES[self.schema.rules]
        for table, (game, readers) in GAMES.items():
            if table in tables and table != self.schema.rules:
                raise RulesMismatchError(f"a database of {game}, not of {wanted}; {readers}")
        version = self._checked_format()
        for table, columns in self.schema.tables.items():  # a view could make more rows than the file has
            if tables.get(table) != f"CREATE TABLE {table} ({columns}) STRICT":
                raise CorruptBlockError(f"table {table} is missing or has other columns than it should")
        return version

    def _checked_format(self) -> int:
        found: int = self.connection.execute("PRAGMA user_version").fetchone()[0]
        oldest, newest = self.schema.oldest_format, self.schema.format
        if found > newest:
            raise FormatVersionError(f"format {found} is too new, this madn reads up to {newest}; install a newer madn")
        if found < oldest:
            raise FormatVersionError(f"format {found} is too old, this madn reads from {oldest} on; solve it again")
        return found

    def _files(self) -> tuple[BlockFile, ...]:
        files = tuple(BlockFile(*row) for row in self.rows("file, name, bytes, sha256", "files ORDER BY file", "itit"))
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
            ((blocks, positions),) = self.rows("count(*), coalesce(sum(count), 0)", "blocks", "ii")
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
        """Use the connection alone; turn what goes wrong into one line of ours."""
        try:
            with self._lock:
                yield
        except MadnError as error:
            raise type(error)(f"{self.path}: {one_line(error)}") from None
        except (sqlite3.Error, ValueError, TypeError, OverflowError, RecursionError) as error:
            raise CorruptBlockError(f"{self.path}: damaged, or not a catalogue: {one_line(error)}") from None

    def close(self) -> None:
        """Close the file; a second time does nothing."""
        with self._lock:
            self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_ordinary(catalogue: Path) -> None:
    """Raise unless there is an ordinary file where a catalogue should be."""
    try:
        status = catalogue.lstat()
    except OSError as error:
        if not os.path.lexists(catalogue.parent):
            raise MissingDatabaseError(f"{catalogue.parent}: no such database") from None
        raise CorruptBlockError(f"{catalogue.parent}: no database here: {CATALOGUE}: {error.strerror}") from None
    if not stat.S_ISREG(status.st_mode):
        raise CorruptBlockError(f"{catalogue}: not an ordinary file")


class LudoCatalogueFile(CatalogueFile):
    """The catalogue of a database of Ludo."""

    schema = LUDO

    def read(self) -> None:
        """Read and check rules, profiles, encodings and named boards."""
        rules = rules_from(dict(self.rows("name, value", "rules", "ti")))
        profiles = [tuple(row.values()) for row in profile_rows(rules)]
        rows = self.rows("profile, p1, f1, p2, f2, first_id, positions", "profiles ORDER BY profile", "iiiiiii")
        for number, (row, expected) in enumerate(zip_longest(rows, profiles)):
            if row != expected:
                raise CorruptBlockError(f"table profiles: row {number} is {row}, expected {expected} for {rules}")
        boards = self.rows("name, board, id, win, block, offset", "boards ORDER BY name", "ttifII")
        self.catalogue = Catalogue(
            format=self.format,
            rules=rules,
            profiles=tuple((p1, f1, p2, f2) for _, p1, f1, p2, f2, _, _ in profiles),
            first_ids=np.array([row[5] for row in profiles], np.int64),
            sizes=np.array([row[6] for row in profiles], np.int64),
            provenance=self.provenance,
            encodings=self._encodings(),
            files=self.files,
            boards=tuple(NamedBoard(*row) for row in boards),
        )

    def _encodings(self) -> tuple[StoredEncoding, ...]:
        rows = self.rows("name, code, bits, zero, scale, max_error", "encodings ORDER BY code", "tiifff")
        stored = []
        for name, *numbers, max_error in rows:
            known = ENCODINGS.get(name)
            if known is None:
                raise FormatVersionError(f"encoding {name!r} is too new for this madn")
            expected = [known.code, known.bits, known.zero, known.scale]
            if numbers != expected:
                raise CorruptBlockError(
                    f"encoding {name!r}: code, bits, zero, scale are {numbers}, expected {expected}"
                )
            stored.append(StoredEncoding(known, max_error))
        if len(stored) > 1 and any(one.encoding == POLICY for one in stored):
            raise CorruptBlockError("a database stores values or best moves, this one lists encodings of both")
        return tuple(stored)

    def block_at(self, id: int) -> int | None:
        """The number of the last block that begins at a position ID or before it, in the same profile."""
        first_ids = self.catalogue.first_ids
        profile = int(np.searchsorted(first_ids, id, "right")) - 1
        query = "SELECT block FROM blocks WHERE profile = ? AND first_rank <= ? ORDER BY first_rank DESC LIMIT 1"
        with self.reading():
            row = self.connection.execute(query, (profile, id - int(first_ids[profile]))).fetchone()
        return row[0] if row and type(row[0]) is int and row[0] >= 0 else None

    def blocks(self, first: int = 0, count: int = -1, *, digests: bool = False) -> BlockTable:
        """The rows of `blocks` from number `first` on: `count` of them if there are so many, or all."""
        digest = ", digest" if digests else ""
        columns = f"block, profile, first_rank, count, file, offset, length, encoding{digest}"
        with self.reading():
            rows = self.rows(columns, f"blocks WHERE block >= {first} ORDER BY block LIMIT {count}", "iiiiiiitt")
            return self._table(first, list(zip(*rows, strict=True)) or [()] * 8)

    def _table(self, first: int, columns: list[Any]) -> BlockTable:
        catalogue = self.catalogue
        block, profile, first_rank, count, file, offset, length = (np.array(c, np.int64) for c in columns[:7])
        check_numbers(block, first)
        known = {stored.encoding.name: stored.encoding for stored in catalogue.encodings}
        for at, name in enumerate(columns[7]):
            if name not in known:
                raise CorruptBlockError(f"block {first + at}: encoding {name!r} is not in table encodings")
        check_range("profile", profile, 0, len(catalogue.profiles) - 1, first)
        check_range("count", count, 1, MAX_BLOCK_POSITIONS, first)
        check_range("first_rank", first_rank, 0, catalogue.sizes[profile] - count, first)
        table = BlockTable(
            first_block=first,
            profile=profile,
            first_rank=first_rank,
            first_id=catalogue.first_ids[profile] + first_rank,
            count=count,
            file=file,
            offset=offset,
            length=length,
            encodings=tuple(known[name] for name in columns[7]),
            digest=columns[8] if len(columns) > 8 else (),
        )
        if len(table):
            positions = int(catalogue.first_ids[-1] + catalogue.sizes[-1])
            check_range("first ID", table.first_id[1:], (table.first_id + count)[:-1], positions, first + 1)
        check_frames(self.files, table)
        return table


def read_catalogue(directory: Path) -> tuple[Catalogue, BlockTable]:
    """Read and check the whole catalogue of a database of Ludo, and that its frames fill its files."""
    with LudoCatalogueFile(directory) as file:
        table = file.blocks(digests=True)
        with file.reading():
            check_filled(file.files, table)
        return file.catalogue, table


def finite_json(text: str) -> Any:
    """Read JSON whose numbers can all be written as JSON again: none is infinite or no number."""

    def finite(number: str) -> float:
        value = float(number)
        if not math.isfinite(value):
            raise CorruptBlockError(f"table provenance: {one_line(number)} is not a finite number")
        return value

    return json.loads(text, parse_float=finite, parse_constant=finite)


def check_numbers(block: Column, first: int) -> None:
    """Check that blocks are numbered from `first` on."""
    wrong = np.flatnonzero(block != np.arange(first, first + len(block)))
    if len(wrong):
        raise CorruptBlockError(f"table blocks: block {first + wrong[0]} is missing")


def check_range(what: str, column: Column, least: Any, most: Any, first: int) -> None:
    """Check that a number of each block, from block `first` on, is in its range."""
    wrong = np.flatnonzero((column < least) | (column > most))
    if len(wrong):
        at = wrong[0]
        low, high = (int(np.broadcast_to(bound, column.shape)[at]) for bound in (least, most))
        raise CorruptBlockError(f"block {first + at}: {what} {column[at]} is out of range {low:,} to {high:,}")


def check_frames(files: Sequence[BlockFile], table: FrameTable) -> None:
    """Check that the frames lie in their files."""
    check_range("file", table.file, 0, len(files) - 1, table.first_block)
    check_range("length", table.length, 1, MAX_FRAME, table.first_block)
    sizes = np.array([record.bytes for record in files], np.int64)[table.file]
    check_range("offset", table.offset, 0, sizes - table.length, table.first_block)


def check_filled(files: Sequence[BlockFile], table: FrameTable) -> None:
    """Check that the frames fill their files, in whatever order, without a gap and without overlap."""
    for record in files:
        inside = np.flatnonzero(table.file == record.file)
        inside = inside[np.argsort(table.offset[inside], kind="stable")]
        begins = np.append(table.offset[inside], record.bytes)
        ends = np.append([0], table.offset[inside] + table.length[inside])
        if not len(inside):
            raise CorruptBlockError(f"{record.name}: no block lies in it")
        wrong = np.flatnonzero(begins != ends)
        if len(wrong):
            at = wrong[0]
            raise CorruptBlockError(f"{record.name}: expected a frame at byte {ends[at]}, the next is at {begins[at]}")


def is_catalogue(path: Path) -> bool:
    """Whether a file says that it is a catalogue of madn, of whatever format, damaged or not."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            head = file.read(100)
    except OSError:
        return False
    return head[:16] == b"SQLite format 3\0" and head[68:72] == APPLICATION_ID.to_bytes(4, "big")
