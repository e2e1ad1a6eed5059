"""Arguments and options that several commands share."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from madn.rules import DIE

Function = TypeVar("Function", bound=Callable[..., Any])
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

board_argument = click.argument("board")
roll_argument = click.argument("roll", type=click.IntRange(1, DIE))
database_argument = click.argument("db", type=click.Path())


def rules_options(command: Function) -> Function:
    """Add `--pieces` and `--squares`."""
    squares = click.option(
        "--squares", type=int, default=40, show_default=True, help="Squares of the main field: even, 8 to 40."
    )
    pieces = click.option("--pieces", type=int, default=4, show_default=True, help="Pieces a side.")
    return pieces(squares(command))


def memory_bytes(_ctx: click.Context | None, param: click.Parameter | None, value: str | None) -> int | None:
    """Read an amount of memory such as 20G, 512M or 1.5G, in units of 1024; the callback of an option."""
    if value is None:
        return None
    parts = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)([KMGT]?)(?:i?B)?", value, re.IGNORECASE)
    if parts is None:
        raise click.BadParameter(f"{value!r} is not an amount of memory; write it like 20G or 512M", param=param)
    return int(float(parts[1]) * UNITS[parts[2].upper()])
