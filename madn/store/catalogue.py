"""The catalogue of a database: what is in it, how it was made and where every block lies."""

import json
import math
import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from madn.errors import CorruptBlockError, FormatVersionError, InvalidRulesError, MadnError, RulesMismatchError
from madn.rules import Rules
from madn.store import schema
from madn.store.blocks import ENCODINGS, MAX_BLOCK_POSITIONS, POLICY
from madn.store.records import (
    CATALOGUE,
    BlockFile,
    BlockTable,
    Catalogue,
    NamedBoard,
    StoredEncoding,
    block_file_name,
    profile_rows,
)

CANTSTOP = "cantstop"  # the table that only databases of Can't Stop have
MAX_FRAME = 1 << 24  # a reader refuses longer frames: more than any block of MAX_BLOCK_POSITIONS needs


def one_line(text: object) -> str:
    """What a stranger's file made someone say, as a short line."""
    return " ".join(str(text).split())[:200]


class CatalogueFile:
    """An open `catalogue.sqlite`; it may come from a stranger. Threads may share it."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / CATALOGUE
        try:
            status = self.path.lstat()
        except OSError as error:
            raise CorruptBlockError(f"{directory}: no database here, {CATALOGUE}: {error.strerror}") from None
        if not stat.S_ISREG(status.st_mode):
            raise CorruptBlockError(f"{self.path}: not an ordinary file")
        self._lock = threading.Lock()
        with self._reading():
            uri = f"{self.path.absolute().as_uri()}?mode=ro&immutable=1"
            self._connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        try:
            with self._reading():
                self.catalogue = _read(self._connection)
        except BaseException:
            self._connection.close()
            raise

    def block_at(self, number: int) -> int | None:
        """The last block that begins at a position ID or before it, in the same profile."""
        first_ids = self.catalogue.first_ids
        profile = int(np.searchsorted(first_ids, number, "right")) - 1
        query = "SELECT block FROM blocks WHERE profile = ? AND first_rank <= ? ORDER BY first_rank DESC LIMIT 1"
        with self._reading():
            found = self._connection.execute(query, (profile, number - int(first_ids[profile]))).fetchone()
        return found[0] if found and type(found[0]) is int and found[0] >= 0 else None

    def blocks(self, first: int = 0, count: int = -1, *, digests: bool = False) -> BlockTable:
        """The rows of `blocks` from number `first` on: `count` of them if there are so many, or all."""
        digest = ", digest" if digests else ""
        with self._reading():
            rows = _rows(
                self._connection,
                f"block, profile, first_rank, count, file, offset, length, encoding{digest}",
                f"blocks WHERE block >= {first} ORDER BY block LIMIT {count}",
                "iiiiiiitt",
            )
            return _block_table(self.catalogue, first, rows)

    def totals(self) -> tuple[int, int]:
        """The number of blocks and the number of positions in them."""
        with self._reading():
            found = _rows(self._connection, "count(*), coalesce(sum(count), 0)", "blocks", "ii")
            return found[0][0], found[0][1]

    def integrity(self) -> list[str]:
        """What SQLite itself finds wrong with the file."""
        with self._reading():
            found = self._connection.execute("PRAGMA integrity_check(10)").fetchall()
            orphans = self._connection.execute("PRAGMA foreign_key_check").fetchall()
        problems = [one_line(text) for (text,) in found if text != "ok"]
        return problems + [f"a row of {table} refers to one that is not there" for table, *_ in orphans[:10]]

    @contextmanager
    def _reading(self) -> Iterator[None]:
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
            self._connection.close()

    def __enter__(self) -> "CatalogueFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_catalogue(directory: Path) -> tuple[Catalogue, BlockTable]:
    """Read and check the whole catalogue of a database, and that its frames fill its files."""
    with CatalogueFile(directory) as file:
        table = file.blocks(digests=True)
        with file._reading():
            _check_filled(file.catalogue.files, table)
        return file.catalogue, table


def _read(connection: sqlite3.Connection) -> Catalogue:
    distrust(connection)
    if CANTSTOP in tables(connection):
        raise RulesMismatchError("a database of Can't Stop; madn info and madn cantstop --db read it")
    format_version = _checked_format(connection)
    _check_ordinary(connection)
    rules = _read_rules(connection)
    profiles = [tuple(row.values()) for row in profile_rows(rules)]
    if profiles != _rows(
        connection, "profile, p1, f1, p2, f2, first_id, positions", "profiles ORDER BY profile", "iiiiiii"
    ):
        raise CorruptBlockError("the profiles are not those of the rules")
    boards = _rows(connection, "name, board, id, win, block, offset", "boards ORDER BY name", "ttifII")
    return Catalogue(
        format=format_version,
        rules=rules,
        profiles=tuple(rules.profiles()),
        first_ids=np.array([row[5] for row in profiles], np.int64),
        sizes=np.array([row[6] for row in profiles], np.int64),
        provenance={name: finite_json(text) for name, text in _rows(connection, "name, value", "provenance", "tt")},
        encodings=_read_encodings(connection),
        files=_read_files(connection),
        boards=tuple(NamedBoard(*row) for row in boards),
    )


def _block_table(catalogue: Catalogue, first: int, rows: list[Any]) -> BlockTable:
    columns = list(zip(*rows, strict=True)) or [()] * 8
    block, profile, first_rank, count, file, offset, length = (np.array(c, np.int64) for c in columns[:7])
    names = {stored.encoding.name: index for index, stored in enumerate(catalogue.encodings)}
    if not set(columns[7]) <= names.keys():
        raise CorruptBlockError("a block has an encoding that is not listed")
    if not np.array_equal(block, np.arange(first, first + len(block))):
        raise CorruptBlockError("the blocks are not numbered from 0 on")
    _check_blocks(catalogue, profile, first_rank, count)
    _check_places(catalogue.files, file, offset, length)
    return BlockTable(
        first_block=first,
        profile=profile,
        first_rank=first_rank,
        first_id=catalogue.first_ids[profile] + first_rank,
        count=count,
        file=file,
        offset=offset,
        length=length,
        encoding=np.array([names[name] for name in columns[7]], np.int64),
        digest=columns[8] if len(columns) > 8 else (),
    )


def distrust(connection: sqlite3.Connection) -> None:
    """Check that a file says it is a catalogue of madn, and let nothing else that it says be carried out."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != schema.APPLICATION_ID:
        raise CorruptBlockError("not a catalogue of madn")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1 << 24)


