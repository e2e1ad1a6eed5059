"""Databases that somebody made up, with right digests where that is possible: only their content gives them away."""

import contextlib
import hashlib
import os
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from torture import btree

CATALOGUE, SUMS, FRAMES = "catalogue.sqlite", "SHA256SUMS", "values-0000.madn"
TEXTS = (
    "",
    "x",
    "nan",
    "Infinity",
    "1e999",
    "-1e999",
    "1e300",
    "0.5",
    '"\\ud800"',
    '{"a": [1e999]}',
    '"\\u001b[2J\\u001b]0;owned\\u0007"',
    "[" * 100_000,
    "9" * 5000,
    "null",
    "true",
    "\x1b[31mred\x1b[0m",
    "\x1b]52;c;cm0gLXJm\x07",
    "a\nmadn: b",
    "\r\x08\x7f\x9b31m",
    "\u202egnp.exe",
    "../../etc/passwd",
    "0/0",
    "99,98/97",
    "fixed32",
    "policy",
    "bits24",
    "x" * 100_000,
)
NUMBERS = (
    *(0, 1, -1, 2, 7, 255, 65536, 2**31 - 1, 2**31, 2**32, 2**40, 2**53, 2**62, 2**63 - 1, -(2**63)),
    *(0.0, -0.0, 0.5, 1.5, -3.0, 5.0, 1e300, -1e300, 5e-324, float("inf"), float("-inf")),
)


def sums(directory: Path) -> None:
    """Write SHA256SUMS as it should be for what is there, and the digests of files in the catalogue are left alone."""
    lines = []
    for name in sorted(os.listdir(directory)):
        path = directory / name
        if name != SUMS and path.is_file() and not path.is_symlink():
            lines.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n")
    (directory / SUMS).write_text("".join(lines))


@contextlib.contextmanager
def unguarded(catalogue: Path) -> Any:
    """The catalogue without the types and conditions of its tables, which are there again afterwards."""
    with contextlib.closing(sqlite3.connect(catalogue, isolation_level=None)) as rows:
        rows.execute("PRAGMA writable_schema = ON")
        before = rows.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL").fetchall()
        for name, sql in before:
            plain = sql.replace("NOT NULL", "").replace(" STRICT", "")
            rows.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (plain, name))
    with contextlib.closing(sqlite3.connect(catalogue, isolation_level=None)) as rows:
        rows.execute("PRAGMA synchronous = OFF")
        yield rows
        if rows.in_transaction:
            rows.execute("COMMIT")
        rows.execute("PRAGMA writable_schema = ON")
        for name, sql in before:
            rows.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (sql, name))


def nasty(rng: random.Random) -> Any:
    """A value that no column expects."""
    kind = rng.randrange(5)
    if kind == 0:
        return None
    if kind == 1:
        return rng.choice((b"", b"\xff\xfe", b"\x1b[31m", rng.randbytes(9)))
    return rng.choice(NUMBERS) if kind < 4 else rng.choice(TEXTS)


# Each of these changes a database in a directory; it returns what it did.


