"""The rules of the game: how many pieces and squares there are, and what a turn is."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from math import comb
from typing import NamedTuple

from madn.errors import InvalidRulesError
from madn.ranges import checked_int

MIN_SQUARES, MAX_SQUARES = 8, 40
MIN_PIECES, MAX_PIECES = 1, 6
DIE = 6
ROLLS = range(1, DIE + 1)
TRIES = 3  # with `three_rolls`: rolls of a side that has a move only for a 6


def rolls_again(roll: int) -> bool:
    """Whether the side that rolled this number rolls again; otherwise it is the other side's turn.

    This also applies to a lost roll, which leaves the board as it is.
    """
    return roll == DIE


class Turn(NamedTuple):
    """A turn as an equation for V, the winning probability of the side that is about to roll:

        total * V = unit * (sum over the rolls with a move of the best one) + wait * V' + again * V

    Out of `total` turns, each roll with a move comes up `unit` times, `wait` turns end without a move and pass the die
    to the other side (V' is then the mover's winning probability), and after `again` turns without a move the same side
    rolls again.
    """

    total: int
    unit: int
    wait: int
    again: int


@dataclass(frozen=True, slots=True, repr=False)
class Rules:
    """Two-player Mensch ärgere Dich nicht with `pieces` per side on a main field of `squares` squares.

    The standard game is `Rules()`. Each side counts squares from its own A-square: 0 to `squares - 1` are the main
    field, `squares` to `squares + pieces - 1` are its finish zone. Games with 5 or 6 pieces can be solved on small
    boards, and in part on large ones.

    The other fields are house rules. They are off by default and can be combined in any way; `Rules.house()` turns all
    of them on.
    """

    pieces: int = field(default=4, metadata={"help": "Pieces a side."})
    squares: int = field(
        default=40, metadata={"help": f"Squares of the main field: even, {MIN_SQUARES} to {MAX_SQUARES}."}
    )
    three_rolls: bool = field(
        default=False, metadata={"help": "A side that can move only with a 6 rolls up to three times for it."}
    )
    start_in_box: bool = field(default=False, metadata={"help": "All pieces start in the box."})
    no_jumping: bool = field(
        default=False, metadata={"help": "In the finish zone no piece may jump over another of its side."}
    )
    must_capture: bool = field(default=False, metadata={"help": "A side that can capture must capture."})

    def __post_init__(self) -> None:
        for name, low, high in (("pieces", MIN_PIECES, MAX_PIECES), ("squares", MIN_SQUARES, MAX_SQUARES)):
            object.__setattr__(self, name, checked_int(name, getattr(self, name), low, high, InvalidRulesError))
        if self.squares % 2:
            raise InvalidRulesError(
                f"squares must be an even number from {MIN_SQUARES} to {MAX_SQUARES}, not {self.squares}"
            )
        for name in HOUSE_RULES:
            if not isinstance(getattr(self, name), bool):
                raise InvalidRulesError(f"{name} must be True or False, not {getattr(self, name)!r}")

    @classmethod
    def house(cls, pieces: int = 4, squares: int = 40) -> "Rules":
        """The game with all house rules, as most families play it."""
        return cls(pieces, squares, **dict.fromkeys(HOUSE_RULES, True))

    @property
    def house_rules(self) -> tuple[str, ...]:
        """The names of the house rules that are on."""
        return tuple(rule.name for rule in fields(self) if getattr(self, rule.name) is True)

    def __str__(self) -> str:
        """The game in words, such as "2 pieces, 40 squares": the sizes, then the house rules that are on."""
        words = [f"{self.pieces} {'piece' if self.pieces == 1 else 'pieces'}", f"{self.squares} squares"]
        words += [name.replace("_", " ") for name in self.house_rules]
        return ", ".join(words)

    @property
    def options(self) -> str:
        """The command-line options for these rules, such as "--pieces 2 --squares 40 --three-rolls"."""
        on = [f"--{name.replace('_', '-')}" for name in self.house_rules]
        words = ["--house"] if len(on) == len(HOUSE_RULES) else on
        return " ".join([f"--pieces {self.pieces} --squares {self.squares}", *words])

    def __repr__(self) -> str:
        on = "".join(f", {name}=True" for name in self.house_rules)
        return f"Rules(pieces={self.pieces}, squares={self.squares}{on})"

    @property
    def goal(self) -> int:
        """The number just past the last finish square; no piece ever reaches it."""
        return self.squares + self.pieces

    def finished(self, side: Sequence[int]) -> bool:
        """Whether a side with pieces on these squares, ascending, has all its pieces in its finish zone."""
        return len(side) == self.pieces and side[0] >= self.squares

    def opposite(self, square: int) -> int:
        """The number of this main-field square as the other side counts."""
        return (square + self.squares // 2) % self.squares

    def roll_weights(self, playable: Sequence[bool]) -> tuple[int, ...]:
        """The relative frequency of each roll, for a side that has a move for the `playable` ones.

        A side that may try several times for a 6 stops at its first 6 or at its last roll; only that roll counts here.
        """
        tries = self.tries(playable)
        other = (DIE - 1) ** (tries - 1)  # of DIE ** tries ways to roll, those that end with one given number below 6
        return (*[other] * (DIE - 1), DIE**tries - (DIE - 1) * other)

    def tries(self, playable: Sequence[bool]) -> int:
        """How often a side may roll for a 6: three times with `three_rolls` if only a 6 gives it a move, else once."""
        return TRIES if self.three_rolls and list(playable) == [roll == DIE for roll in ROLLS] else 1

    def turn(self, playable: Sequence[bool]) -> Turn:
        """The turn of a side that has a legal move for the `playable` ones of the six rolls."""
        weights = self.roll_weights(playable)
        lost = [(roll, weight) for roll, weight, move in zip(ROLLS, weights, playable, strict=True) if not move]
        return Turn(
            total=sum(weights),
            unit=max((weight for weight, move in zip(weights, playable, strict=True) if move), default=0),
            wait=sum(weight for roll, weight in lost if not rolls_again(roll)),
            again=sum(weight for roll, weight in lost if rolls_again(roll)),
        )

    def profile_size(self, p1: int, f1: int, p2: int, f2: int) -> int:
        """The number of positions with this abstract profile: pieces out of the box and finished, of both sides."""
        P, S = self.pieces, self.squares
        if f1 == P and f2 == P:
            return 0
        m1, m2 = p1 - f1, p2 - f2
        if m1 > S:
            return 0
        return comb(P, f1) * comb(P, f2) * comb(S, m1) * comb(S - m1, m2)

    def profiles(self) -> list[tuple[int, int, int, int]]:
        """All abstract profiles that have positions, in the order of the thesis' numbering."""
        P = range(self.pieces + 1)
        return [
            (p1, f1, p2, f2)
            for p1 in P
            for f1 in range(p1 + 1)
            for p2 in P
            for f2 in range(p2 + 1)
            if self.profile_size(p1, f1, p2, f2)
        ]

    @property
    def positions(self) -> int:
        """The number of positions of the game, finished ones included (the thesis' |P_max|)."""
        return sum(self.profile_size(*profile) for profile in self.profiles())


HOUSE_RULES = tuple(rule.name for rule in fields(Rules) if rule.type is bool)
