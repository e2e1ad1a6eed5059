"""The rules of Pig."""

from dataclasses import dataclass
from typing import Literal, get_args

from madn.errors import InvalidBoardError, InvalidRulesError
from madn.games.pig._pig import LIMITS

Variant = Literal["classic", "exact", "difference"]

MOST_TARGET, MOST_FACES = LIMITS


@dataclass(frozen=True, slots=True)
class Pig:
    """The rules. `Pig()` is the game to 200 with a six-sided die whose 1 loses the turn.

    Variants: `classic`, the first to reach the target wins; `exact`, the target must be reached exactly, and a roll
    past it loses the turn; `difference`, as classic, and the loser pays the winner the points it lacks.
    With `mercy` the losing face scores one point.
    """

    target: int = 200
    faces: int = 6
    losing_face: int = 1
    variant: Variant = "classic"
    mercy: bool = False

    def __post_init__(self) -> None:
        for name, low, high in (("target", 2, MOST_TARGET), ("faces", 2, MOST_FACES), ("losing_face", 1, self.faces)):
            value, words = getattr(self, name), name.replace("_", " ")
            if type(value) is not int:
                raise InvalidRulesError(f"{words} must be a whole number, not {value!r}")
            if not low <= value <= high:
                raise InvalidRulesError(f"{words} must be {low} to {high}, not {value}")
        if self.variant not in get_args(Variant):
            raise InvalidRulesError(f"variant must be one of {', '.join(get_args(Variant))}, not {self.variant!r}")

    @property
    def states(self) -> int:
        """States in which a player has a choice: both scores below the target, at least one point in hand, and
        fewer than the target needs. Some cannot be reached, such as a turn score of 1 where the 1 loses the turn."""
        return self.target * self.target * (self.target - 1) // 2

    @property
    def largest_payoff(self) -> int:
        """The most that can be won: 1, or the target where the difference is paid."""
        return self.target if self.variant == "difference" else 1

    def dead_scores(self) -> tuple[int, ...]:
        """Own scores from which the target can never be reached; only the exact variant has any.

        Two players with dead scores would play for ever: a game nobody wins, worth 0 to both.
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
        for name, value in (("own score", own), ("other score", other)):
            if not 0 <= value < self.target:
                raise InvalidBoardError(
                    f"state {own},{other},{turn}: {name} must be 0 to {self.target - 1}, not {value}"
                )
        last = self.target if self.variant == "exact" else self.target + self.faces - 1
        if not 0 <= turn <= last - own:
            raise InvalidBoardError(f"state {own},{other},{turn}: turn score must be 0 to {last - own}, not {turn}")


WUBBEL = Pig(target=50, losing_face=6)
