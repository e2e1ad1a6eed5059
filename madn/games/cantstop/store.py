"""Solved games in a directory: `catalogue.sqlite` and frames of values. docs/cantstop.md describes the format.

The place, the frames and the way a new database takes the place of an old one are those of `madn.store`.
"""

import json
import os
import platform
import sqlite3
import stat
import struct
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

from madn.errors import CorruptBlockError, FormatVersionError, InvalidRulesError, MadnError, RulesMismatchError
from madn.games.cantstop.layout import Array, Layout
from madn.games.cantstop.rules import CantStop
from madn.games.cantstop.solver import Solution, needed_memory
from madn.store.blocks import decompress
from madn.store.catalogue import CANTSTOP, distrust, finite_json, one_line, tables
from madn.store.frames import FrameFiles, in_order, writing
from madn.store.records import CATALOGUE, SUMS, BlockFile, block_file_name, frame_digest
from madn.store.schema import APPLICATION_ID
from madn.store.workplace import workplace

FORMAT = 1  # of these databases; in the header of the SQLite file, as user_version
MAGIC = b"cant"
HEADER = struct.Struct("<4sIQ")  # magic, number of values, place of the first
BLOCK = 1 << 14  # values of a block
CACHED_BLOCKS = 1024
LARGEST = 1 << 34  # bytes of values that a reader believes in
TABLES = {
    "cantstop": "name TEXT PRIMARY KEY, value INTEGER NOT NULL",
    "provenance": "name TEXT PRIMARY KEY, value TEXT NOT NULL",
    "files": "file INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, bytes INTEGER NOT NULL, sha256 TEXT NOT NULL",
    "blocks": "block INTEGER PRIMARY KEY, first INTEGER NOT NULL, count INTEGER NOT NULL, "
    "file INTEGER NOT NULL REFERENCES files, offset INTEGER NOT NULL, length INTEGER NOT NULL, digest TEXT NOT NULL",
}


def write_database(path: str | os.PathLike[str], solution: Solution, *, level: int = 3, threads: int = 2) -> None:
    """Write a solution as a database at `path`, in place of a database that may be there."""
    from madn.store.catalogue_writer import write_sums  # a reader does without sqlite-utils

    if solution.rule is not None:
        raise InvalidRulesError("a database holds the best play of both players, not the rule of 28")
    values = solution.values[0]

    def jobs() -> Iterator[Callable[[], bytes]]:
        for first in range(0, len(values), BLOCK):
            yield partial(_encode, values[first : first + BLOCK], first, level)

    with workplace(path) as place, writing(path), closing(FrameFiles(place.part)) as files:
        blocks = []
        for number, frame in enumerate(in_order(jobs(), threads)):
            file, offset = files.append(frame)
            count = min(BLOCK, len(values) - number * BLOCK)
            blocks.append((number, number * BLOCK, count, file, offset, len(frame), frame_digest(frame)))
        files.close()
        _write_catalogue(place.part / CATALOGUE, solution, files.done, blocks)
        write_sums(place.part, files.done)
        place.publish()


def _encode(values: Array, first: int, level: int) -> bytes:
    """A frame: the header, then the first byte of every value, the second, and so on."""
    planes = np.ascontiguousarray(values, "<f8").view(np.uint8).reshape(-1, 8).T
    compressor = zstandard.ZstdCompressor(level=level, write_checksum=True, write_content_size=True)
    return compressor.compress(HEADER.pack(MAGIC, len(values), first) + planes.tobytes())


def _decode(frame: bytes, first: int, count: int) -> Array:
    content = decompress(frame, HEADER.size + 8 * count)
    if HEADER.unpack_from(content) != (MAGIC, count, first):
        raise CorruptBlockError("the block is not the one that the catalogue says it is")
    planes = np.frombuffer(content, np.uint8, offset=HEADER.size).reshape(8, count)
    values: Array = np.ascontiguousarray(planes.T).view("<f8").reshape(count)
    if not ((values >= 0) & (values <= 1)).all():
        raise CorruptBlockError("the block holds numbers that are no probabilities")
    return values


