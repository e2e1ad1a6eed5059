"""Where every square of a board is drawn, and the two drawings made from that: plain text and SVG.

The picture of the standard game is the printed board: a cross of 40 squares, with the finish lanes running inwards from
the tips of two arms and the boxes in the corners. Other sizes are crosses with other arms.
"""

from dataclasses import dataclass
from functools import cache
from math import hypot

from madn.rules import Rules


@dataclass(frozen=True, slots=True)
class Colour:
    """The colours of a side, wherever it is drawn; style.css has the same shades, and a test compares them."""

    name: str
    fill: str
    dark: str
    pale: str
    letter: str = ""


RED = Colour("Red", "#cf2b24", "#7b130e", "#f6c3bc", "R")
BLACK = Colour("Black", "#34363b", "#0d0e10", "#c9c9c6", "B")
TRACK = "#4a4231"
IDLE = (Colour("Yellow", "#f0bd1f", TRACK, "#f7d566"), Colour("Green", "#2f8f4e", TRACK, "#7dbf92"))
"""The two sides of the printed board that a game for two leaves empty."""
FRAME, GROUND, PAPER, INK, MARK = "#b3241d", "#fbecc0", "#fffdf6", "#23211c", "#14599c"

Cell = tuple[int, int]
"""Column and row of a cell, counted from the top left corner of the picture."""


@dataclass(frozen=True, slots=True)
class SideCells:
    """The cells of one side: its path from the A-square to the last finish square, and its box."""

    path: tuple[Cell, ...]
    box: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class BoardLayout:
    """A grid of `width` times `height` cells; rotating it by half a turn swaps the two sides."""

    width: int
    height: int
    bottom: SideCells
    top: SideCells


