"""The rules of Pig."""

from dataclasses import dataclass
from typing import Literal, get_args

from madn.errors import InvalidBoardError, InvalidRulesError
from madn.games.pig._pig import LIMITS
from madn.ranges import checked_int, shown

Variant = Literal["classic", "exact", "difference"]

MOST_TARGET, MOST_FACES = LIMITS


@dataclass(frozen=True, slots=True)
class Pig:
    """The rules. `Pig()` is the game to 200 with a six-sided die whose 1 loses the turn.

    Variants: in `classic`, the first to reach the target wins; in `exact`, the target must be reached exactly, and a
    roll past it loses the turn; `difference` is like classic, but the loser pays the winner the points it lacks.
    With `mercy` the losing face scores one point.
    """

    target: int = 200
    faces: int = 6
    losing_face: int = 1
    variant: Variant = "classic"
    mercy: bool = False

    def __post_init__(self) -> None:
        for name, low, high in (("target", 2, MOST_TARGET), ("faces", 2, MOST_FACES), ("losing_face", 1, self.faces)):
            value = checked_int(name.replace("_", " "), getattr(self, name), low, high, InvalidRulesError)
            object.__setattr__(self, name, value)
        if not isinstance(self.variant, str) or self.variant not in get_args(Variant):
            raise InvalidRulesError(f"variant must be one of {', '.join(get_args(Variant))}, not {shown(self.variant)}")

    @property
    def states(self) -> int:
        """The number of states with a choice: both scores are below the target, and the points in hand are at least
        one but not enough to win. Some cannot be reached, such as a turn score of 1 where the 1 loses the turn."""
        return self.target * self.target * (self.target - 1) // 2

    @property
    def largest_payoff(self) -> int:
        """The most that can be won: 1, or the target if the difference is paid."""
        return self.target if self.variant == "difference" else 1

    def dead_scores(self) -> tuple[int, ...]:
        """Own scores from which the target can never be reached; only the exact variant has any.

        Two players with dead scores would play for ever: nobody wins, and the game is worth 0 to both.
        """
        if self.variant != "exact" or self.mercy:
            return ()
        steps = [face for face in range(1, self.faces + 1) if face != self.losing_face]
        alive = {self.target}
        for score in range(self.target - 1, -1, -1):
            if any(score + step in alive for step in steps):
                alive.add(score)
        return tuple(score for score in range(self.target) if score not in alive)

    def check_state(self, own: int, other: int, turn: int) -> None:
        """Raise `InvalidBoardError` unless these can be the scores and the turn score of the player to roll."""
        state = f"state {','.join(map(shown, (own, other, turn)))}"
        for name, value in (("own", own), ("other", other)):
            checked_int(f"{state}: {name} score", value, 0, self.target - 1, InvalidBoardError)
        last = self.target if self.variant == "exact" else self.target + self.faces - 1
        checked_int(f"{state}: turn score", turn, 0, last - own, InvalidBoardError)


WUBBEL = Pig(target=50, losing_face=6)
