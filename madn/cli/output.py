"""How answers are printed: one JSON object for programs, short tables for people."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import click

from madn.drawing import BLACK, RED
from madn.errors import printable
from madn.views import chance as chance
from madn.views import percent as percent
from madn.views import plus_minus as plus_minus
from madn.views import size as size

Rows = list[tuple[str, str]]  # of a table: label and value
# Black is the terminal's own text colour, which is readable on any background.
STYLES: dict[str, dict[str, Any]] = {RED.letter: {"fg": "red", "bold": True}, BLACK.letter: {"bold": True}}
PIECE = re.compile(f"[{''.join(STYLES)}][0-9]*")  # on the drawing of a board, which has no other letters
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def print_json(answer: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
    """Print an answer as one JSON object (a list of them for `reproduce`), indented."""
    click.echo(json.dumps(answer, indent=2, allow_nan=False))


def show(as_json: bool, answer: Mapping[str, Any], text: str) -> None:
    """Print an answer: the JSON object, or the text for a person."""
    if as_json:
        print_json(answer)
    else:
        click.echo(text)


def attributes(thing: object, names: str) -> dict[str, Any]:
    """These attributes of an object, their names separated by spaces, for JSON."""
    return {name: getattr(thing, name) for name in names.split()}


def cantstop_game(rules: Mapping[str, int]) -> str:
    """The rules of Can't Stop in words."""
    board = f"shortest column {rules['shortest']}, difference {rules['difference']}"
    return f"{rules['sides']}-sided dice, {board}, {rules['to_win']} columns to win"


def plural(count: int, noun: str) -> str:
    """A number with its noun: `1 thread`, `1,234 threads`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def duration(seconds: float) -> str:
    """A time for a person: `0.34 s`, `12 s`, `3 min 05 s`, `2 h 07 min`."""
    if seconds < 9.995:
        return f"{seconds:.2f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def painted(drawing: str) -> str:
    """The drawing of a board with its pieces in colour; click.echo drops colour unless it writes to a terminal."""
    squares, blank, words = drawing.partition("\n\n")
    return PIECE.sub(lambda piece: click.style(piece[0], **STYLES[piece[0][0]]), squares) + blank + words


def columns(rows: Sequence[Sequence[object]], right: Sequence[int] = ()) -> str:
    """Lay out rows in columns two spaces apart; those numbered in `right` are aligned to the right."""
    texts = [[printable(cell) for cell in row] for row in rows]
    for number, column in enumerate(zip(*texts, strict=True)):
        width = max(map(len, column))
        for row in texts:
            row[number] = row[number].rjust(width) if number in right else row[number].ljust(width)
    return "\n".join("  ".join(row).rstrip() for row in texts)
