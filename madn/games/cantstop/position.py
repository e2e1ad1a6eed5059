"""Positions of Can't Stop and their text.

`OWN/OTHER` gives the squares of the player to move and of the opponent: `COLUMN:STEPS` for each column, `COLUMN:*` for
a column that is won, `-` for a player without squares. `+MARKERS` may follow: the markers of the turn, with their steps
from the foot of the column. `-/-` is the start; `4:2,6:*/3:1+4:3,5:1` is a turn with markers in columns 4 and 5.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from operator import eq
from typing import NamedTuple

from madn.errors import IllegalMoveError, InvalidBoardError
from madn.games.cantstop.rules import MARKERS, CantStop, pairings
from madn.games.cantstop.turns import Markers, steps
from madn.ranges import checked_int, checked_type, shown

DICE = 4
ENTRY = re.compile(r"([0-9]{1,2}):([0-9]{1,2}|\*)")


class Move(NamedTuple):
    """A way to play a roll: the two sums, the columns that are moved in, and the position after it."""

    pairing: tuple[int, int]
    columns: tuple[int, ...]
    position: "Position"

    def __str__(self) -> str:
        return ",".join(map(str, self.columns))


@dataclass(frozen=True)
class Position:
    """Steps of both players and of the markers in each column, from the sum 2 on (0: none); a won column is full."""

    own: tuple[int, ...]
    other: tuple[int, ...]
    markers: tuple[int, ...]
    game: CantStop

    def __post_init__(self) -> None:
        game = checked_type("game", self.game, CantStop)
        for who in ("own", "other", "markers"):
            if len(checked_type(who, getattr(self, who), tuple)) != game.columns:
                raise InvalidBoardError(f"{game} has {game.columns} columns")
        for c, (x, y, m, length) in enumerate(zip(self.own, self.other, self.markers, game.lengths, strict=True)):
            name = c + 2
            for steps_up in (x, y, m):
                checked_int(f"column {name}: steps", steps_up, 0, length, InvalidBoardError)
            if x == y != 0:
                raise InvalidBoardError(f"column {name}: both players are on step {x}")
            if (x == length and y) or (y == length and (x or m)) or (x == length and m):
                raise InvalidBoardError(f"column {name} is won; nothing else can be in it")
            if m and m <= x:
                raise InvalidBoardError(
                    f"column {name}: the marker on step {m} is not above the player's own square {x}"
                )
        if sum(m > 0 for m in self.markers) > MARKERS:
            raise InvalidBoardError(f"a turn has at most {MARKERS} markers")
        for who, won in zip(("the player to move", "the opponent"), self.won, strict=True):
            if won >= game.to_win:
                raise InvalidBoardError(f"the game is over: {who} has won {won} columns")

    @classmethod
    def parse(cls, text: str, game: CantStop) -> "Position":
        """Read a position; `str` writes it."""
        checked_type("game", game, CantStop)
        squares, plus, markers = checked_type("position", text, str).partition("+")
        own, slash, other = squares.partition("/")
        if not slash:
            raise InvalidBoardError(f"position {text[:60]!r}: write OWN/OTHER or OWN/OTHER+MARKERS, such as -/-")
        if plus and markers in {"", "-"}:
            raise InvalidBoardError(f"position {text[:60]!r}: there are no markers after the +")
        try:
            return cls(_steps(own, game), _steps(other, game), _steps(markers or "-", game), game)
        except InvalidBoardError as error:
            raise InvalidBoardError(f"position {text[:60]!r}: {error}") from None

    def __str__(self) -> str:
        text = f"{_text(self.own, self.game)}/{_text(self.other, self.game)}"
        return f"{text}+{_text(self.markers, self.game)}" if any(self.markers) else text

    @property
    def won(self) -> tuple[int, int]:
        """How many columns the player to move and the opponent have won."""
        own, other = (sum(map(eq, side, self.game.lengths)) for side in (self.own, self.other))
        return own, other

    @property
    def left(self) -> tuple[int, ...]:
        """The steps from the player's squares to the top, 0 in a closed column."""
        columns = zip(self.own, self.other, self.game.lengths, strict=True)
        return tuple(0 if length in (x, y) else length - x for x, y, length in columns)

    @property
    def markers_left(self) -> Markers:
        """The steps from the markers to the top, None where there is none."""
        return tuple(length - m if m else None for m, length in zip(self.markers, self.game.lengths, strict=True))

    def moves(self, roll: tuple[int, ...]) -> list[Move]:
        """Every legal way to play a roll of four dice; none if the turn is lost."""
        found = []
        for pairing in pairings(die - 1 for die in checked_roll(roll, self.game)):
            for step in steps(self.left, self.markers_left, pairing):
                markers = tuple(
                    0 if left is None else length - left
                    for left, length in zip(step.markers, self.game.lengths, strict=True)
                )
                after = Position(self.own, self.other, markers, self.game)
                sums = (pairing[0] + 2, pairing[1] + 2)
                found.append(Move(sums, tuple(c + 2 for c in step.columns), after))
        return found

    @property
    def blocked(self) -> list[int]:
        """The columns in which a marker stands on a square of the opponent, so that the player may not stop."""
        return [c + 2 for c, (m, y) in enumerate(zip(self.markers, self.other, strict=True)) if m and m == y]


def checked_roll(roll: Sequence[int], game: CantStop) -> tuple[int, ...]:
    """The dice as ints; IllegalMoveError unless they are four dice of the game."""
    if not isinstance(roll, Sequence) or len(roll) != DICE:
        raise IllegalMoveError(f"a roll is {DICE} dice, not {shown(roll)}")
    return tuple(checked_int("die", die, 1, game.sides, IllegalMoveError) for die in roll)


def read_roll(text: str, game: CantStop) -> tuple[int, ...]:
    """Read four dice, written like 1123 or 1,1,2,3."""
    dice = checked_type("roll", text, str).replace(",", "")
    checked_type("game", game, CantStop)
    if not re.fullmatch(rf"[1-{game.sides}]{{{DICE}}}", dice, re.ASCII):
        raise IllegalMoveError(f"roll {text[:20]!r}: write four dice of {game.sides} sides, such as 1123")
    return tuple(map(int, dice))


def _steps(text: str, game: CantStop) -> tuple[int, ...]:
    """Read the entries of one player."""
    found = [0] * game.columns
    for entry in [] if text == "-" else text.split(","):
        parts = ENTRY.fullmatch(entry)
        if parts is None:
            raise InvalidBoardError(f"{entry[:20]!r} is not COLUMN:STEPS")
        column = int(parts[1]) - 2
        if not 0 <= column < game.columns:
            raise InvalidBoardError(f"there is no column {parts[1]}; columns are 2 to {2 * game.sides}")
        if found[column]:
            raise InvalidBoardError(f"column {parts[1]} is written twice")
        found[column] = game.lengths[column] if parts[2] == "*" else int(parts[2])
        if found[column] == 0:
            raise InvalidBoardError(f"column {parts[1]}: leave out a column with 0 steps")
    return tuple(found)


def _text(squares: tuple[int, ...], game: CantStop) -> str:
    entries = [
        f"{c + 2}:{'*' if x == length else x}"
        for c, (x, length) in enumerate(zip(squares, game.lengths, strict=True))
        if x
    ]
    return ",".join(entries) or "-"
