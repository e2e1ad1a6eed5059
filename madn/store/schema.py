"""The tables and views of `catalogue.sqlite`, and which game a catalogue belongs to."""

from typing import NamedTuple

APPLICATION_ID = 0x4D41444E  # "MADN", in the header of the SQLite file


class Schema(NamedTuple):
    """The catalogue of one game. `rules` is the table with its rules, which no other game has."""

    rules: str
    format: int  # in the header of the SQLite file, as user_version; not the version of the package
    oldest_format: int  # the oldest this package reads
    tables: dict[str, str]
    views: dict[str, str]


GAMES = {  # by the name of the table with the rules: the game, and the commands that read its databases
    "rules": ("Ludo", "madn info and madn win read it"),
    "cantstop": ("Can't Stop", "madn info and madn cantstop --db read it"),
}

TABLES = {
    "rules": "name TEXT PRIMARY KEY, value INTEGER NOT NULL",
    "provenance": "name TEXT PRIMARY KEY, value TEXT NOT NULL",
    "encodings": "name TEXT PRIMARY KEY, code INTEGER NOT NULL, bits INTEGER NOT NULL, zero REAL NOT NULL, "
    "scale REAL NOT NULL, max_error REAL NOT NULL",
    "files": "file INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, bytes INTEGER NOT NULL, sha256 TEXT NOT NULL",
    "profiles": "profile INTEGER PRIMARY KEY, p1 INTEGER NOT NULL, f1 INTEGER NOT NULL, p2 INTEGER NOT NULL, "
    "f2 INTEGER NOT NULL, first_id INTEGER NOT NULL, positions INTEGER NOT NULL, UNIQUE (p1, f1, p2, f2)",
    "blocks": "block INTEGER PRIMARY KEY, profile INTEGER NOT NULL REFERENCES profiles, "
    "first_rank INTEGER NOT NULL, count INTEGER NOT NULL, file INTEGER NOT NULL REFERENCES files, "
    "offset INTEGER NOT NULL, length INTEGER NOT NULL, encoding TEXT NOT NULL REFERENCES encodings, "
    "digest TEXT NOT NULL, UNIQUE (profile, first_rank)",
    "boards": "name TEXT PRIMARY KEY, board TEXT NOT NULL, id INTEGER NOT NULL, win REAL NOT NULL, "
    "block INTEGER REFERENCES blocks, offset INTEGER",
}

VIEWS = {
    "block_list": """
        SELECT block, p1, f1, p2, f2, first_id + first_rank AS first_id,
               first_id + first_rank + count - 1 AS last_id, count, name AS file, offset, length,
               round(8.0 * length / count, 2) AS bits_per_position, encoding, digest
        FROM blocks JOIN profiles USING (profile) JOIN files USING (file)""",
    "profile_sizes": """
        SELECT p1, f1, p2, f2, first_id, positions, coalesce(sum(count), 0) AS stored,
               count(block) AS blocks, coalesce(sum(length), 0) AS bytes,
               round(8.0 * sum(length) / sum(count), 2) AS bits_per_position
        FROM profiles LEFT JOIN blocks USING (profile) GROUP BY profile ORDER BY profile""",
    "profile_places": """
        SELECT p1, f1, p2, f2, name AS file, min(offset) AS first_byte, max(offset + length) - 1 AS last_byte,
               min(block) AS first_block, max(block) AS last_block
        FROM profiles JOIN blocks USING (profile) JOIN files USING (file) GROUP BY profile, file""",
    "named_boards": """
        SELECT boards.name, board, id, round(100 * win, 4) AS win_percent, p1, f1, p2, f2, block,
               boards.offset AS offset_in_block, files.name AS file, blocks.offset AS block_offset
        FROM boards LEFT JOIN blocks USING (block) LEFT JOIN profiles USING (profile)
             LEFT JOIN files USING (file)""",
    "about": """
        SELECT 'format' AS name, user_version AS value FROM pragma_user_version
        UNION ALL SELECT name, value FROM rules
        UNION ALL SELECT 'positions', sum(positions) FROM profiles
        UNION ALL SELECT 'stored', sum(count) FROM blocks
        UNION ALL SELECT 'blocks', count(*) FROM blocks
        UNION ALL SELECT 'bytes of blocks', sum(bytes) FROM files
        UNION ALL SELECT name, value FROM provenance""",
}

LUDO = Schema("rules", 1, 1, TABLES, VIEWS)
