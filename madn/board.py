"""Boards and moves in plain Python: notation, legal moves, applying a move, whose turn is next.

This code is slow and obviously right. The compiled code is checked against it, so nothing compiled is used here.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from operator import index
from typing import ClassVar, Literal, SupportsIndex

from madn import drawing
from madn.errors import IllegalMoveError, InvalidBoardError, RulesMismatchError
from madn.ranges import as_int, checked_type, shown
from madn.rules import DIE, MAX_PIECES, MAX_SQUARES, ROLLS, Rules, rolls_again

STANDARD = Rules()
BOX = "b"
SQUARE_NUMBERS = MAX_SQUARES + MAX_PIECES  # on the largest board
MOVE_TEXT = re.compile(r"(b|[0-9]{1,2})([-x])([0-9]{1,2})")


@dataclass(frozen=True, slots=True)
class Move:
    """One move in the mover's own numbers: the square it leaves, the square it ends on, whether it captures.

    `start` is None for a piece that leaves the box. `Move.PASS`, for a roll without a legal move, has neither start nor
    end. A move is written `12-17` or, out of the box, `b-0`; a capture `12x17` or `bx0`; a pass `pass`.
    """

    start: int | None
    end: int | None
    captures: bool = False

    PASS: ClassVar["Move"]

    def __post_init__(self) -> None:
        if self.end is None and (self.start is not None or self.captures):
            raise IllegalMoveError("a move without an end is a pass: it has no start and captures nothing")
        for name, square in (("start", self.start), ("end", self.end)):
            if square is not None:
                number = as_int(square)
                if number is None or not 0 <= number < SQUARE_NUMBERS:
                    raise IllegalMoveError(f"the {name} of a move must be a square, not {shown(square)}")
                object.__setattr__(self, name, number)

    @classmethod
    def parse(cls, text: str) -> "Move":
        """Read a move in the notation of `str(move)`; IllegalMoveError for any other text."""
        if text == "pass":
            return cls.PASS
        parts = MOVE_TEXT.fullmatch(text) if isinstance(text, str) else None
        if parts is None:
            raise IllegalMoveError(f"{shown(text)} is not a move; write '12-17', 'b-0', '12x17' or 'pass'")
        start = None if parts[1] == BOX else int(parts[1])
        move = cls(start, int(parts[3]), parts[2] == "x")
        if str(move) != text:
            raise IllegalMoveError(f"{shown(text)} is not a move; write it '{move}'")
        return move

    def __str__(self) -> str:
        if self.end is None:
            return "pass"
        start = BOX if self.start is None else self.start
        return f"{start}{'x' if self.captures else '-'}{self.end}"


Move.PASS = Move(None, None)


@dataclass(frozen=True, slots=True, repr=False)
class Board:
    """A position before the roll: the squares of the side to move and of the other side.

    `own` and `other` are the squares of the pieces that are out of the box, ascending, each side in its own
    numbers (see `Rules`). The remaining pieces are in the box.
    """

    own: tuple[int, ...]
    other: tuple[int, ...]
    rules: Rules = STANDARD

    def __post_init__(self) -> None:
        rules = self.rules
        checked_type("rules", rules, Rules)
        own, other = _side(self.own, "own", rules), _side(self.other, "other", rules)
        object.__setattr__(self, "own", own)
        object.__setattr__(self, "other", other)
        for square in own:
            if square < rules.squares and rules.opposite(square) in other:
                raise InvalidBoardError(
                    f"both sides have a piece on the same square: {square} of the own side is "
                    f"{rules.opposite(square)} of the other side"
                )
        if rules.finished(own) and rules.finished(other):
            raise InvalidBoardError("both sides have finished; a game has one winner")

    @classmethod
    def start(cls, rules: Rules = STANDARD) -> "Board":
        """The start: one piece of each side on its A-square, the others in the box (by house rule, all of them)."""
        side = () if rules.start_in_box else (0,)
        return cls(side, side, rules)

    @classmethod
    def parse(cls, text: str, rules: Rules = STANDARD) -> "Board":
        """Read `OWN/OTHER`, the exact inverse of `str(board)`; InvalidBoardError says which part is wrong."""
        if not isinstance(text, str):
            raise InvalidBoardError(f"a board is a text like '0/0', not {shown(text)}")
        sides = text.split("/")
        if len(sides) != 2:
            raise InvalidBoardError(f"board {shown(text)}: write OWN/OTHER with one '/', like '3,17/0'")
        board = cls(_parse_side(sides[0], "own", rules), _parse_side(sides[1], "other", rules), rules)
        if str(board) != text:
            raise InvalidBoardError(f"board {shown(text)}: squares must ascend; write it '{board}'")
        return board

    @classmethod
    def from_masks(cls, own: SupportsIndex, other: SupportsIndex, rules: Rules = STANDARD) -> "Board":
        """The board for two bit masks: bit q is set when the side has a piece on its square q."""
        return cls(_unmask(own, "own", rules), _unmask(other, "other", rules), rules)

    @property
    def masks(self) -> tuple[int, int]:
        """The squares of the side to move and of the other side as bit masks; the inverse of `from_masks`."""
        own = other = 0  # every query needs these, and loops take a third of the time of two sums
        for square in self.own:
            own |= 1 << square
        for square in self.other:
            other |= 1 << square
        return own, other

    @property
    def winner(self) -> Literal["own", "other"] | None:
        """The side that has all its pieces in its finish zone, or None while the game goes on."""
        if self.rules.finished(self.own):
            return "own"
        return "other" if self.rules.finished(self.other) else None

    def legal_moves(self, roll: SupportsIndex) -> tuple[Move, ...]:
        """All legal moves for this roll, by ascending start; only `Move.PASS` if there is none.

        A finished game has no legal moves, not even a pass.
        """
        steps = checked_roll(roll)
        if self.winner is not None:
            return ()
        boxed = len(self.own) < self.rules.pieces
        if boxed and steps == DIE and 0 not in self.own:
            return (self._move(None, 0),)
        free = [s for s in self.own if self._may_go(s, s + steps)]
        if boxed and 0 in free:
            free = [0]  # the A-square must be cleared for the pieces in the box
        moves = tuple(self._move(s, s + steps) for s in free)
        if self.rules.must_capture:
            moves = tuple(move for move in moves if move.captures) or moves
        return moves or (Move.PASS,)

    def roll_weights(self) -> tuple[int, ...]:
        """The relative frequency of each roll: all are equal, except where there are three tries for a 6."""
        return self.rules.roll_weights(self._playable())

    @property
    def tries(self) -> int:
        """How often the side to move may roll for a 6: 1 or, with `three_rolls`, 3. The last roll counts."""
        return self.rules.tries(self._playable()) if self.rules.three_rolls else 1

    def _playable(self) -> list[bool]:
        return [self.legal_moves(roll) not in ((), (Move.PASS,)) for roll in ROLLS]

    def _may_go(self, start: int, end: int) -> bool:
        """Whether a piece may go from `start` to `end`, whatever pieces the other side has there."""
        if end >= self.rules.goal or end in self.own:
            return False
        jumped = any(start < q < end and q >= self.rules.squares for q in self.own)
        return not (self.rules.no_jumping and jumped)

    def _move(self, start: int | None, end: int) -> Move:
        return Move(start, end, end < self.rules.squares and self.rules.opposite(end) in self.other)

    def after(self, move: Move | str, roll: SupportsIndex) -> "Board":
        """The board as the next player to roll sees it: the same side after a 6, the other side otherwise."""
        move = as_move(move)
        legal = self.legal_moves(roll)
        if not legal:
            raise IllegalMoveError(f"board '{self}': the game is over: there are no moves")
        if move not in legal:
            choices = ", ".join(map(str, legal))
            raise IllegalMoveError(f"{move} is not legal on '{self}' with a {index(roll)}; legal: {choices}")
        own, other = set(self.own), set(self.other)
        if move.end is not None:
            own = own - {move.start} | {move.end}
            if move.captures:
                other = other - {self.rules.opposite(move.end)}
        if rolls_again(index(roll)):
            return Board(tuple(own), tuple(other), self.rules)
        return Board(tuple(other), tuple(own), self.rules)

    def mirror(self) -> "Board":
        """The same pieces with the other side to move."""
        return Board(self.other, self.own, self.rules)

    def ascii(self, *, flip: bool = False) -> str:
        """Draw the board in plain text, the side to move at the bottom (with `flip`, at the top)."""
        return drawing.ascii_board(self.own, self.other, self.rules, name=str(self), flip=flip)

    def svg(self, move: Move | str | None = None, *, flip: bool = False, caption: bool = True) -> str:
        """Draw the board as an SVG picture, with `move`, a move of the side to move, marked on it.

        The `caption` below the board says whose turn it is; with `flip` that side sits at the top.
        """
        move = None if move is None else as_move(move)
        if move is not None and max(move.start or 0, move.end or 0) >= self.rules.goal:
            raise IllegalMoveError(f"{move} leaves the board: its squares are 0 to {self.rules.goal - 1}")
        mark = None if move is None or move.end is None else (move.start, move.end)
        return drawing.svg_board(
            self.own, self.other, self.rules, name=str(self), caption=caption, flip=flip, mark=mark
        )

    def _repr_svg_(self) -> str:
        return self.svg()

    def __str__(self) -> str:
        return "/".join(",".join(map(str, side)) or BOX for side in (self.own, self.other))

    def __repr__(self) -> str:
        return f"Board.parse({str(self)!r}, {self.rules!r})"


def as_board(board: Board | str, rules: Rules = STANDARD, holder: str = "") -> Board:
    """A board, which may be given as text; if a `holder` of the rules is named, a board of other rules is refused."""
    board = board if isinstance(board, Board) else Board.parse(board, rules)
    if holder and board.rules != rules:
        raise RulesMismatchError(f"board '{board}' is for {board.rules}; {holder} {rules}")
    return board


def as_move(move: Move | str) -> Move:
    """A move, which may be given as text."""
    return move if isinstance(move, Move) else Move.parse(move)


def _side(squares: Iterable[SupportsIndex], name: str, rules: Rules) -> tuple[int, ...]:
    """Check the squares of one side and sort them."""
    try:
        listed = iter(squares)
    except TypeError:
        raise InvalidBoardError(f"{name} side: {shown(squares)} is not a list of squares") from None
    side = tuple(sorted(_board_square(square, name) for square in listed))
    if side and not 0 <= side[0] <= side[-1] < rules.goal:
        wrong = side[0] if side[0] < 0 else side[-1]
        raise InvalidBoardError(f"{name} side: there is no square {shown(wrong)}, only 0 to {rules.goal - 1}")
    if len(set(side)) < len(side):
        twice = next(a for a, b in pairwise(side) if a == b)
        raise InvalidBoardError(f"{name} side: two pieces on square {twice}")
    if len(side) > rules.pieces:
        raise InvalidBoardError(f"{name} side: {len(side)} pieces, but the rules have {rules.pieces}")
    return side


def _parse_side(text: str, name: str, rules: Rules) -> tuple[int, ...]:
    if text == BOX:
        return ()
    if not text:
        raise InvalidBoardError(f"{name} side is empty; write '{BOX}' when all pieces are in the box")
    squares = text.split(",")
    for square in squares:
        if not (square.isascii() and square.isdigit()):
            raise InvalidBoardError(f"{name} side: {shown(square)} is not a square; write 0 to {rules.goal - 1}")
        if square != "0" and square.startswith("0"):
            raise InvalidBoardError(f"{name} side: {shown(square)} has a zero in front; write it without")
        if len(square) > 2:
            raise InvalidBoardError(f"{name} side: there is no square {shown(square)}, only 0 to {rules.goal - 1}")
    return tuple(map(int, squares))


def _unmask(mask: SupportsIndex, name: str, rules: Rules) -> tuple[int, ...]:
    bits = as_int(mask)
    if bits is None or bits < 0:
        raise InvalidBoardError(f"{name} side: a mask must be a whole number, 0 or more, not {shown(mask)}")
    if bits >> rules.goal:
        highest = bits.bit_length() - 1
        raise InvalidBoardError(f"{name} side: there is no square {highest}, only 0 to {rules.goal - 1}")
    return tuple(square for square in range(rules.goal) if bits >> square & 1)


def _board_square(square: SupportsIndex, name: str) -> int:
    number = as_int(square)
    if number is None:
        raise InvalidBoardError(f"{name} side: {shown(square)} is not a square")
    return number


def checked_roll(roll: SupportsIndex) -> int:
    """The roll as an int; IllegalMoveError if it is not from 1 to 6."""
    number = as_int(roll)
    if number is None or not 1 <= number <= DIE:
        raise IllegalMoveError(f"a roll is a whole number from 1 to {DIE}, not {shown(roll)}")
    return number
