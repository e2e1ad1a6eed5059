"""The drawings: every square has its own place, and a picture shows exactly the pieces of its board."""

import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import all_rules, boards, rolls

from madn import Board, IllegalMoveError, Move, Rules
from madn.drawing import (
    BLACK,
    CELL,
    DISC,
    EDGE,
    FRAME,
    GROUND,
    IDLE,
    MARK,
    PAPER,
    PAWN,
    RED,
    TRACK,
    Cell,
    Colour,
    idle_sides,
    layout,
)

STATIC = Path(__file__).resolve().parent.parent / "madn" / "web" / "static"
SVG = "{http://www.w3.org/2000/svg}"

START = """\
                      18   19 (B20)             .    B
                      17   [ ]  21              B    B
                      16   [ ]  22
                      15   [ ]  23
  10   11   12   13   14   [ ]  24   25   26   27   28
   9                                                29
   8    7    6    5    4  [43]  34   33   32   31   30
                       3  [42]  35
                       2  [41]  36
   R    R              1  [40]  37
   R    .            (R0)  39   38

Red to move, Black waits: 0/0
Numbers are Red's: ( ) A-square, [ ] finish square, . free place in a box"""


def distance(a: Cell, b: Cell) -> int:
    return abs(a[0] - b[0]) + abs(a[1] - b[1])


@pytest.mark.parametrize("rules", all_rules(), ids=str)
def test_layout_of_every_board(rules: Rules) -> None:
    S, cells = rules.squares, layout(rules)
    bottom, top = cells.bottom, cells.top
    loop = bottom.path[:S]
    every = [*loop, *bottom.path[S:], *top.path[S:], *bottom.box, *top.box]
    assert len(set(every)) == len(every) == S + 4 * rules.pieces
    assert {x for x, _ in every} >= {0, cells.width - 1}
    assert {y for _, y in every} >= {0, cells.height - 1}
    assert all(0 <= x < cells.width and 0 <= y < cells.height for x, y in every)

    def turned(cell: Cell) -> Cell:
        return cells.width - 1 - cell[0], cells.height - 1 - cell[1]

    assert all(distance(a, b) == 1 for a, b in pairwise([*loop, loop[0]]))
    for side in (bottom, top):
        assert all(distance(a, b) == 1 for a, b in pairwise(side.path))
    assert top.path == tuple(map(turned, bottom.path))
    assert top.box == tuple(map(turned, bottom.box))
    assert all(top.path[q] == bottom.path[rules.opposite(q)] for q in range(S)), "one main field for both"


@pytest.mark.parametrize("pieces", [1, 2, 3, 4])
def test_the_standard_board_is_the_printed_one(pieces: int) -> None:
    cells = layout(Rules(pieces))
    assert (cells.width, cells.height) == (11, 11)
    assert cells.bottom.path[0] == (4, 10)
    assert cells.bottom.path[39] == (5, 10)
    assert cells.bottom.path[40:] == tuple((5, 9 - i) for i in range(pieces))
    assert {distance(cell, (5, 5)) for cell in cells.bottom.path[:40]} == {2, 3, 4, 5, 6}


def test_the_start_in_plain_text() -> None:
    assert Board.start().ascii() == START


