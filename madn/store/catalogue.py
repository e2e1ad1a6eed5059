"""The catalogue of a database: what is in it, how it was made and where every block lies."""

import json
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn.errors import CorruptBlockError, FormatVersionError, InvalidRulesError, MadnError
from madn.rules import Rules
from madn.store import schema
from madn.store.blocks import ENCODINGS, MAX_BLOCK_POSITIONS, Encoding

CATALOGUE = "catalogue.sqlite"
SUMS = "SHA256SUMS"
MAX_FRAME = 1 << 24  # a reader refuses longer frames: more than any block of MAX_BLOCK_POSITIONS needs


@dataclass(frozen=True, slots=True)
class Block:
    """A row of `blocks`: `count` positions of a profile from `first_rank` on, and where their frame lies."""

    block: int
    profile: int
    first_rank: int
    count: int
    file: int
    offset: int
    length: int
    encoding: str
    digest: str


@dataclass(frozen=True, slots=True)
class BlockFile:
    """A row of `files`: a file of frames, its size and the SHA-256 of the whole of it."""

    file: int
    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class NamedBoard:
    """A row of `boards`: a board with a name, its ID and value, and the block and offset it is stored at."""

    name: str
    board: str
    id: int
    win: float
    block: int | None
    offset: int | None


@dataclass(frozen=True, slots=True)
class StoredEncoding:
    """A row of `encodings`: one that blocks use, and the largest error it added to any value."""

    encoding: Encoding
    max_error: float


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Everything `catalogue.sqlite` says, checked; the columns of `blocks` are arrays, by ascending ID."""

    format: int
    rules: Rules
    provenance: dict[str, Any]
    encodings: tuple[StoredEncoding, ...]
    files: tuple[BlockFile, ...]
    boards: tuple[NamedBoard, ...]
    first_id: NDArray[np.int64]
    count: NDArray[np.int64]
    file: NDArray[np.int64]
    offset: NDArray[np.int64]
    length: NDArray[np.int64]
    encoding: NDArray[np.int64]  # index into encodings
    digest: tuple[str, ...]


def profile_rows(rules: Rules) -> Iterator[dict[str, int]]:
    """The rows of `profiles`, in the order of the numbering."""
    first = 0
    for number, (p1, f1, p2, f2) in enumerate(rules.profiles()):
        size = rules.profile_size(p1, f1, p2, f2)
        yield {
            "profile": number,
            "p1": p1,
            "f1": f1,
            "p2": p2,
            "f2": f2,
            "first_id": first,
            "positions": size,
        }
        first += size


def read_catalogue(directory: Path) -> Catalogue:
    """Read and check the catalogue of a database; it may come from a stranger."""
    path = directory / CATALOGUE
    try:
        status = path.lstat()
    except OSError as error:
        raise CorruptBlockError(f"{directory}: no database here, {CATALOGUE}: {error.strerror}") from None
    if not stat.S_ISREG(status.st_mode):
        raise CorruptBlockError(f"{path}: not an ordinary file")
    try:
        uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
            return _read(connection, directory)
    except MadnError as error:
        raise type(error)(f"{path}: {error}") from None
    except (sqlite3.Error, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise CorruptBlockError(f"{path}: damaged, or not a catalogue: {error}") from None


def _read(connection: sqlite3.Connection, directory: Path) -> Catalogue:
    format_version = _checked_format(connection)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1 << 24)
    for table in schema.TABLES:
        _check_ordinary(connection, table)
    rules = _read_rules(connection)
    profiles = list(profile_rows(rules))
    found = _rows(
        connection, "profile, p1, f1, p2, f2, first_id, positions", "profiles ORDER BY profile", "iiiiiii"
    )
    if found != [tuple(profile.values()) for profile in profiles]:
        raise CorruptBlockError("the profiles are not those of the rules")
    encodings = _read_encodings(connection)
    files = _read_files(connection)
    rows = _rows(
        connection,
        "block, profile, first_rank, count, file, offset, length, encoding, digest",
        "blocks ORDER BY block",
        "iiiiiiitt",
    )
    columns = list(zip(*rows, strict=True)) or [()] * 9
    block, profile, first_rank, count, file, offset, length = (np.array(c, np.int64) for c in columns[:7])
    names = {stored.encoding.name: index for index, stored in enumerate(encodings)}
    if not set(columns[7]) <= names.keys():
        raise CorruptBlockError("a block has an encoding that is not listed")
    _check_blocks(profiles, block, profile, first_rank, count)
    _check_places(files, file, offset, length)
    first_ids = np.array([row["first_id"] for row in profiles], np.int64)
    boards = _rows(connection, "name, board, id, win, block, offset", "boards ORDER BY name", "ttifII")
    return Catalogue(
        format=format_version,
        rules=rules,
        provenance={
            name: json.loads(text) for name, text in _rows(connection, "name, value", "provenance", "tt")
        },
        encodings=encodings,
        files=files,
        boards=tuple(NamedBoard(*row) for row in boards),
        first_id=first_ids[profile] + first_rank if len(block) else np.empty(0, np.int64),
        count=count,
        file=file,
        offset=offset,
        length=length,
        encoding=np.array([names[name] for name in columns[7]], np.int64),
        digest=columns[8],
    )


def _checked_format(connection: sqlite3.Connection) -> int:
    if connection.execute("PRAGMA application_id").fetchone()[0] != schema.APPLICATION_ID:
        raise CorruptBlockError("not a catalogue of madn")
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


def _check_ordinary(connection: sqlite3.Connection, table: str) -> None:
    """Check that a table is one: a view or a virtual table could make more rows than the file has."""
    found = connection.execute("SELECT type, sql FROM sqlite_master WHERE name = ?", (table,)).fetchall()
    if len(found) != 1 or found[0][0] != "table" or not str(found[0][1]).upper().startswith("CREATE TABLE"):
        raise CorruptBlockError(f"there is no table {table}")
    columns = connection.execute("SELECT hidden FROM pragma_table_xinfo(?)", (table,)).fetchall()
    if any(hidden for (hidden,) in columns):
        raise CorruptBlockError(f"table {table} has computed columns")


TYPES = {"i": (int,), "t": (str,), "f": (float,), "I": (int, type(None))}


def _rows(connection: sqlite3.Connection, columns: str, tail: str, types: str) -> list[Any]:
    """Return the rows of a query whose values have the types given: i, t, f, or I for int or null."""
    rows = connection.execute(f"SELECT {columns} FROM {tail}").fetchall()
    for kind, column in zip(types, zip(*rows, strict=True), strict=False):
        if not set(map(type, column)) <= set(TYPES[kind]):
            raise CorruptBlockError(f"{tail.split()[0]} holds a value of the wrong type")
    return rows


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
    return tuple(stored)


def _read_files(connection: sqlite3.Connection) -> tuple[BlockFile, ...]:
    files = tuple(
        BlockFile(*row)
        for row in _rows(connection, "file, name, bytes, sha256", "files ORDER BY file", "itit")
    )
    if [file.file for file in files] != list(range(len(files))):
        raise CorruptBlockError("the files are not numbered from 0 on")
    for file in files:
        if file.name != block_file_name(file.file):
            raise CorruptBlockError(f"file {file.file} should be called {block_file_name(file.file)}")
    return files


def block_file_name(number: int) -> str:
    """The name of a file of frames; a name from a catalogue counts only if it is this one."""
    return f"values-{number:04}.madn"


def _check_blocks(
    profiles: list[dict[str, int]], block: Any, profile: Any, first_rank: Any, count: Any
) -> None:
    """Check that blocks are numbered from 0 on, ascend without overlap and stay inside their profiles."""
    if not np.array_equal(block, np.arange(len(block))):
        raise CorruptBlockError("the blocks are not numbered from 0 on")
    if not len(block):
        return
    if profile.min() < 0 or profile.max() >= len(profiles):
        raise CorruptBlockError("a block has a profile that does not exist")
    sizes = np.array([row["positions"] for row in profiles], np.int64)[profile]
    if count.min() < 1 or count.max() > MAX_BLOCK_POSITIONS or first_rank.min() < 0:
        raise CorruptBlockError("a block has a count or rank that cannot be")
    if (first_rank > sizes - count).any():
        raise CorruptBlockError("a block reaches out of its profile")
    starts = np.array([row["first_id"] for row in profiles], np.int64)[profile] + first_rank
    if (starts[1:] < starts[:-1] + count[:-1]).any():
        raise CorruptBlockError("blocks overlap or are out of order")


def _check_places(files: tuple[BlockFile, ...], file: Any, offset: Any, length: Any) -> None:
    """Check that the frames follow each other in their files and fill them."""
    if len(file) and (file.min() < 0 or file.max() >= len(files)):
        raise CorruptBlockError("a block is in a file that does not exist")
    if len(file) and (length.min() < 1 or length.max() > MAX_FRAME):
        raise CorruptBlockError("a block has a length that cannot be")
    for record in files:
        inside = file == record.file
        ends = np.cumsum(length[inside])
        if not np.array_equal(offset[inside], np.concatenate([[0], ends])[:-1]):
            raise CorruptBlockError(f"the blocks in {record.name} leave gaps or overlap")
        if record.bytes != (ends[-1] if len(ends) else 0):
            raise CorruptBlockError(f"the blocks do not fill {record.name}")


def is_catalogue(path: Path) -> bool:
    """Whether a file says that it is a catalogue of madn, of whatever format, damaged or not."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            head = file.read(100)
    except OSError:
        return False
    return head[:16] == b"SQLite format 3\0" and head[68:72] == schema.APPLICATION_ID.to_bytes(4, "big")