def tables(connection: sqlite3.Connection) -> dict[str, str]:
    """The definitions of the tables, by name."""
    return dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' LIMIT 100"))


def _checked_format(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > schema.FORMAT:
        raise FormatVersionError(
            f"format {version} is too new, this madn reads up to {schema.FORMAT}; install a newer madn"
        )
    if version < schema.OLDEST_FORMAT:
        raise FormatVersionError(
            f"format {version} is too old, this madn reads from {schema.OLDEST_FORMAT} on; solve it again"
        )
    return version


def _check_ordinary(connection: sqlite3.Connection) -> None:
    """Check that the tables are the ones we write: a view could make more rows than the file has."""
    found = tables(connection)
    for table, columns in schema.TABLES.items():
        if found.get(table) != f"CREATE TABLE {table} ({columns}) STRICT":
            raise CorruptBlockError(f"there is no table {table} as it should be")


TYPES = {"i": (int,), "t": (str,), "f": (float,), "I": (int, type(None))}


def _rows(connection: sqlite3.Connection, columns: str, tail: str, types: str) -> list[Any]:
    """Return the rows of a query whose values have the types given: i, t, f, or I for int or null."""
    rows = connection.execute(f"SELECT {columns} FROM {tail}").fetchall()
    for kind, column in zip(types, zip(*rows, strict=True), strict=False):
        if not set(map(type, column)) <= set(TYPES[kind]):
            raise CorruptBlockError(f"{tail.split()[0]} holds a value of the wrong type")
    return rows


def finite_json(text: str) -> Any:
    """Read JSON whose numbers can all be written as JSON again: none is infinite or no number."""

    def finite(number: str) -> float:
        value = float(number)
        if not math.isfinite(value):
            raise CorruptBlockError(f"the provenance holds the number {one_line(number)}")
        return value

    return json.loads(text, parse_float=finite, parse_constant=finite)


def _read_rules(connection: sqlite3.Connection) -> Rules:
    values = dict(_rows(connection, "name, value", "rules", "ti"))
    known = {field.name for field in fields(Rules)}
    if values.keys() - known:
        raise FormatVersionError(f"the rule {min(values.keys() - known)!r} is too new for this madn")
    if known - values.keys():
        raise CorruptBlockError(f"the rule {min(known - values.keys())!r} is missing")
    try:
        return Rules(**values)
    except InvalidRulesError as error:
        raise CorruptBlockError(str(error)) from None


def _read_encodings(connection: sqlite3.Connection) -> tuple[StoredEncoding, ...]:
    rows = _rows(connection, "name, code, bits, zero, scale, max_error", "encodings ORDER BY code", "tiifff")
    stored = []
    for name, code, bits, zero, scale, max_error in rows:
        known = ENCODINGS.get(name)
        if known is None:
            raise FormatVersionError(f"the encoding {name!r} is too new for this madn")
        if (code, bits, zero, scale) != (known.code, known.bits, known.zero, known.scale):
            raise CorruptBlockError(f"the encoding {name!r} has other numbers than it should")
        stored.append(StoredEncoding(known, max_error))
    if len(stored) > 1 and any(one.encoding == POLICY for one in stored):
        raise CorruptBlockError("a database has values or best moves, not both")
    return tuple(stored)


def _read_files(connection: sqlite3.Connection) -> tuple[BlockFile, ...]:
    files = tuple(
        BlockFile(*row) for row in _rows(connection, "file, name, bytes, sha256", "files ORDER BY file", "itit")
    )
    if [file.file for file in files] != list(range(len(files))):
        raise CorruptBlockError("the files are not numbered from 0 on")
    for file in files:
        if file.name != block_file_name(file.file):
            raise CorruptBlockError(f"file {file.file} should be called {block_file_name(file.file)}")
    return files


def _check_blocks(catalogue: Catalogue, profile: Any, first_rank: Any, count: Any) -> None:
    """Check that blocks ascend without overlap and stay inside their profiles."""
    if not len(profile):
        return
    if profile.min() < 0 or profile.max() >= len(catalogue.profiles):
        raise CorruptBlockError("a block has a profile that does not exist")
    if count.min() < 1 or count.max() > MAX_BLOCK_POSITIONS or first_rank.min() < 0:
        raise CorruptBlockError("a block has a count or rank that cannot be")
    if (first_rank > catalogue.sizes[profile] - count).any():
        raise CorruptBlockError("a block reaches out of its profile")
    starts = catalogue.first_ids[profile] + first_rank
    if (starts[1:] < starts[:-1] + count[:-1]).any():
        raise CorruptBlockError("blocks overlap or are out of order")


def _check_places(files: tuple[BlockFile, ...], file: Any, offset: Any, length: Any) -> None:
    """Check that the frames lie in their files."""
    if not len(file):
        return
    if file.min() < 0 or file.max() >= len(files):
        raise CorruptBlockError("a block is in a file that does not exist")
    if length.min() < 1 or length.max() > MAX_FRAME or offset.min() < 0:
        raise CorruptBlockError("a block has a length or offset that cannot be")
    sizes = np.array([record.bytes for record in files], np.int64)[file]
    if (offset > sizes - length).any():
        raise CorruptBlockError("a block reaches out of its file")


def _check_filled(files: tuple[BlockFile, ...], table: BlockTable) -> None:
    """Check that the frames fill their files, in whatever order, without a gap and without overlap."""
    for record in files:
        inside = np.flatnonzero(table.file == record.file)
        inside = inside[np.argsort(table.offset[inside], kind="stable")]
        begins = np.append(table.offset[inside], record.bytes)
        ends = np.append([0], table.offset[inside] + table.length[inside])
        if not len(inside) or (begins != ends).any():
            raise CorruptBlockError(f"the frames of the blocks do not fill {record.name}")


def is_catalogue(path: Path) -> bool:
    """Whether a file says that it is a catalogue of madn, of whatever format, damaged or not."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            head = file.read(100)
    except OSError:
        return False
    return head[:16] == b"SQLite format 3\0" and head[68:72] == schema.APPLICATION_ID.to_bytes(4, "big")
