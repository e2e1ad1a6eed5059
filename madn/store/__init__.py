"""Databases on disk: blocks of values, their catalogue, writing them. `madn.database` answers from them."""

from madn.errors import OutputError
from madn.store.place import check_writable
from madn.store.writer import Source, write_database

__all__ = ["OutputError", "Source", "check_writable", "write_database"]