def test_flip_keeps_the_seats_and_numbers_the_squares_for_the_side_to_move() -> None:
    board = Board.parse("3,17/0,22,43")
    turned = Board(board.other, board.own)
    (here, below), (there, beneath) = (text.split("\n\n") for text in (board.ascii(), turned.ascii(flip=True)))
    places = [
        [[(found.start() // 5, found[0]) for found in re.finditer("[RB.]", row)] for row in text.split("\n")]
        for text in (here, there)
    ]
    assert places[0] == places[1]
    assert below.startswith("Red to move, Black waits: 3,17/0,22,43\nNumbers are Red's:")
    assert beneath.startswith("Black to move, Red waits: 0,22,43/3,17\nNumbers are Black's:")
    assert "R3 " in here
    assert "[B] " in here
    assert "R23 " in there
    assert "[B43] " in there


@given(boards(), st.booleans())
def test_plain_text_shows_the_board(board: Board, flip: bool) -> None:
    """Every square of the side to move has its number, and nothing but a piece has a letter."""
    drawing, legend = board.ascii(flip=flip).split("\n\n")
    assert (drawing + legend).isascii()
    rules, cells = board.rules, layout(board.rules)
    rows = [row.ljust(5 * cells.width) for row in drawing.split("\n")]
    assert max(map(len, (*rows, *legend.split("\n")))) <= 79
    signs = {(x, y): rows[y][5 * x : 5 * x + 5] for x in range(cells.width) for y in range(cells.height)}
    own, other = ("Black", "Red") if flip else ("Red", "Black")
    mine, theirs = (cells.top, cells.bottom) if flip else (cells.bottom, cells.top)
    for number, cell in enumerate(mine.path):
        assert re.findall("[0-9]+", signs[cell]) == [str(number)]
    for name, side, squares in ((own, mine, board.own), (other, theirs, board.other)):
        assert tuple(q for q, cell in enumerate(side.path) if name[0] in signs[cell]) == squares
        boxed = [signs[cell].strip() for cell in side.box]
        assert sorted(boxed) == sorted(name[0] * (n < rules.pieces - len(squares)) or "." for n in range(rules.pieces))
        assert re.search(r"\(.*\)", signs[side.path[0]])
        assert all(re.search(r"\[.*\]", signs[cell]) for cell in side.path[rules.squares :])
    assert sum(map(str.isalpha, drawing)) == 2 * rules.pieces
    assert str(board) in legend
    status = {None: f"{own} to move", "own": f"{own} has won", "other": f"{own} has lost"}[board.winner]
    assert legend.startswith(status)


@given(boards(), rolls, st.booleans())
def test_svg_shows_the_board(board: Board, roll: int, flip: bool) -> None:
    move = next(iter(board.legal_moves(roll)), None)
    root = ET.fromstring(board.svg(move, flip=flip))
    assert root.tag == SVG + "svg"
    assert root[0].tag == SVG + "title"
    assert f"board {board}:" in (root[0].text or "")
    assert root[1].tag == SVG + "desc"
    cells = layout(board.rules)
    seats = {"Black": cells.top, "Red": cells.bottom}
    own, other = ("Black", "Red") if flip else ("Red", "Black")
    pawns: dict[str, list[Cell]] = {own: [], other: []}
    for pawn in root.iter(SVG + "g"):
        x, y = map(int, pawn.attrib["transform"][len("translate(") : -1].split())
        pawns[pawn[0].text.split()[0]].append((x // CELL - 1, y // CELL - 1))  # type: ignore[union-attr]
    for name, squares in ((own, board.own), (other, board.other)):
        boxed = board.rules.pieces - len(squares)
        assert sorted(pawns[name]) == sorted([*(seats[name].path[q] for q in squares), *seats[name].box[:boxed]])
    numbers = {
        (int(t.attrib["x"]) // CELL - 1, int(t.attrib["y"]) // CELL - 1): t.text for t in root.findall(SVG + "text")
    }
    free = {cell: str(q) for q, cell in enumerate(seats[own].path) if cell not in pawns[own] + pawns[other]}
    assert free.items() <= numbers.items()
    assert len(numbers) == len(free) + 1, "and the caption"
    rings = [c for c in root.iter(SVG + "circle") if c.attrib["r"] == str(DISC + 3)]
    assert len(rings) == (0 if move in (None, Move.PASS) else 2)
    if rings and move and move.end is not None:
        x, y = (int(rings[1].attrib[name]) // CELL - 1 for name in ("cx", "cy"))
        assert (x, y) == seats[own].path[move.end]
        assert rings[1].attrib["stroke"] == (FRAME if move.captures else MARK)


@pytest.mark.parametrize("rules", all_rules(), ids=str)
def test_svg_of_every_size_stays_in_its_frame(rules: Rules) -> None:
    root = ET.fromstring(Board.start(rules).svg())
    left, top, width, height = map(int, root.attrib["viewBox"].split())
    assert (left, top) == (-EDGE, -EDGE)
    for circle in root.findall(SVG + "circle"):
        x, y, r = (int(circle.attrib[name]) for name in ("cx", "cy", "r"))
        assert r < x < width - 2 * EDGE - r
        assert r < y < height - 2 * EDGE - r


@pytest.mark.parametrize("rules", all_rules(), ids=str)
def test_the_sides_that_do_not_play_stand_on_no_square_of_the_others(rules: Rules) -> None:
    cells, idle = layout(rules), idle_sides(rules)
    assert len(idle) == (2 if rules.squares == 40 and cells.width == cells.height else 0)
    taken = {cell for side in (cells.bottom, cells.top) for cell in (*side.path[rules.squares :], *side.box)}
    for _, side in idle:
        own = {*side.path[rules.squares :], *side.box}
        assert not own & taken
        assert not own & set(cells.bottom.path[: rules.squares])
        assert side.path[0] in cells.bottom.path[: rules.squares]
        taken |= own


# one board and one pair of colours


def shades(*colours: Colour) -> dict[str, str]:
    """The variables of the style sheet that these colours should be."""
    found: dict[str, str] = {}
    for colour in colours:
        name = f"--{colour.name.lower()}"
        found |= {name: colour.fill, f"{name}-pale": colour.pale}
        if colour.letter:
            found[f"{name}-dark"] = colour.dark
    return found


def test_the_page_has_the_colours_of_the_drawing() -> None:
    sheet = (STATIC / "style.css").read_text(encoding="utf-8")
    variables = dict(re.findall(r"(--[a-z-]+): (#[0-9a-f]{6});", sheet.split("/* The page */")[0]))
    board = {"--frame": FRAME, "--ground": GROUND, "--track": TRACK, "--paper": PAPER, "--mark": MARK}
    assert variables == {**shades(RED, BLACK, *IDLE), **board}
    for name in variables:
        assert f"var({name})" in sheet
        assert len(re.findall(rf"{name}:", sheet)) == 1, "the board is the same by day and by night"


def test_the_page_draws_the_same_board() -> None:
    script = (STATIC / "board.js").read_text(encoding="utf-8")
    assert f"const CELL = {CELL};" in script
    assert f"const DISC = {DISC};" in script
    pawn = script.split("function pawn")[1]
    numbers = re.compile(r"-?\d+(?:\.\d+)?")
    shapes = re.findall(r'svg\("(\w+)", \{ class: "\w+", (.*) \}\)', pawn)
    drawn = [(shape.tag, shape.attrib) for shape in ET.fromstring(f"<g>{PAWN}</g>")]
    assert [shape for shape, _ in shapes] == [shape for shape, _ in drawn]
    for (_, script_side), (_, attributes) in zip(shapes, drawn, strict=True):
        places = [attributes[name] for name in ("cx", "cy", "rx", "ry", "r", "d") if name in attributes]
        assert numbers.findall(script_side) == numbers.findall(" ".join(places))


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, two: str) -> float:
    light, dark = sorted((luminance(one), luminance(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_pieces_stand_out_from_what_they_stand_on_and_from_each_other() -> None:
    """3:1 is what WCAG asks of graphics."""
    for colour in (RED, BLACK):
        for ground in (PAPER, RED.pale, BLACK.pale, GROUND):
            assert contrast(colour.fill, ground) >= 3
        assert contrast(colour.dark, GROUND) >= 4.5, "the caption"
    assert contrast(RED.fill, BLACK.fill) >= 2, "also without colour"


def test_svg_stands_alone() -> None:
    board = Board.start()
    picture = board._repr_svg_()
    assert picture == board.svg() == board.svg(Move.PASS)
    assert picture.isascii(), "right in whatever encoding it is written"
    assert "href" not in picture
    assert "<style" not in picture
    assert " id=" not in picture, "two pictures on one page must not share names"


def test_a_move_off_the_board_is_not_drawn() -> None:
    with pytest.raises(IllegalMoveError, match="8-12 leaves the board: its squares are 0 to 10"):
        Board.start(Rules(3, 8)).svg(Move(8, 12))
