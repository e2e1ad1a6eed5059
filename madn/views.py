"""Numbers as people read them: probabilities and sizes, and for notebooks databases and analyses as HTML."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from madn.database import Analysis, Database, MoveValue, RollValue

NO_BREAK = "\u00a0"
CELL = "padding:0.15em 0.7em;text-align:left;vertical-align:top"
NUMBER = f"{CELL};text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap"


def database_view(database: "Database") -> str:
    """A table of facts about a database: its game, how many positions are stored and how, and its named boards."""
    facts = database.info()
    rows = [
        ("game", str(database.rules)),
        ("positions", f"{facts['positions']:,}"),
        ("values", facts["values"]),
        ("size", size(facts["bytes"])),
        *((name, f"{percent(board['win'])} on {board['board']}") for name, board in facts["boards"].items()),
    ]
    return _table(f"madn database <code>{escape(str(database.path))}</code>", ([_cell(a), _cell(b)] for a, b in rows))


def analysis_view(analysis: "Analysis") -> str:
    """The board, and beside it the moves of every roll with the mover's winning probabilities."""
    words = f"<code>{escape(str(analysis.board))}</code>"
    if analysis.win is not None:
        words += f": the side to move wins {chance(analysis.win, analysis.exact).replace(' ', NO_BREAK)} of the time"
    names = ["roll", "best move", "wins", "other moves, points behind"] if analysis.win is not None else []
    return (
        "<div style='display:flex;flex-wrap:wrap;gap:1.5em;align-items:center'>"
        f"<div style='width:18em'>{_scaled(analysis.board.svg())}</div>"
        f"<div>{_table(words, map(_roll, analysis.rolls), names)}</div></div>"
    )


def _scaled(svg: str) -> str:
    """The picture, scaled to the width of its container."""
    return svg.replace("<svg ", "<svg style='max-width:100%;height:auto' ", 1)


def _roll(value: "RollValue") -> list[str]:
    best, *others = value.moves
    cells = [_cell(value.roll), _cell(f"<b>{escape(str(best.move))}</b>", plain=False)]
    if best.win is not None:
        cells.append(_cell(chance(best.win, best.exact), NUMBER))
    return [*cells, _cell(", ".join(_other(move, best) for move in others), plain=False)]


def _other(move: "MoveValue", best: "MoveValue") -> str:
    """A move, and how many points of winning probability it is behind the best move."""
    text = escape(str(move.move))
    if move.win is None or best.win is None:
        return text
    return f"{text} <span style='opacity:0.65'>−{100 * max(best.win - move.win, 0.0):.2f}</span>"


def _cell(content: object, style: str = CELL, *, plain: bool = True) -> str:
    return f"<td style='{style}'>{escape(str(content)) if plain else content}</td>"


def _table(caption: str, rows: Iterable[list[str]], names: Sequence[str] = ()) -> str:
    above = f"<caption style='caption-side:top;text-align:left;padding:0.4em 0.7em'>{caption}</caption>"
    body = "".join(f"<tr>{''.join(cells)}</tr>" for cells in rows)
    above += "".join(["<thead>", *(f"<th style='{CELL}'>{name}</th>" for name in names), "</thead>"]) if names else ""
    return f"<table>{above}<tbody>{body}</tbody></table>"


def percent(probability: float) -> str:
    """A probability as a percentage with four decimals, as in the thesis' tables."""
    return f"{100 * probability:.4f} %"


def plus_minus(lower: float, upper: float) -> str:
    """Proved bounds of a probability, as a number with as many decimals as they warrant, ± how far they reach."""
    least, most = 100 * Fraction(lower), 100 * Fraction(upper)
    places = next((d for d in range(4, 16) if (most - least) * 10**d >= 2), 4)
    digits = round((least + most) / 2 * 10**places)
    reach = max(most - Fraction(digits, 10**places), Fraction(digits, 10**places) - least)
    power = next(d for d in range(20) if reach * 10**d >= 10 or d == 19)  # two digits, rounded outwards
    shown = f"{digits // 10**places}.{digits % 10**places:0{places}d}"
    return f"{shown} % ± {float(Fraction(math.ceil(reach * 10**power), 10**power)):.2g}"


def chance(win: float | None, exact: bool = True) -> str:
    """A winning probability, preceded by `about` if it is an estimate; `-` if there is none."""
    if win is None:
        return "-"
    return percent(win) if exact else f"about {100 * win:.1f} %"


def size(count: int) -> str:
    """A number of bytes in human-readable form, in units of 1024."""
    if count < 1024:
        return f"{count} bytes"
    power = min((count.bit_length() - 1) // 10, 4)
    return f"{count / 1024**power:.1f} {' KMGT'[power]}iB"
