"""The option `--table` of the small games: a file of all states with what to do in each."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from madn.cli.output import Rows


class Solved(Protocol):
    """The solution of a game that can be written as a table."""

    def table(self) -> Iterator[dict[str, Any]]:
        """The columns of the states, some at a time."""


def check_table_file(path: Path) -> None:
    """Refuse a table that cannot be written, before the work."""
    from madn.table import check_table_file as check

    check(path)


def write_table(path: Path, solution: Solved, game: Mapping[str, Any], facts: dict[str, Any]) -> Rows:
    """Write all states to a file, add it to the facts, and return the rows to print."""
    from madn.table import writing_table

    count = 0
    with writing_table(path, {"game": json.dumps(game)}) as write:
        for columns in solution.table():
            write(columns)
            count += len(next(iter(columns.values())))
    facts |= {"table": str(path), "rows": count}
    return [("", ""), ("table", str(path)), ("rows", f"{count:,}")]