def _write_catalogue(path: Path, solution: Solution, files: list[BlockFile], blocks: list[tuple[Any, ...]]) -> None:
    from sqlite_utils import Database

    import madn
    from madn.machine import compiler

    versions = {"madn": madn.__version__, "python": platform.python_version(), "numpy": np.__version__}
    provenance = {
        "versions": {**versions, "compiler": compiler()},
        "method": solution.method,
        "threads": solution.threads,
        "seconds": solution.seconds,
        "components": solution.components,
        "iterations": solution.iterations,
        "most_iterations": solution.most_iterations,
        "first_player": solution.first_player,
    }
    names = ("block", "first", "count", "file", "offset", "length", "digest")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = MEMORY")  # the file counts only once it is complete
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        db = Database(connection, strict=True, execute_plugins=False)
        for name, columns in TABLES.items():
            db.execute(f"CREATE TABLE {name} ({columns}) STRICT")
        with db.atomic():
            rules = ({"name": name, "value": value} for name, value in asdict(solution.game).items())
            db.table("cantstop").insert_all(rules)
            texts = ({"name": name, "value": json.dumps(value)} for name, value in provenance.items())
            db.table("provenance").insert_all(texts)
            db.table("files").insert_all(asdict(file) for file in files)
            db.table("blocks").insert_all((dict(zip(names, block, strict=True)) for block in blocks), batch_size=1000)


def open_database(path: str | os.PathLike[str]) -> "Database":
    """Open a database of a solved game; it may come from a stranger."""
    return Database(Path(path))


