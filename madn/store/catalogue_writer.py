"""Writing `catalogue.sqlite` and SHA256SUMS."""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

from sqlite_utils import Database
from sqlite_utils.migrations import Migrations

from madn.rules import Rules
from madn.store import schema
from madn.store.records import (
    CATALOGUE,
    SUMS,
    Block,
    BlockFile,
    NamedBoard,
    StoredEncoding,
    profile_rows,
    sums_text,
)

migrations = Migrations("madn")  # one leads from each format version to the next


@migrations()
def format_1(db: Database) -> None:
    """Create the tables and views of format 1."""
    for name, columns in schema.TABLES.items():
        db.execute(f"CREATE TABLE {name} ({columns}) STRICT")
    for name, query in schema.VIEWS.items():
        db.create_view(name, query.strip())


def write_catalogue(
    path: Path,
    rules: Rules,
    provenance: Mapping[str, Any],
    encodings: Iterable[StoredEncoding],
    files: Iterable[BlockFile],
    blocks: Iterable[Block],
    boards: Iterable[NamedBoard],
) -> None:
    """Write `catalogue.sqlite` where there is none."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA page_size = 1024")
        connection.execute("PRAGMA journal_mode = MEMORY")  # the file counts only once it is complete
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {schema.FORMAT}")
        db = Database(connection, strict=True, execute_plugins=False)
        migrations.apply(db)
        db.execute("UPDATE _sqlite_migrations SET applied_at = ''")  # equal databases have equal bytes
        with db.atomic():
            _insert(db, "rules", ({"name": f.name, "value": getattr(rules, f.name)} for f in fields(rules)))
            _insert(
                db,
                "provenance",
                ({"name": name, "value": json.dumps(value)} for name, value in provenance.items()),
            )
            _insert(db, "encodings", (_encoding_row(encoding) for encoding in encodings))
            _insert(db, "files", (_row(file) for file in files))
            _insert(db, "profiles", profile_rows(rules))
            _insert(db, "blocks", (_row(block) for block in blocks))
            _insert(db, "boards", (_row(board) for board in boards))


def _insert(db: Database, table: str, rows: Iterable[dict[str, Any]]) -> None:
    db.table(table).insert_all(rows, batch_size=1000)


def _row(record: Block | BlockFile | NamedBoard) -> dict[str, Any]:
    return dict(zip((field.name for field in fields(record)), astuple(record), strict=True))


def _encoding_row(stored: StoredEncoding) -> dict[str, Any]:
    e = stored.encoding
    return {
        "name": e.name,
        "code": e.code,
        "bits": e.bits,
        "zero": e.zero,
        "scale": e.scale,
        "max_error": stored.max_error,
    }


def write_sums(directory: Path, files: Iterable[BlockFile]) -> None:
    """Write SHA256SUMS, which covers every other file of the database."""
    with open(directory / CATALOGUE, "rb") as catalogue:
        digests = {CATALOGUE: hashlib.file_digest(catalogue, "sha256").hexdigest()}
    digests |= {file.name: file.sha256 for file in files}
    (directory / SUMS).write_text(sums_text(digests), encoding="ascii", newline="\n")
