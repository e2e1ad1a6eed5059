"""Databases on disk: blocks of values, their catalogue, reading and writing. `madn.database` answers from them."""

from madn.errors import OutputError
from madn.store.compress import compress_database
from madn.store.verify import Report, verify_database
from madn.store.workplace import check_writable
from madn.store.writer import Source, write_database

__all__ = [
    "OutputError",
    "Report",
    "Source",
    "check_writable",
    "compress_database",
    "verify_database",
    "write_database",
]