@cache
def layout(rules: Rules) -> BoardLayout:
    """Place the squares of both sides on a grid.

    The loop is a cross. Its vertical arms are 3 wide and `up` long; its horizontal arms are `waist` high (3, or 4 if
    the number of squares is not divisible by 4) and `out` long: 4 (up + out) + 2 waist + 2 squares in all. The vertical
    arms grow until the finish lanes fit inside them; if they never do, the lanes run outwards.
    """
    S, P = rules.squares, rules.pieces
    waist = 3 if S % 4 == 0 else 4
    spare = (S - 2 * waist - 2) // 4  # up + out
    room = (waist - 2) // 2  # finish squares that fit between the horizontal arms
    inside = spare + room >= P
    up = max((spare + 1) // 2, P - room if inside else 0)
    out = spare - up

    # The left half of the loop, from the A-square at (0, 0) to the square before the other A-square.
    steps = [(0, -1)] * up + [(-1, 0)] * out + [(0, -1)] * (waist - 1) + [(1, 0)] * out + [(0, -1)] * up
    half = [(0, 0)]
    for dx, dy in [*steps, (1, 0)]:
        half.append((half[-1][0] + dx, half[-1][1] + dy))
    highest = half[-1][1]  # the top row; the loop is rotated about its own centre

    def turned(cell: Cell) -> Cell:
        return 2 - cell[0], highest - cell[1]

    lane = [(1, -1 - i if inside else 1 + i) for i in range(P)]
    columns, rows = min(P, 2), (P + 1) // 2
    left, low = (min(-out, -1 - columns), 0) if inside else (-1 - columns, P)  # the lower left corner of the box
    box = [(left + i % columns, low - rows + 1 + i // columns) for i in range(P)]

    path = [*half, *map(turned, half), *lane]
    cells = [*path, *map(turned, path), *box, *map(turned, box)]
    x0, y0 = min(x for x, _ in cells), min(y for _, y in cells)
    x1, y1 = max(x for x, _ in cells), max(y for _, y in cells)

    def side(path: list[Cell], box: list[Cell]) -> SideCells:
        return SideCells(tuple((x - x0, y - y0) for x, y in path), tuple((x - x0, y - y0) for x, y in box))

    top = side([turned(cell) for cell in path], [turned(cell) for cell in box])
    return BoardLayout(x1 - x0 + 1, y1 - y0 + 1, bottom=side(path, box), top=top)


@dataclass(frozen=True, slots=True)
class Seat:
    """One side as it is drawn: its cells, pieces and status; the colour depends on the seat alone."""

    side: SideCells
    squares: tuple[int, ...]
    boxed: int
    status: str
    colour: Colour


def seats(own: tuple[int, ...], other: tuple[int, ...], rules: Rules, flip: bool) -> tuple[Seat, Seat]:
    """The seats of the side to move and of the other side; with `flip` the side to move sits at the top.

    Red sits at the bottom, black at the top.
    """
    cells = layout(rules)

    def seat(squares: tuple[int, ...], against: tuple[int, ...], status: str, at_top: bool) -> Seat:
        side, colour = (cells.top, BLACK) if at_top else (cells.bottom, RED)
        status = "has won" if rules.finished(squares) else "has lost" if rules.finished(against) else status
        return Seat(side, squares, rules.pieces - len(squares), status, colour)

    return seat(own, other, "to move", flip), seat(other, own, "waits", not flip)


def idle_sides(rules: Rules) -> list[tuple[Colour, SideCells]]:
    """The two sides of the printed board that do not play; no other board has room for them."""
    cells = layout(rules)
    if rules.squares != 40 or cells.width != cells.height:
        return []
    sides = []
    for colour, turns in zip(IDLE, (1, 3), strict=True):
        path, box = cells.bottom.path, cells.bottom.box
        for _ in range(turns):  # a quarter turn each
            path = tuple((cells.width - 1 - y, x) for x, y in path)
            box = tuple((cells.width - 1 - y, x) for x, y in box)
        sides.append((colour, SideCells(path, box)))
    return sides


def ascii_board(own: tuple[int, ...], other: tuple[int, ...], rules: Rules, *, name: str, flip: bool = False) -> str:
    """Draw a board in plain text, with two lines below that say whose turn it is and what the signs mean.

    Squares are numbered as the side to move counts; the finish squares of the other side have no numbers. Every letter
    in the drawing is a piece.
    """
    cells = layout(rules)
    mover, waiting = seats(own, other, rules, flip)
    signs = {cell: str(number) for number, cell in enumerate(mover.side.path)}
    signs |= dict.fromkeys(waiting.side.path[rules.squares :], " ")
    brackets: dict[Cell, tuple[str, str]] = {}
    for seat in (mover, waiting):
        brackets |= dict.fromkeys(seat.side.path[rules.squares :], ("[", "]")) | {seat.side.path[0]: ("(", ")")}
        signs |= dict.fromkeys(seat.side.box, ".")
        for cell in (*(seat.side.path[square] for square in seat.squares), *seat.side.box[: seat.boxed]):
            signs[cell] = seat.colour.letter + signs[cell].strip(" .")

    def drawn(cell: Cell) -> str:
        left, right = brackets.get(cell, ("", " "))
        return f"{left}{signs.get(cell, '')}".rjust(4) + right

    lines = ["".join(drawn((x, y)) for x in range(cells.width)).rstrip() for y in range(cells.height)]
    status = ", ".join(f"{seat.colour.name} {seat.status}" for seat in (mover, waiting))
    legend = f"Numbers are {mover.colour.name}'s: ( ) A-square, [ ] finish square, . free place in a box"
    return "\n".join([*lines, "", f"{status}: {name}", legend])


CELL = 44  # from one square to the next
DISC = 18  # radius of a square
EDGE = 8  # width of the frame around the board
# A pawn, drawn around the centre of its square: its shadow, body, head, and two highlights.
PAWN = (
    '<ellipse cx="2" cy="13" rx="15" ry="5" fill="#000000" stroke="none" opacity="0.2"/>'
    '<path d="M-13 12c0-6 7-9 9-20h8c2 11 9 14 9 20a13 4.5 0 0 1-26 0z"/><circle cy="-13" r="8.5"/>'
    '<path d="M-8 10c1-4 6-7 7-15" fill="none" stroke="#ffffff" stroke-width="2.4" stroke-linecap="round" '
    'opacity="0.35"/><circle cx="-2.5" cy="-16" r="2.6" fill="#ffffff" stroke="none" opacity="0.6"/>'
)


def svg_board(
    own: tuple[int, ...],
    other: tuple[int, ...],
    rules: Rules,
    *,
    name: str,
    caption: bool = True,
    flip: bool = False,
    mark: tuple[int | None, int] | None = None,
) -> str:
    """Draw a board as a standalone SVG document, with a title and a description for screen readers.

    It is the board of the web page; its free squares are numbered as the side to move counts. `mark` is the start and
    the end of a move of that side (start None: the box); both are ringed, the end in red if the move captures. The
    `caption` below the board says whose turn it is and shows the `name`.
    """
    cells = layout(rules)
    both = seats(own, other, rules, flip)
    mover = both[0]
    width, height = (cells.width + 1) * CELL, (cells.height + 1) * CELL + (CELL * 3 // 4 if caption else 0)
    words = ", ".join(f"{seat.colour.name} {seat.status}" for seat in both)
    detail = "; ".join(f"{seat.colour.name}: {_places(seat, rules)}" for seat in both)
    outer = f'width="{width + 2 * EDGE}" height="{height + 2 * EDGE}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-EDGE} {-EDGE} {width + 2 * EDGE} {height + 2 * EDGE}" '
        f'{outer} role="img" font-family="sans-serif" text-anchor="middle">',
        f"<title>Mensch &#228;rgere Dich nicht, board {name}: {words}</title>",
        f"<desc>{detail}.</desc>",
        f'<rect x="{-EDGE}" y="{-EDGE}" {outer} rx="22" fill="{FRAME}"/>',
        f'<rect x="4" y="4" width="{width - 8}" height="{height - 8}" rx="14" fill="{GROUND}"/>',
        _track(cells.bottom.path[: rules.squares]),
    ]
    parts += [_disc(cell, PAPER, TRACK) for cell in cells.bottom.path[: rules.squares]]
    for colour, side in [*idle_sides(rules), *((seat.colour, seat.side) for seat in both)]:
        parts += _home(colour, side, rules)
    taken = {seat.side.path[square] for seat in both for square in seat.squares}
    parts += [_number(cell, number) for number, cell in enumerate(mover.side.path) if cell not in taken]
    if mark is not None:
        start, end = mark
        origin = mover.side.box[max(mover.boxed - 1, 0)] if start is None else mover.side.path[start]
        captures = end < rules.squares and rules.opposite(end) in other
        parts += _arrow(origin, mover.side.path[end], FRAME if captures else MARK)
    for seat in both:
        parts += [_pawn(cell, seat, "in the box") for cell in seat.side.box[: seat.boxed]]
        parts += [_pawn(seat.side.path[square], seat, f"on {square}") for square in seat.squares]
    if caption:
        parts.append(
            f'<text x="{width // 2}" y="{height - CELL // 2}" font-size="{CELL * 2 // 5}" fill="{INK}">'
            f'<tspan font-weight="bold" fill="{mover.colour.dark}">{mover.colour.name} {mover.status}</tspan>'
            f'<tspan dx="12">{name}</tspan></text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def _places(seat: Seat, rules: Rules) -> str:
    """Say in words where the pieces of a side are."""
    main = [str(square) for square in seat.squares if square < rules.squares]
    home = [str(square) for square in seat.squares if square >= rules.squares]
    return f"{seat.boxed} in the box, main field {', '.join(main) or 'none'}, finish {', '.join(home) or 'none'}"


def _centre(cell: Cell) -> Cell:
    return (cell[0] + 1) * CELL, (cell[1] + 1) * CELL


def _track(loop: tuple[Cell, ...]) -> str:
    points = " ".join(f"{x},{y}" for x, y in map(_centre, (*loop, loop[0])))
    return f'<polyline points="{points}" fill="none" stroke="{TRACK}" stroke-width="2.5"/>'


def _disc(cell: Cell, fill: str, stroke: str) -> str:
    x, y = _centre(cell)
    return f'<circle cx="{x}" cy="{y}" r="{DISC}" fill="{fill}" stroke="{stroke}" stroke-width="2"/>'


def _home(colour: Colour, side: SideCells, rules: Rules) -> list[str]:
    """The coloured squares of a side: the box on its panel, the A-square, the finish lane."""
    columns, rows = zip(*map(_centre, side.box), strict=True)
    x, y, pad = min(columns), min(rows), 26
    panel = (
        f'<rect x="{x - pad}" y="{y - pad}" width="{max(columns) - x + 2 * pad}" '
        f'height="{max(rows) - y + 2 * pad}" rx="24" fill="{colour.fill}"/>'
    )
    coloured = [side.path[0], *side.path[rules.squares :], *side.box]
    return [panel, *(_disc(cell, colour.pale, colour.dark) for cell in coloured)]


def _number(cell: Cell, number: int) -> str:
    x, y = _centre(cell)
    return f'<text x="{x}" y="{y + 4}" font-size="13" fill="{TRACK}">{number}</text>'


def _pawn(cell: Cell, seat: Seat, where: str) -> str:
    x, y = _centre(cell)
    return (
        f'<g transform="translate({x} {y})" fill="{seat.colour.fill}" stroke="{seat.colour.dark}" stroke-width="1.6">'
        f"<title>{seat.colour.name} piece {where}</title>{PAWN}</g>"
    )


def _arrow(start: Cell, end: Cell, colour: str) -> list[str]:
    """A move: a dashed ring at its start, a line, and a ring at its end."""
    (x1, y1), (x2, y2) = _centre(start), _centre(end)
    length = hypot(x2 - x1, y2 - y1)
    part = (length - DISC - 4) / length if length else 0
    stroke = 'fill="none" stroke-width="4"'
    return [
        f'<circle cx="{x1}" cy="{y1}" r="{DISC + 3}" {stroke} stroke="{MARK}" stroke-dasharray="6 4"/>',
        f'<line x1="{x1}" y1="{y1}" x2="{x1 + (x2 - x1) * part:.1f}" y2="{y1 + (y2 - y1) * part:.1f}" {stroke} '
        f'stroke="{MARK}" stroke-linecap="round" opacity="0.55"/>',
        f'<circle cx="{x2}" cy="{y2}" r="{DISC + 3}" {stroke} stroke="{colour}"/>',
    ]
