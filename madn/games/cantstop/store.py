"""Solved games in a directory: `catalogue.sqlite` and frames of values. docs/cantstop.md describes the format.

Writing and reading are done by `madn.store`; this module adds what only Can't Stop has: its tables and block encoding.
"""

import os
import struct
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from madn.errors import CorruptBlockError, InvalidRulesError
from madn.games.cantstop.answers import Source
from madn.games.cantstop.numbering import Array, Numbering
from madn.games.cantstop.rules import CantStop
from madn.games.cantstop.solver import Solution, needed_memory
from madn.machine import versions
from madn.ranges import checked_type
from madn.store import zstd
from madn.store.catalogue import CatalogueFile, check_filled, check_frames, check_numbers
from madn.store.encoders import Contents, EncodedBlock, Row
from madn.store.reader import FrameReader
from madn.store.records import FrameTable
from madn.store.schema import Schema
from madn.store.verify import check_catalogue
from madn.store.writer import open_writer

MAGIC = b"cant"
HEADER = struct.Struct("<4sIQ")  # magic, number of values, index of the first
BLOCK = 1 << 14  # values of a block
CACHE_BYTES = 1 << 27  # of decoded blocks
LARGEST = 1 << 34  # a catalogue whose game would need more memory than this is not believed
TABLES = {
    "cantstop": "name TEXT PRIMARY KEY, value INTEGER NOT NULL",
    "provenance": "name TEXT PRIMARY KEY, value TEXT NOT NULL",
    "files": "file INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, bytes INTEGER NOT NULL, sha256 TEXT NOT NULL",
    "blocks": "block INTEGER PRIMARY KEY, first INTEGER NOT NULL, count INTEGER NOT NULL, "
    "file INTEGER NOT NULL REFERENCES files, offset INTEGER NOT NULL, length INTEGER NOT NULL, digest TEXT NOT NULL",
}
SCHEMA = Schema("cantstop", 1, 1, TABLES, {})


def write_database(path: str | os.PathLike[str], solution: Solution, *, level: int = 3, threads: int = 2) -> None:
    """Write a solution as a database at `path`, replacing any there."""
    if checked_type("solution", solution, Solution).rule is not None:
        raise InvalidRulesError("a database holds the best play of both players, not the rule of 28")
    values = solution.values[0]
    with open_writer(path, Encoder(solution.game, level), threads=threads, block_positions=BLOCK) as writer:
        writer.take(0, len(values), 0, values)
        writer.publish(_provenance(solution))


class Encoder:
    """Encodes values of Can't Stop; see `madn.store.encoders.Encoder`."""

    schema = SCHEMA

    def __init__(self, game: CantStop, level: int) -> None:
        self.game, self.level = game, zstd.checked_level(level)

    @property
    def task(self) -> dict[str, Any]:
        """The rules, the compression and the format."""
        return {"cantstop": asdict(self.game), "level": self.level, "format": self.schema.format}

    def encode(self, first: int, content: Array) -> EncodedBlock:
        """A frame: the header, then the first byte of every value, then the second byte of each, and so on."""
        planes = np.ascontiguousarray(content, "<f8").view(np.uint8).reshape(-1, 8).T
        frame = zstd.compress(HEADER.pack(MAGIC, len(content), first) + planes.tobytes(), self.level)
        return EncodedBlock(frame, "float64")

    def rows(self, contents: Contents) -> Mapping[str, Iterable[Row]]:
        """The rows of each table of the catalogue."""
        return contents.common_rows() | {
            "cantstop": [{"name": name, "value": value} for name, value in asdict(self.game).items()],
            "blocks": (
                {"block": number, "first": block.first, **block.frame_row(), "digest": block.digest}
                for number, block in enumerate(contents.blocks)
            ),
        }


def _provenance(solution: Solution) -> dict[str, Any]:
    names = ("method", "threads", "seconds", "components", "iterations", "most_iterations", "first_player")
    return {"versions": versions(), **{name: getattr(solution, name) for name in names}}


