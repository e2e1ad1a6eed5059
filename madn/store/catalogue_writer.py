"""Writing `catalogue.sqlite` and SHA256SUMS."""

import hashlib
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlite_utils import Database
from sqlite_utils.migrations import Migrations

from madn.store.records import CATALOGUE, SUMS, BlockFile, sums_text
from madn.store.schema import APPLICATION_ID, Schema


def write_catalogue(path: Path, schema: Schema, rows: Mapping[str, Iterable[dict[str, Any]]]) -> None:
    """Create `catalogue.sqlite`, which must not exist yet, with these rows in each table."""
    migrations = Migrations("madn")  # each leads from one format version to the next

    @migrations()
    def format_1(db: Database) -> None:
        for name, columns in schema.tables.items():
            db.execute(f"CREATE TABLE {name} ({columns}) STRICT")
        for name, query in schema.views.items():
            db.create_view(name, query.strip())

    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA page_size = 1024")
        connection.execute("PRAGMA journal_mode = MEMORY")  # nobody uses the file before it is complete
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {schema.format}")
        db = Database(connection, strict=True, execute_plugins=False)
        migrations.apply(db)
        db.execute("UPDATE _sqlite_migrations SET applied_at = ''")  # so that equal databases have equal bytes
        with db.atomic():
            for name in schema.tables:
                db.table(name).insert_all(rows[name], batch_size=1000)


def write_sums(directory: Path, files: Iterable[BlockFile]) -> None:
    """Write SHA256SUMS, which covers every other file of the database."""
    with open(directory / CATALOGUE, "rb") as catalogue:
        digests = {CATALOGUE: hashlib.file_digest(catalogue, "sha256").hexdigest()}
    digests |= {file.name: file.sha256 for file in files}
    (directory / SUMS).write_text(sums_text(digests), encoding="ascii", newline="\n")
