"""Databases that somebody changed on purpose: the bytes are whole and the digests are right where they should be."""

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from madn.store import blocks
from madn.store.reader import open_reader
from madn.store.records import CATALOGUE, SUMS, frame_digest, sums_text

LEAF, INTERIOR = 13, 5  # kinds of pages of a b-tree of rows


@contextmanager
def catalogue(database: Path) -> Iterator[sqlite3.Connection]:
    """The catalogue to write to; afterwards SHA256SUMS is right again."""
    with closing(sqlite3.connect(database / CATALOGUE)) as connection:
        yield connection
        connection.commit()
        files = connection.execute("SELECT name, sha256 FROM files LIMIT 1000").fetchall()
    own = hashlib.sha256((database / CATALOGUE).read_bytes()).hexdigest()
    (database / SUMS).write_bytes(sums_text({CATALOGUE: own, **dict(files)}).encode())


def change(database: Path, statement: str, *values: object) -> None:
    """Carry out a statement in the catalogue."""
    with catalogue(database) as connection:
        connection.execute(statement, values)


def replace_frame(database: Path, block: int, frame: bytes, *, digest: bool = True) -> None:
    """Put a frame in the place of another; without `digest` the catalogue keeps that of the old one."""
    with catalogue(database) as connection:
        find = "SELECT file, name, blocks.offset, length FROM blocks JOIN files USING (file) WHERE block = ?"
        file, name, offset, length = connection.execute(find, (block,)).fetchone()
        data = (database / name).read_bytes()
        data = data[:offset] + frame + data[offset + length :]
        (database / name).write_bytes(data)
        longer = len(frame) - length
        connection.execute(
            "UPDATE blocks SET offset = offset + ? WHERE file = ? AND offset > ?", (longer, file, offset)
        )
        connection.execute("UPDATE blocks SET length = ? WHERE block = ?", (len(frame), block))
        if digest:
            connection.execute("UPDATE blocks SET digest = ? WHERE block = ?", (frame_digest(frame), block))
        sha256 = hashlib.sha256(data).hexdigest()
        connection.execute("UPDATE files SET bytes = ?, sha256 = ? WHERE file = ?", (len(data), sha256, file))


def replace_value(database: Path, id: int, raw: Any, *, digest: bool = True) -> None:
    """Store another raw value for a position ID of Ludo, in a frame whose zstd checksum is right."""
    with closing(open_reader(database)) as reader:
        table, at = reader.find(id)
        values = reader.load(table, at).copy()
        values[id - table.first_ids[at]] = raw
        profile = reader.catalogue.profiles[table.profile[at]]
        where = blocks.profile_slice(reader.catalogue.rules, profile, int(table.first_rank[at]))
        frame = blocks.encode(values, table.encodings[at], table.first_ids[at], where)
        block = table.first_block + at
    replace_frame(database, block, frame, digest=digest)


def endless_table(database: Path, table: str, levels: int = 4) -> None:
    """Make a table whose pages point to each other so often that it seems to have 500**levels times as many rows."""
    path = database / CATALOGUE
    with closing(sqlite3.connect(path)) as connection:
        ((root,),) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchall()
        ((size,),) = connection.execute("PRAGMA page_size").fetchall()
    data = bytearray(path.read_bytes())
    pages = len(data) // size
    below = root
    if data[(root - 1) * size] == LEAF:
        data += data[(root - 1) * size : root * size]
        pages += 1
        below = pages
    else:  # its first leaf
        while data[(below - 1) * size] == INTERIOR:
            first = int.from_bytes(data[(below - 1) * size + 12 :][:2])
            below = int.from_bytes(data[(below - 1) * size + first :][:4])
    for level in range(levels):
        page = _interior(below, size)
        if level == levels - 1:
            data[(root - 1) * size : root * size] = page
        else:
            data += page
            pages += 1
            below = pages
    data[28:32] = pages.to_bytes(4)
    path.write_bytes(data)
    with catalogue(database):
        pass


def _interior(child: int, size: int) -> bytes:
    """A page of a b-tree whose children are all the same page."""
    count = (size - 12) // 7 - 1
    start = size - 5 * count
    pointers = b"".join((start + 5 * i).to_bytes(2) for i in range(count))
    cells = (child.to_bytes(4) + b"\x01") * count  # every key is 1
    head = bytes([INTERIOR]) + bytes(2) + count.to_bytes(2) + start.to_bytes(2) + b"\0" + child.to_bytes(4)
    return (head + pointers).ljust(start, b"\0") + cells


def raw_of(encoding: blocks.Encoding, win: float) -> Any:
    """The raw value of any number, a probability or not, as far as it can be stored."""
    if encoding == blocks.FLOAT64:
        return win
    limits = np.iinfo(encoding.dtype)
    return int(np.clip(np.nan_to_num((win - encoding.zero) * encoding.scale), limits.min, limits.max))