def decode(frame: bytes, first: int, count: int) -> Array:
    """The values of a frame that should hold `count` of them from index `first` on."""
    content = zstd.decompress(frame, HEADER.size + 8 * count)
    header, expected = HEADER.unpack_from(content), (MAGIC, count, first)
    if header != expected:
        raise CorruptBlockError(f"block header is {header}, expected {expected}")
    planes = np.frombuffer(content, np.uint8, offset=HEADER.size).reshape(8, count)
    values: Array = np.ascontiguousarray(planes.T).view("<f8").reshape(count)
    if not ((values >= 0) & (values <= 1)).all():
        raise CorruptBlockError("a value is not a probability")
    return values


class Catalogue(CatalogueFile):
    """The catalogue of a solved game."""

    schema = SCHEMA

    def read(self) -> None:
        """Read the rules and the blocks, and check that the blocks are those of the game."""
        self.game = _rules(dict(self.rows("name, value", "cantstop", "ti")))
        self.numbering = Numbering(self.game)
        rows = self.rows("block, first, count, file, offset, length, digest", "blocks ORDER BY block", "iiiiiit")
        *columns, digest = list(zip(*rows, strict=True)) or [()] * 7
        block, first, count, file, offset, length = (np.array(column, np.int64) for column in columns)
        check_numbers(block, 0)
        starts = np.arange(0, self.numbering.size, BLOCK)
        if not (
            np.array_equal(first, starts) and np.array_equal(count, np.minimum(BLOCK, self.numbering.size - starts))
        ):
            raise CorruptBlockError(f"blocks do not hold the {self.numbering.size:,} values of {self.game}")
        self.table = FrameTable(0, first, count, file, offset, length, digest)
        check_frames(self.files, self.table)
        check_filled(self.files, self.table)


def _rules(values: Mapping[str, int]) -> CantStop:
    known = {field.name for field in fields(CantStop)}
    if values.keys() != known:
        raise CorruptBlockError(f"rule {min(values.keys() ^ known)!r} is missing or unknown")
    try:
        game = CantStop(**values)
    except InvalidRulesError as error:
        raise CorruptBlockError(str(error)) from None
    if needed_memory(game) > LARGEST:
        raise CorruptBlockError(f"{game} cannot have been solved: it needs {needed_memory(game):,} bytes")
    return game


def open_database(path: str | os.PathLike[str]) -> "Database":
    """Open a database of a solved game; it need not come from a trusted source."""
    return Database(Path(path), CACHE_BYTES)


class Database(FrameReader, Source):
    """The values of a solved game on disk. A database may be shared by threads."""

    catalogue_file = Catalogue
    catalogue: Catalogue

    @property
    def game(self) -> CantStop:
        """The rules of the game."""
        return self.catalogue.game

    @property
    def provenance(self) -> dict[str, Any]:
        """How the values were made."""
        return self.catalogue.provenance

    def anchor(self, own: tuple[int, ...], other: tuple[int, ...], won: int, lost: int) -> float:
        """The chance of the player to move; see `Source`."""
        block, place = divmod(self.catalogue.numbering.index(own, other, lost), BLOCK)
        return float(self.block(self.catalogue.table, block)[place])

    def decode(self, table: FrameTable, at: int, frame: bytes) -> Array:
        """The values of a block."""
        return decode(frame, int(table.first_id[at]), int(table.count[at]))

    def info(self) -> dict[str, Any]:
        """What is in the database and how it was made, in a form that can be written as JSON."""
        check_catalogue(self.directory)
        return {
            "game": "cantstop",
            "rules": asdict(self.game),
            "components": self.game.components,
            "positions": self.game.positions,
            "blocks": len(self.catalogue.table),
            "bytes": self.stored_bytes(),
            "format": self.catalogue.format,
            "values": "float64",
            "first_player": self.first_player,
            "provenance": self.provenance,
        }

    def verify(self) -> None:
        """Read every block; raise `CorruptBlockError` for the first that is damaged."""
        for at in range(len(self.catalogue.table)):
            self.block(self.catalogue.table, at)