def forge_column(rng: random.Random, directory: Path) -> str:
    """Another value in a column of a row, or of all rows."""
    with unguarded(directory / CATALOGUE) as rows:
        tables = [name for (name,) in rows.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = rng.choice([name for name in tables if not name.startswith(("sqlite_", "_"))])
        column = rng.choice([row[1] for row in rows.execute(f"PRAGMA table_info({table})")])
        value = nasty(rng)
        count = rows.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        where = f"WHERE rowid IN (SELECT rowid FROM {table} LIMIT 1 OFFSET {rng.randrange(max(count, 1))})"
        cast = rng.random() < 0.2 and isinstance(value, bytes)
        with contextlib.suppress(sqlite3.Error):  # a key may be there already
            rows.execute(f"UPDATE {table} SET {column} = {'CAST(? AS TEXT)' if cast else '?'} {where}", (value,))
    return f"{table}.{column} = {str(value)[:40]!r}"


def forge_provenance(rng: random.Random, directory: Path) -> str:
    """A figure of how it was made, in JSON that it is not meant to be."""
    with unguarded(directory / CATALOGUE) as rows:
        names = [name for (name,) in rows.execute("SELECT name FROM provenance")] or ["x"]
        name, value = rng.choice(names), rng.choice(TEXTS)
        rows.execute("UPDATE provenance SET value = ? WHERE name = ?", (value, name))
        if rng.random() < 0.2:
            rows.execute("INSERT OR REPLACE INTO provenance VALUES (?, ?)", (rng.choice(TEXTS)[:2000], value))
    return f"provenance {name} = {value[:40]!r}"


def forge_rows(rng: random.Random, directory: Path) -> str:
    """Rows that are missing, or too many."""
    with unguarded(directory / CATALOGUE) as rows:
        tables = [name for (name,) in rows.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = rng.choice([name for name in tables if not name.startswith("sqlite_")])
        if rng.random() < 0.5:
            rows.execute(f"DELETE FROM {table} WHERE rowid % {rng.choice((1, 2, 3))} = 0")
            return f"rows of {table} are missing"
        columns = [row[1] for row in rows.execute(f"PRAGMA table_info({table})")]
        with contextlib.suppress(sqlite3.Error):
            count = rng.choice((1, 1000, 30000))
            values = [value[:50] if isinstance(value, str) else value for value in (nasty(rng) for _ in columns[1:])]
            many = ([number + 10**6, *values] for number in range(count))
            rows.execute("BEGIN")
            rows.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", many)
    return f"more rows of {table}"


def forge_tree(rng: random.Random, directory: Path) -> str:
    """Pages that point at each other, so that rows never end; or a header that claims too many pages."""
    catalogue = directory / CATALOGUE
    with contextlib.closing(sqlite3.connect(catalogue)) as rows:
        roots = rows.execute("SELECT name, rootpage FROM sqlite_master WHERE rootpage > 1").fetchall()
    name, root = rng.choice(roots)
    data = catalogue.read_bytes()
    what = rng.choice(("endless", "endless", "circle", "giant"))
    if what == "endless":
        data = btree.endless(data, root, rng.randint(2, 7))
    elif what == "circle":
        data = btree.circle(data, root)
    else:
        data = btree.giant(data, rng.choice((0, 1, 2**16, 2**31 - 2, 2**32 - 1)))
    catalogue.write_bytes(data)
    return f"{what} pages of {name}"


def forge_schema(rng: random.Random, directory: Path) -> str:
    """A table that is a view without end, or has other columns, or a trigger that does something."""
    statement = rng.choice(
        (
            "CREATE VIEW {0} AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) "
            "SELECT i AS name, i AS value, i AS file, i AS bytes, i AS block FROM n",
            "CREATE TABLE {0} (name, value, x DEFAULT (randomblob(1000000000)))",
            "CREATE VIRTUAL TABLE {0} USING fts5(name, value)",
            "CREATE TABLE {0} (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID",
        )
    )
    with contextlib.closing(sqlite3.connect(directory / CATALOGUE, isolation_level=None)) as rows:
        tables = [name for (name,) in rows.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = rng.choice([name for name in tables if not name.startswith(("sqlite_", "_"))])
        rows.execute("PRAGMA foreign_keys = OFF")
        with contextlib.suppress(sqlite3.Error):
            rows.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
            rows.execute(statement.format(table))
    return f"{table} is {statement[:30]}"


def forge_residual(rng: random.Random, directory: Path) -> str:
    """The residual that `verify --deep` compares with: missing, a text, or impossible."""
    value = rng.choice((None, "null", '"x"', "1e300", "-1", "0.9", "true", "[]", "{}"))
    with unguarded(directory / CATALOGUE) as rows:
        if value is None:
            rows.execute("DELETE FROM provenance WHERE name = 'residual'")
        else:
            rows.execute("UPDATE provenance SET value = ? WHERE name = 'residual'", (value,))
    forge_values(rng, directory, plausible=True)
    return f"residual {value}"


def forge_values(rng: random.Random, directory: Path, plausible: bool = False) -> str:
    """A block with other values, and the right digest everywhere: no probabilities, unless they are to be plausible."""
    from madn.rules import Rules
    from madn.store import blocks

    with unguarded(directory / CATALOGUE) as rows:
        found = dict(rows.execute("SELECT name, value FROM rules").fetchall())
        rules = Rules(found["pieces"], found["squares"])
        listed = rows.execute(
            "SELECT block, profile, first_rank, count, encoding, offset, length FROM blocks"
        ).fetchall()
        number, profile, first_rank, count, name, offset, length = rng.choice(listed)
        shape = rows.execute("SELECT p1, f1, p2, f2, first_id FROM profiles WHERE profile = ?", (profile,)).fetchone()
        encoding = blocks.ENCODINGS[name]
        if encoding in blocks.POLICIES:
            return forge_frame(rng, directory)
        where = blocks.profile_slice(rules, shape[:4], first_rank)
        frame = (directory / FRAMES).read_bytes()[offset : offset + length]
        values = blocks.decode(frame, encoding, shape[4] + first_rank, count, where).copy()
        at = rng.randrange(count) if rng.random() < 0.7 else slice(None)
        if plausible:
            values[at] = encoding.raws(np.array([rng.random()]))[0]
        elif encoding.dtype == "<f8":
            values[at] = rng.choice((np.nan, np.inf, -np.inf, 5.0, -3.0, 1.0000001, -1e-12, 1e300))
        else:
            limits = np.iinfo(encoding.dtype)
            values[at] = rng.choice((limits.min, limits.max) if limits.min < 0 else (limits.max, limits.max // 2))
        new = blocks.encode(values, encoding, shape[4] + first_rank, where)
        _put(rows, directory, number, new)
    return f"block {number}: {'plausible' if plausible else 'impossible'} values"


def forge_frame(rng: random.Random, directory: Path) -> str:
    """A frame of something else, with the right digest: a bomb, a wrong size, no checksum, noise, two frames."""
    import zstandard

    kind = rng.choice(("bomb", "size", "checksum", "noise", "two", "empty", "unsized"))
    with unguarded(directory / CATALOGUE) as rows:
        number, offset, length = rng.choice(rows.execute("SELECT block, offset, length FROM blocks").fetchall())
        old = (directory / FRAMES).read_bytes()[offset : offset + length]
        content = zstandard.ZstdDecompressor().decompress(old)
        right = zstandard.ZstdCompressor(write_checksum=True, write_content_size=True)
        new = {
            "bomb": lambda: right.compress(content + bytes(1 << 26)),
            "size": lambda: right.compress(content[: rng.randrange(len(content))]),
            "checksum": lambda: zstandard.ZstdCompressor(write_checksum=False).compress(content),
            "noise": lambda: right.compress(content[:20] + rng.randbytes(max(len(content) - 20, 0))),
            "two": lambda: old + old,
            "empty": lambda: right.compress(b""),
            "unsized": lambda: zstandard.ZstdCompressor(write_checksum=True, write_content_size=False).compress(
                content
            ),
        }[kind]()
        _put(rows, directory, number, new)
        if rng.random() < 0.3:
            counts = (2**20, 2**31, 0)
            rows.execute("UPDATE blocks SET count = ? WHERE block = ?", (rng.choice(counts), number))
    return f"block {number}: {kind}"


def _put(rows: Any, directory: Path, number: int, frame: bytes) -> None:
    """Append a frame, say in the catalogue that this is the block, and make all digests right."""
    path = directory / FRAMES
    offset = path.stat().st_size
    with open(path, "ab") as file:
        file.write(frame)
    whole = path.read_bytes()
    digest = hashlib.sha256(frame).hexdigest()[:32]
    rows.execute(
        "UPDATE blocks SET offset = ?, length = ?, digest = ? WHERE block = ?", (offset, len(frame), digest, number)
    )
    rows.execute("UPDATE files SET bytes = ?, sha256 = ?", (len(whole), hashlib.sha256(whole).hexdigest()))


def forge_digest(rng: random.Random, directory: Path) -> str:
    """A digest of a block or file that is wrong."""
    with unguarded(directory / CATALOGUE) as rows:
        table, column = rng.choice((("blocks", "digest"), ("files", "sha256")))
        value = rng.choice(("", "0" * 32, "x" * 64, "\x1b[31m", "0" * 10**6))
        rows.execute(f"UPDATE {table} SET {column} = ?", (value,))
    return f"{table}.{column} = {value[:20]!r}"


def forge_file(rng: random.Random, directory: Path) -> str:
    """A file that is none: a pipe, a link to a device without end, a link to itself, a directory."""
    name = rng.choice((CATALOGUE, SUMS, FRAMES))
    kind = rng.choice(("pipe", "zero", "loop", "directory", "link"))
    path = directory / name
    (directory.parent / "elsewhere").write_bytes(path.read_bytes())
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    else:
        path.symlink_to({"zero": "/dev/zero", "loop": name, "link": "../elsewhere"}[kind])
    return f"{name} is a {kind}"


Forgery = Callable[[random.Random, Path], str]
FORGERIES: tuple[Forgery, ...] = (
    forge_column,
    forge_column,
    forge_column,
    forge_provenance,
    forge_provenance,
    forge_rows,
    forge_tree,
    forge_tree,
    forge_schema,
    forge_residual,
    forge_values,
    forge_values,
    forge_frame,
    forge_digest,
    forge_file,
)
OF_LUDO = (forge_values, forge_residual)