class Database:
    """The values of a solved game on disk. Threads may share it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        try:
            self.game, self.provenance, self._files, self._blocks = _read_catalogue(directory / CATALOGUE)
            self.layout = Layout(self.game)
            _check_blocks(self._files, self._blocks, self.layout.size)
        except MadnError as error:
            raise type(error)(f"{directory / CATALOGUE}: {one_line(error)}") from None
        except (sqlite3.Error, ValueError, TypeError, OverflowError, RecursionError) as error:
            message = f"{directory / CATALOGUE}: damaged, or not a catalogue: {one_line(error)}"
            raise CorruptBlockError(message) from None
        self._cache: OrderedDict[int, Array] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def first_player(self) -> float:
        """The probability that the player who begins wins."""
        nothing = (0,) * self.game.columns
        return self.anchor(nothing, nothing, 0, 0)

    def anchor(self, own: tuple[int, ...], other: tuple[int, ...], won: int, lost: int) -> float:
        """The chance of the player to move; see `madn.games.cantstop.answers.Source`."""
        mask, mover, waiting = self.layout.ranks(own, other)
        mask, row, column = self.layout.find(mask, lost, mover, waiting)
        place = self.layout.places[mask] + row * self.layout.columns(mask) + column
        return float(self.block(place // BLOCK)[place % BLOCK])

    def block(self, number: int) -> Array:
        """The values of a block; raises `CorruptBlockError` if anything about it is wrong."""
        with self._lock:
            if number in self._cache:
                self._cache.move_to_end(number)
                return self._cache[number]
        _, first, count, file, offset, length, digest = self._blocks[number]
        try:
            frame = _read_frame(self.directory / self._files[file].name, offset, length)
            if frame_digest(frame) != digest:
                raise CorruptBlockError("the digest of the frame is wrong")
            values = _decode(frame, first, count)
        except (OSError, MadnError) as error:
            reason = getattr(error, "strerror", None) or error
            raise CorruptBlockError(f"{self.directory}: block {number}: {one_line(reason)}") from None
        with self._lock:
            self._cache[number] = values
            while len(self._cache) > CACHED_BLOCKS:
                self._cache.popitem(last=False)
        return values

    def info(self) -> dict[str, Any]:
        """What is in the database and how it was made; everything in it can go into JSON."""
        files = [self.directory / name for name in (CATALOGUE, SUMS, *(file.name for file in self._files))]
        return {
            "game": "cantstop",
            "rules": asdict(self.game),
            "components": self.game.components,
            "positions": self.game.positions,
            "blocks": len(self._blocks),
            "bytes": sum(path.stat().st_size for path in files if path.exists()),
            "format": FORMAT,
            "values": "float64",
            "first_player": self.first_player,
            "provenance": self.provenance,
        }

    def verify(self) -> None:
        """Read every block; raises `CorruptBlockError` for the first that is wrong."""
        for number in range(len(self._blocks)):
            self.block(number)


def _read_frame(path: Path, offset: int, length: int) -> bytes:
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, name, 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise CorruptBlockError(f"{path.name} is not an ordinary file")
        file.seek(offset)
        return file.read(length)


def _read_catalogue(path: Path) -> tuple[CantStop, dict[str, Any], list[BlockFile], list[tuple[Any, ...]]]:
    try:
        ordinary = stat.S_ISREG(path.lstat().st_mode)
    except OSError as error:
        raise CorruptBlockError(f"no database here: {error.strerror}") from None
    if not ordinary:
        raise CorruptBlockError("not an ordinary file")
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
        distrust(connection)
        found = tables(connection)
        if CANTSTOP not in found:
            wrong = RulesMismatchError if "rules" in found else CorruptBlockError
            raise wrong("a database of madn, but not of Can't Stop")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version != FORMAT:
            age = "new, install a newer madn" if version > FORMAT else "old, solve it again"
            raise FormatVersionError(f"format {version} is too {age}; this madn reads {FORMAT}")
        for table, columns in TABLES.items():
            if found.get(table) != f"CREATE TABLE {table} ({columns}) STRICT":
                raise CorruptBlockError(f"there is no table {table} as it should be")
        game = _read_rules(connection)
        made = connection.execute("SELECT name, value FROM provenance")
        provenance = {name: finite_json(text) for name, text in made}
        files = [BlockFile(*row) for row in connection.execute("SELECT * FROM files ORDER BY file")]
        blocks = connection.execute("SELECT * FROM blocks ORDER BY block").fetchall()
    return game, provenance, files, blocks


def _read_rules(connection: sqlite3.Connection) -> CantStop:
    values = dict(connection.execute("SELECT name, value FROM cantstop"))
    known = {field.name for field in fields(CantStop)}
    if values.keys() != known:
        raise CorruptBlockError(f"the rule {min(values.keys() ^ known)!r} is missing or not known")
    try:
        game = CantStop(**values)
    except InvalidRulesError as error:
        raise CorruptBlockError(str(error)) from None
    if needed_memory(game) > LARGEST:
        raise CorruptBlockError(f"{game} cannot have been solved")
    return game


def _check_blocks(files: list[BlockFile], blocks: list[tuple[Any, ...]], size: int) -> None:
    """Check that the blocks are those of the game and their frames fill the files."""
    if [file.file for file in files] != list(range(len(files))):
        raise CorruptBlockError("the files are not numbered from 0 on")
    if any(file.name != block_file_name(file.file) for file in files):
        raise CorruptBlockError("a file has a name that it should not have")
    wanted = [(number, first, min(BLOCK, size - first)) for number, first in enumerate(range(0, size, BLOCK))]
    if [block[:3] for block in blocks] != wanted:
        raise CorruptBlockError("the blocks are not those of the game")
    ends = dict.fromkeys(range(len(files)), 0)
    for _, _, count, file, offset, length, _ in blocks:
        if ends.get(file) != offset or not 0 < length <= 16 * count + 1024:
            raise CorruptBlockError("the frames of the blocks do not follow each other")
        ends[file] = offset + length
    if any(ends[file.file] != file.bytes for file in files):
        raise CorruptBlockError("the blocks do not fill their files")
