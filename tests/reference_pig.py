"""Pig in plain Python, written from the rules and nothing else: slow, exact with fractions, meant to be read.

A state is (own, other, turn): the scores of the player who has the die and of the other, and the points in hand. While
a turn is looked at, the value of losing it is not known, and the value of each of its states is a line:
constant + slope * (value of losing the turn). The compiled `madn.games.pig` must agree with this everywhere.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from madn.games.pig import Pig

Holds = Callable[[int, int, int], bool]


class Line(NamedTuple):
    constant: Fraction
    slope: Fraction

    def at(self, lost: Fraction) -> Fraction:
        return self.constant + self.slope * lost


LOST = Line(Fraction(0), Fraction(1))


def fixed(value: Fraction | int) -> Line:
    return Line(Fraction(value), Fraction(0))


def can_finish(game: Pig, score: int) -> bool:
    """Whether there is any way from this score to the target."""
    if score >= game.target:
        return score == game.target or game.variant != "exact"
    steps = [face for face in range(1, game.faces + 1) if face != game.losing_face] + [1] * game.mercy
    return any(can_finish(game, score + step) for step in steps)


class Turn:
    """A turn of a player with the score `own`. `won` and `held(score)` are what the target and holding are worth."""

    def __init__(self, game: Pig, own: int, won: Fraction, held: Callable[[int], Fraction]) -> None:
        self.game, self.own, self.won, self.held = game, own, won, held
        self.holds = dict.fromkeys(range(1, game.target - own), False)

    def after_face(self, turn: int, face: int) -> Line:
        score = self.own + turn + face
        if face == self.game.losing_face:
            if not self.game.mercy:
                return LOST
            return fixed(self.won if self.own + 1 == self.game.target else self.held(self.own + 1))
        if score == self.game.target:
            return fixed(self.won)
        if score > self.game.target:
            return LOST if self.game.variant == "exact" else fixed(self.won)
        return self.value[turn + face]

    def evaluate(self) -> Line:
        """The lines of all states for the decisions in `holds`; that of the whole turn."""
        self.roll: dict[int, Line] = {}
        self.value: dict[int, Line] = {}
        for turn in range(self.game.target - self.own - 1, -1, -1):
            faces = [self.after_face(turn, face) for face in range(1, self.game.faces + 1)]
            constants, slopes = (sum(part, Fraction(0)) / self.game.faces for part in zip(*faces, strict=True))
            self.roll[turn] = Line(constants, slopes)
            hold = turn > 0 and self.holds[turn]
            self.value[turn] = fixed(self.held(self.own + turn)) if hold else self.roll[turn]
        return self.value[0]

    def improve(self, lost: Fraction, sign: int) -> bool:
        """Change all decisions that can be bettered; whether there were any. A tie is a roll."""
        before = dict(self.holds)
        for turn in self.holds:
            self.holds[turn] = sign * (self.held(self.own + turn) - self.roll[turn].at(lost)) > 0
        return self.holds != before


class Game:
    """Two players, exactly. A player is a function that says whether to hold; None plays its best.

    All values are those of the first player: `rolls[a, b]` when it has a, the second b, and the first rolls,
    `waits[a, b]` when the second does. `payoffs` are those of winning, losing, and a game that never ends.
    """

    def __init__(
        self, game: Pig, first: Holds | None, second: Holds | None, payoffs: tuple[int, int, int] = (1, 0, 0)
    ) -> None:
        self.game = game
        self.rolls: dict[tuple[int, int], Fraction] = {}
        self.waits: dict[tuple[int, int], Fraction] = {}
        self.turns: dict[tuple[int, int], tuple[Turn, Turn]] = {}
        scores = [(a, b) for a in range(game.target) for b in range(game.target)]
        for a, b in sorted(scores, key=sum, reverse=True):
            if can_finish(game, a) or can_finish(game, b):
                self._solve(a, b, first, second, payoffs)
            else:
                self.rolls[a, b] = self.waits[a, b] = Fraction(payoffs[2])

    def _solve(self, a: int, b: int, first: Holds | None, second: Holds | None, payoffs: tuple[int, int, int]) -> None:
        won, lost = Fraction(payoffs[0]), Fraction(payoffs[1])
        if self.game.variant == "difference":
            won, lost = Fraction(self.game.target - b), Fraction(a - self.game.target)
        mine = Turn(self.game, a, won, lambda score: self.waits[score, b])
        theirs = Turn(self.game, b, lost, lambda score: self.rolls[a, score])
        for turn, player, scores in ((mine, first, (a, b)), (theirs, second, (b, a))):
            if player is not None:
                turn.holds = {points: player(*scores, points) for points in turn.holds}
        improving = True
        while improving:
            line, answer = mine.evaluate(), theirs.evaluate()
            x = line.at(answer.constant) / (1 - line.slope * answer.slope)  # x = line(answer(x))
            y = answer.at(x)
            improving = (first is None and mine.improve(y, 1)) or (second is None and theirs.improve(x, -1))
        self.rolls[a, b], self.waits[a, b] = x, y
        self.turns[a, b] = mine, theirs

    def state(self, own: int, other: int, turn: int) -> tuple[Fraction, Fraction, Fraction]:
        """Value, value of rolling and value of holding, for the first player in its turn."""
        mine, lost = self.turns[own, other][0], self.waits[own, other]
        return mine.value[turn].at(lost), mine.roll[turn].at(lost), mine.held(own + turn)
