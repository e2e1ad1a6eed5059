"""Where every square of a board is drawn, and the two drawings made from it: plain text and SVG.

The picture of the standard game is the printed board: a cross of 40 squares, the finish lanes running inwards
from the tips of two arms, the boxes in the corners. Other sizes are crosses with other arms.
"""

from dataclasses import dataclass
from functools import cache

from madn.rules import Rules

Cell = tuple[int, int]
"""Column and row of a cell, counted from the top left corner of the picture."""


@dataclass(frozen=True, slots=True)
class Side:
    """The cells of one side: its path from the A-square to the last finish square, and its box."""

    path: tuple[Cell, ...]
    box: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """A grid of `width` times `height` cells; turning it by half a turn swaps the two sides."""

    width: int
    height: int
    bottom: Side
    top: Side


@cache
def layout(rules: Rules) -> Layout:
    """Place the squares of both sides on a grid.

    The loop is a cross. Its upright arms are 3 wide and `up` long; its level arms are `waist` high (3, or 4
    if the squares do not divide by 4) and `out` long: together 4 (up + out) + 2 waist + 2 squares. The
    upright arms grow until the finish lanes fit between their sides; if they cannot, the lanes run outwards.
    """
    S, P = rules.squares, rules.pieces
    waist = 3 if S % 4 == 0 else 4
    spare = (S - 2 * waist - 2) // 4  # up + out
    room = (waist - 2) // 2  # finish squares that fit between the level arms
    inside = spare + room >= P
    up = max((spare + 1) // 2, P - room if inside else 0)
    out = spare - up

    # The left half of the loop, from the A-square at (0, 0) to the square before the other A-square.
    steps = [(0, -1)] * up + [(-1, 0)] * out + [(0, -1)] * (waist - 1) + [(1, 0)] * out + [(0, -1)] * up
    half = [(0, 0)]
    for dx, dy in [*steps, (1, 0)]:
        half.append((half[-1][0] + dx, half[-1][1] + dy))
    highest = half[-1][1]  # the loop is turned about the middle of its own column and row

    def turned(cell: Cell) -> Cell:
        return 2 - cell[0], highest - cell[1]

    lane = [(1, -1 - i if inside else 1 + i) for i in range(P)]
    columns, rows = min(P, 2), (P + 1) // 2
    left, low = (min(-out, -1 - columns), 0) if inside else (-1 - columns, P)  # its corner
    box = [(left + i % columns, low - rows + 1 + i // columns) for i in range(P)]

    path = [*half, *map(turned, half), *lane]
    cells = [*path, *map(turned, path), *box, *map(turned, box)]
    x0, y0 = min(x for x, _ in cells), min(y for _, y in cells)
    x1, y1 = max(x for x, _ in cells), max(y for _, y in cells)

    def side(path: list[Cell], box: list[Cell]) -> Side:
        return Side(tuple((x - x0, y - y0) for x, y in path), tuple((x - x0, y - y0) for x, y in box))

    return Layout(
        x1 - x0 + 1,
        y1 - y0 + 1,
        bottom=side(path, box),
        top=side([turned(cell) for cell in path], [turned(cell) for cell in box]),
    )


@dataclass(frozen=True, slots=True)
class Seat:
    """One side as it is drawn: its cells, pieces and status; letter and colours go with the seat."""

    side: Side
    squares: tuple[int, ...]
    boxed: int
    status: str
    letter: str
    name: str
    colour: str
    dark: str
    pale: str


def seats(own: tuple[int, ...], other: tuple[int, ...], rules: Rules, flip: bool) -> tuple[Seat, Seat]:
    """The seats of the side to move and of the other side; with `flip` the side to move sits at the top."""
    own_status, other_status = "to move", "waits"
    if _finished(own, rules):
        own_status, other_status = "has won", "has lost"
    elif _finished(other, rules):
        own_status, other_status = "has lost", "has won"

    def seat(squares: tuple[int, ...], status: str, at_top: bool) -> Seat:
        cells = layout(rules)
        boxed = rules.pieces - len(squares)
        if at_top:
            return Seat(cells.top, squares, boxed, status, "X", "Blue", "#2d6cc0", "#123463", "#b9d3f3")
        return Seat(cells.bottom, squares, boxed, status, "O", "Red", "#d62f2a", "#7a1511", "#f7bdb6")

    return seat(own, own_status, flip), seat(other, other_status, not flip)


def _finished(squares: tuple[int, ...], rules: Rules) -> bool:
    return len(squares) == rules.pieces and min(squares) >= rules.squares


def ascii_board(own: tuple[int, ...], other: tuple[int, ...], rules: Rules, *, caption: str, flip: bool = False) -> str:
    """Draw a board in plain text, with two lines below that say whose turn it is and what the signs mean."""
    cells = layout(rules)
    both = seats(own, other, rules, flip)
    signs = dict.fromkeys(cells.bottom.path[: rules.squares], " . ")
    for seat in both:
        signs[seat.side.path[0]] = "(.)"
        signs |= dict.fromkeys(seat.side.path[rules.squares :], "[.]")
        for place, cell in enumerate(seat.side.box):
            signs[cell] = f" {seat.letter} " if place < seat.boxed else " - "
    for seat in both:
        for cell in (seat.side.path[square] for square in seat.squares):
            signs[cell] = signs[cell].replace(".", seat.letter)
    lines = ["".join(signs.get((x, y), "   ") for x in range(cells.width)).rstrip() for y in range(cells.height)]
    status = ", ".join(f"{seat.letter} {seat.status} ({seat.boxed} in the box)" for seat in both)
    legend = "(.) A-square  [.] finish square  - free place in the box"
    return "\n".join([*lines, "", f"{status}: {caption}", legend])


CELL = 44  # pixels from one square to the next
WOOD, PAPER, LINE, INK = "#f3d58a", "#fffdf5", "#5b4a1f", "#2b2413"


def svg_board(
    own: tuple[int, ...],
    other: tuple[int, ...],
    rules: Rules,
    *,
    caption: str,
    flip: bool = False,
    mark: tuple[int | None, int] | None = None,
) -> str:
    """Draw a board as an SVG document of its own, with a title and a description for screen readers.

    `mark` is the start and the end of a move of the side to move (start None: the box); both are ringed.
    """
    cells = layout(rules)
    both = seats(own, other, rules, flip)
    mover = both[0]
    width, height = (cells.width + 1) * CELL, (cells.height + 1) * CELL + CELL * 3 // 4
    words = ", ".join(f"{seat.name} {seat.status}" for seat in both)
    detail = "; ".join(f"{seat.name}: {_places(seat, rules)}" for seat in both)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" font-family="sans-serif" text-anchor="middle">',
        f"<title>Mensch &#228;rgere Dich nicht, board {caption}: {words}</title>",
        f"<desc>{detail}.</desc>",
        f'<rect width="{width}" height="{height}" rx="{CELL // 3}" fill="{WOOD}"/>',
    ]
    parts += [_line(seat.side.path[rules.squares - 1 :], seat.dark) for seat in both]
    parts.append(_line((*cells.bottom.path[: rules.squares], cells.bottom.path[0]), LINE))
    parts += [_disc(cell, PAPER, LINE) for cell in cells.bottom.path[: rules.squares]]
    for seat in both:
        parts += _ground(seat, rules)
    for seat in both:
        for cell in seat.side.box[: seat.boxed]:
            parts.append(_pawn(cell, seat, "in the box"))
        for square in seat.squares:
            parts.append(_pawn(seat.side.path[square], seat, f"on {square}"))
    if mark is not None:
        start, end = mark
        origin = mover.side.box[max(mover.boxed - 1, 0)] if start is None else mover.side.path[start]
        parts += [_ring(origin, "6 4"), _ring(mover.side.path[end], "none")]
    parts.append(
        f'<text x="{width // 2}" y="{height - CELL // 2}" font-size="{CELL * 2 // 5}" fill="{INK}">'
        f'<tspan font-weight="bold" fill="{mover.dark}">{mover.name} {mover.status}</tspan>'
        f'<tspan dx="12">{caption}</tspan></text>'
    )
    return "\n".join([*parts, "</svg>", ""])


def _places(seat: Seat, rules: Rules) -> str:
    """Say in words where the pieces of a side are."""
    main = [str(square) for square in seat.squares if square < rules.squares]
    home = [str(square) for square in seat.squares if square >= rules.squares]
    return f"{seat.boxed} in the box, main field {', '.join(main) or 'none'}, finish {', '.join(home) or 'none'}"


def _centre(cell: Cell) -> Cell:
    return (cell[0] + 1) * CELL, (cell[1] + 1) * CELL


def _line(cells: tuple[Cell, ...], stroke: str) -> str:
    points = " ".join(f"{x},{y}" for x, y in map(_centre, cells))
    return f'<polyline points="{points}" fill="none" stroke="{stroke}" stroke-width="3"/>'


def _disc(cell: Cell, fill: str, stroke: str) -> str:
    x, y = _centre(cell)
    return f'<circle cx="{x}" cy="{y}" r="{CELL * 2 // 5}" fill="{fill}" stroke="{stroke}" stroke-width="2"/>'


def _ground(seat: Seat, rules: Rules) -> list[str]:
    """The coloured squares of a side: A-square, finish lane, and the box on its panel."""
    columns, rows = zip(*map(_centre, seat.side.box), strict=True)
    x, y, pad = min(columns), min(rows), CELL // 2
    moves = seat.status == "to move"
    panel = (
        f'<rect x="{x - pad}" y="{y - pad}" width="{max(columns) - x + 2 * pad}" '
        f'height="{max(rows) - y + 2 * pad}" rx="{pad // 2}" fill="{seat.colour}" '
        f'stroke="{seat.dark}" stroke-width="{4 if moves else 0}"/>'
    )
    a_x, a_y = _centre(seat.side.path[0])
    letter = (
        f'<text x="{a_x}" y="{a_y + CELL // 6}" font-size="{CELL // 2}" font-weight="bold" fill="{seat.dark}">A</text>'
    )
    coloured = [seat.side.path[0], *seat.side.path[rules.squares :], *seat.side.box]
    return [panel, *(_disc(cell, seat.pale, seat.dark) for cell in coloured), letter]


def _pawn(cell: Cell, seat: Seat, where: str) -> str:
    x, y = _centre(cell)
    return (
        f'<g transform="translate({x} {y})" fill="{seat.colour}" stroke="{seat.dark}" stroke-width="2">'
        f"<title>{seat.name} piece {where}</title>"
        '<path d="M-12 14 Q-12 8 -4 -3 L4 -3 Q12 8 12 14 Z"/><circle cy="-8" r="7.5"/></g>'
    )


def _ring(cell: Cell, dashes: str) -> str:
    x, y = _centre(cell)
    stroke = f'stroke="#0a7d35" stroke-width="4" stroke-dasharray="{dashes}"'
    ring = f'<circle cx="{x}" cy="{y}" r="{CELL // 2 - 1}" fill="none"'
    return f'{ring} stroke="white" stroke-width="6"/>{ring} {stroke}/>'
